import type { GraphQLResolveInfo } from 'graphql';
import { GatewayError, limitExceeded } from '../errors/gateway-error.ts';
import { jsonLength } from '../lib/json.ts';
import { bytesOf, SHORT_TEXT, shortForm } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import { selectionOf } from './selection-cost.ts';

/** How many entity references one request may resolve, over all of its aliases. */
export const MAX_REFERENCES = 5_000;
/** How many different lists the references of one request may refer to. Its other reads have an alias each (document-limits.ts). */
export const MAX_LOOKUPS = 200;
/** How many fields of list items and entities one response may have. Executing as many takes 100 ms. */
const MAX_FIELDS = 500_000;
/** How many fields of one list graphql-js executes at most. It takes ten times as long as compiled code. */
const MAX_INTERPRETED_FIELDS = 50_000;
/** A response of so many bytes is encoded at once. It takes 0.2 ms. */
const SHORT_RESPONSE = 65_536;
/**
 * The lengths to which the texts of an outcome may be cut, in characters. The first that fits is used, or the last, which
 * is as long as the name of a field: a cut one would be that of another write.
 */
const OUTCOME_TEXTS = [Infinity, SHORT_TEXT, 256];

/** What an execution has counted so far. */
const nothing = { references: 0, failed: 0, fields: 0, bytes: 0 };

const tooLarge = new GatewayError(
  'OPERATION_LIMIT_EXCEEDED',
  'The response would be too large. Request fewer lists or entities, or fewer fields of them, at a time.',
);

/** The error of a field whose list has too many fields for graphql-js. */
export const tooLongToInterpret = limitExceeded(
  'fields of a list that is not compiled',
  MAX_INTERPRETED_FIELDS,
);

/** The lists in a result, or the result itself if it is one. Their items have no lists. */
function listsIn(result: object): readonly (readonly unknown[])[] {
  return Array.isArray(result) ? [result] : Object.values(result).filter(Array.isArray);
}

/** The length of the texts of an object, without those in its lists and objects, as JSON. */
function textsOf(value: object): number {
  let length = 0;
  for (const one of Object.values(value)) if (typeof one === 'string') length += jsonLength(one);
  return length;
}

/** Limits the lists and references of one response, reserves their memory, and waits for CPU time. */
export class ResponseLimits {
  readonly #scope: RequestScope;
  readonly #maxBytes: number;
  readonly #lookups = new Set<string>();
  /** The bytes of the texts of the lists that the request holds. */
  readonly #lists = new Map<object, number>();
  #mode: 'compiled' | 'interpreted' = 'interpreted';
  #counted = { ...nothing };
  #outcomeBytes = 0;

  constructor(scope: RequestScope, maxUpstreamBytes: number) {
    this.#scope = scope;
    this.#maxBytes = maxUpstreamBytes * 2;
  }

  /** Starts counting for an execution. */
  start(mode: 'compiled' | 'interpreted'): void {
    this.#mode = mode;
    this.#counted = { ...nothing };
  }

  /** Counts entity references. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many of them, or of their fields. */
  admitReferences(count: number, info: GraphQLResolveInfo): void {
    this.#counted.references += count;
    if (this.#counted.references > MAX_REFERENCES) {
      throw limitExceeded('entity representations', MAX_REFERENCES);
    }
    this.#checkFields(count * selectionOf(info).fields);
  }

  /** Counts the lists that references refer to. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitLists(names: Iterable<string>): void {
    for (const name of names) this.#lookups.add(name);
    if (this.#lookups.size > MAX_LOOKUPS) throw limitExceeded('different lists', MAX_LOOKUPS);
  }

  /** Counts a failed reference. Throws its error if there are too many to report each of them. */
  admitFailure(error: Error): void {
    this.#counted.failed += 1;
    if (this.#counted.failed > 500) throw error; // More errors would take 100 ms.
  }

  /** Notes the length of the texts of a list in bytes, so that a long list is not measured for each of its fields. */
  noteTexts(list: readonly object[], bytes: number): void {
    this.#lists.set(list, bytes);
  }

  /**
   * Counts the selected fields of all list items in the result of a root field, and reserves memory for the response to it. Takes
   * a turn first, and none after a wait for memory (docs/decisions/0025). Throws `OPERATION_LIMIT_EXCEEDED` if the response would
   * be too large, and `OVERLOADED` if there is no memory for it.
   */
  admitResult(result: object, info: GraphQLResolveInfo): Promise<void> | undefined {
    const { signal } = this.#scope;
    const turn = this.#scope.turn(signal);
    return turn ? turn.then(() => this.#admit(result, info)) : this.#admit(result, info);
  }

  #admit(result: object, info: GraphQLResolveInfo): Promise<void> | undefined {
    const { fields, itemFields, length, itemLength } = selectionOf(info);
    const lists = listsIn(result);
    const isList = lists[0] === result;
    const [own, each] = isList ? [0, fields] : [fields - itemFields, itemFields];
    const items = lists.reduce((count, list) => count + list.length, 0);
    const count = own + items * each;
    this.#checkFields(count);
    this.#counted.fields += count;
    // Each field may have all texts. Those of lists are measured last, because it would take time for rejected ones.
    let bytes = length + items * (isList ? length : itemLength) + own * textsOf(result);
    for (const list of each > 0 ? lists : []) {
      bytes += each * (this.#lists.get(list) ?? jsonLength(list));
    }
    this.#counted.bytes += bytes;
    return this.#scope.reservation.reserve(count * 100 + bytes, this.#scope.signal);
  }

  /** Throws if a response may not have so many more fields. The lists that were counted before stay in it. */
  #checkFields(fields: number): void {
    if (this.#mode === 'interpreted' && fields > MAX_INTERPRETED_FIELDS) throw tooLongToInterpret;
    if (this.#counted.fields + fields > MAX_FIELDS) {
      throw limitExceeded('fields of list items', MAX_FIELDS);
    }
  }

  /**
   * The outcome of a write or a settled key, with its texts cut to fit into the response, or a promise of it. Never an error: it
   * must reach the client.
   */
  fitOutcome(outcome: object, info: GraphQLResolveInfo): unknown {
    const { fields, itemFields } = selectionOf(info);
    const items = listsIn(outcome).reduce(
      (count, { length }) => count + length * itemFields,
      fields,
    );
    const jsonBytesOf = (fitting: unknown) => Buffer.byteLength(JSON.stringify(fitting)) * fields;
    const cut = () => {
      let fitting: unknown = outcome;
      for (const maxLength of OUTCOME_TEXTS) {
        if (maxLength < Infinity) fitting = shortForm(outcome, maxLength);
        if (this.#tryHold(jsonBytesOf(fitting), items)) break;
      }
      return fitting;
    };
    // A long outcome is not encoded before its turn.
    const turn = bytesOf(outcome) > SHORT_RESPONSE ? this.#scope.turn() : undefined;
    return turn?.then(cut) ?? cut();
  }

  /** Holds an outcome of so many bytes and items, if it fits (docs/reference/limits.md). */
  #tryHold(bytes: number, items: number): boolean {
    const isInLimits =
      this.#outcomeBytes + bytes <= 33_554_432 && this.#counted.fields + items <= MAX_FIELDS;
    if (!isInLimits || !this.#scope.reservation.tryReserve(bytes)) return false;
    this.#outcomeBytes += bytes;
    this.#counted.fields += items;
    return true;
  }

  /**
   * Resolves when the caller has CPU time to encode a response, also for a client that has disconnected, because the
   * response may have the outcome of a write. Undefined if it needs no wait. Rejects with `OPERATION_LIMIT_EXCEEDED` if it is too
   * long.
   */
  admitResponse(result: object): Promise<void> | undefined {
    const bytes = this.#counted.bytes + this.#outcomeBytes;
    // Introspection is not counted, and may be long.
    const isShort = bytes > 0 && bytes <= SHORT_RESPONSE;
    if (isShort && !('errors' in result)) return undefined;
    const check = () => this.#checkLength(result);
    return this.#scope.turn()?.then(check) ?? check();
  }

  #checkLength(result: object): undefined {
    // A response without more bytes than this cannot be too long.
    const isShort = this.#counted.bytes <= Math.min(4_194_304, this.#maxBytes);
    // Outcomes of writes have been cut to reserved memory, and a response with only errors is bounded by its request.
    if (isShort || this.#outcomeBytes > 0 || !('data' in result)) return;
    if (jsonLength(result) > this.#maxBytes) throw tooLarge;
  }
}
