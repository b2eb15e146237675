import type { GraphQLResolveInfo } from 'graphql';
import { GatewayError, limitExceeded } from '../errors/gateway-error.ts';
import { jsonLength } from '../lib/json.ts';
import { SHORT_TEXT, shortForm } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import { fieldsOf, selectionOf } from './selection-cost.ts';

/** How many entity references one request may resolve, over all of its aliases. */
export const MAX_REFERENCES = 5_000;
/** How many different lists one request may read from the service. */
export const MAX_LOOKUPS = 200;
/** How many fields of list items and entities one response may have. Executing as many takes 100 ms. */
const MAX_FIELDS = 500_000;
/** How many fields of one list graphql-js executes at most. It takes ten times as long as compiled code. */
const MAX_INTERPRETED_FIELDS = 50_000;
/**
 * The lengths to which the texts of an outcome may be cut, in characters. The first that fits is used, or the last, which
 * is the longest that a request id may be: a cut one would not be found in the log.
 */
const OUTCOME_TEXTS = [Infinity, SHORT_TEXT, 128];

type SettledWrite = { outcome: unknown };
/** The result of `settleWrites`, or a union member. */
type SettledKey = { __typename?: string; writes?: readonly SettledWrite[] };

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
  /** The bytes of texts for which memory was reserved in the result. */
  #textBytes = 0;

  constructor(scope: RequestScope, maxUpstreamBytes: number) {
    this.#scope = scope;
    this.#maxBytes = maxUpstreamBytes * 2;
  }

  /** Starts counting for an execution. */
  start(mode: 'compiled' | 'interpreted'): void {
    this.#mode = mode;
    this.#counted = { ...nothing };
  }

  /** Counts entity references. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitReferences(count: number, info: GraphQLResolveInfo): void {
    this.#counted.references += count;
    this.#checkLookups();
    const { fields, length } = selectionOf(info);
    this.#count(count * fields, count * length);
  }

  /** Counts a failed reference. Throws its error if there are too many to report each of them. */
  admitFailure(error: Error): void {
    this.#counted.failed += 1;
    if (this.#counted.failed > 500) throw error; // More errors would take 100 ms.
  }

  /** Counts a list that will be read, by its key. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitLookup(key: string): void {
    if (this.#lookups.size <= MAX_LOOKUPS) this.#lookups.add(key);
    this.#checkLookups();
  }

  /** Throws if too many references or lists were counted. Then nothing more is sent, not even for other fields. */
  #checkLookups(): void {
    if (this.#counted.references > MAX_REFERENCES) {
      throw limitExceeded('entity representations', MAX_REFERENCES);
    }
    if (this.#lookups.size > MAX_LOOKUPS) {
      throw limitExceeded('different lists', MAX_LOOKUPS);
    }
  }

  /** Notes the length of the texts of a list in bytes, so that a long list is not measured for each of its fields. */
  noteTexts(list: readonly object[], bytes: number): void {
    this.#lists.set(list, bytes);
  }

  /**
   * Counts the selected fields of all list items in a result, and reserves memory for the response to these fields and to the
   * other texts. Takes a turn first, and none after a wait for memory (docs/decisions/0025). Throws
   * `OPERATION_LIMIT_EXCEEDED` if the response would be too large, and `OVERLOADED` if there is no memory for it.
   */
  admitResult(result: object, info: GraphQLResolveInfo): Promise<void> | undefined {
    const admit = () => this.#admitNow(result, info);
    return this.#scope.turn(this.#scope.signal)?.then(admit) ?? admit();
  }

  #admitNow(result: object, info: GraphQLResolveInfo): Promise<void> | undefined {
    const selection = selectionOf(info);
    const { fields, length } = fieldsOf(result, selection);
    this.#count(fields, length); // This is first, because measuring the texts of rejected lists would take time.
    let [texts, ownFields] = [0, selection.fields];
    for (const [name, cost] of selection.children) {
      const value: unknown = Reflect.get(result, name);
      const known = this.#lists.get(Object(value));
      ownFields -= cost.fields;
      texts += cost.fields * (known ?? jsonLength(value));
    }
    for (const value of Object.values(result)) {
      if (typeof value !== 'object') texts += jsonLength(value) * ownFields;
    }
    this.#count(0, texts);
    return this.#reserveFields(fields, length + texts);
  }

  /** Does the same for entities. Their own fields were counted before, but not those of the items of lists in them. */
  async admitEntities(entities: readonly unknown[], info: GraphQLResolveInfo): Promise<void> {
    const selection = selectionOf(info);
    const { fields } = fieldsOf(entities, selection);
    const length = jsonLength(entities) * selection.fields;
    this.#count(Math.max(0, fields - entities.length * selection.fields), length);
    await this.#reserveFields(fields, length);
  }

  /**
   * The outcome of a write or a settled key, with its texts cut to fit into the response, or a promise of it. Never an error: it
   * must reach the client.
   */
  fitOutcome(outcome: object, info: GraphQLResolveInfo): unknown {
    const shorten = () => this.#fitNow(outcome, info);
    return this.#scope.turn()?.then(shorten) ?? shorten();
  }

  #fitNow(outcome: object, info: GraphQLResolveInfo): unknown {
    const { fields } = selectionOf(info);
    let fitting: unknown = outcome;
    for (const maxLength of OUTCOME_TEXTS) {
      if (maxLength < Infinity) fitting = shortOutcome(outcome, maxLength);
      const bytes = jsonLength(fitting) * fields;
      const items = (1 + (Object(outcome).writes?.length ?? 0)) * fields;
      const isInLimits = // docs/reference/limits.md
        this.#outcomeBytes + bytes <= 33_554_432 && this.#counted.fields + items <= MAX_FIELDS;
      if (!isInLimits || !this.#scope.reservation.tryReserve(bytes)) continue;
      this.#outcomeBytes += bytes;
      this.#counted.fields += items;
      break;
    }
    return fitting;
  }

  /**
   * Resolves when the caller has CPU time to encode a response, also for a client that has disconnected, because the
   * response may have the outcome of a write. Reserves the memory of a long response first. Rejects with
   * `OPERATION_LIMIT_EXCEEDED` if it is too long, and as `Reservation.reserve` does.
   */
  admitResponse(result: object): Promise<void> | undefined {
    const admit = () => this.#admitLength(result);
    return this.#scope.turn()?.then(admit) ?? admit();
  }

  #admitLength(result: object): Promise<void> | undefined {
    // A response without more bytes than this cannot be too long.
    const isShort = this.#counted.bytes <= Math.min(4_194_304, this.#maxBytes);
    // Outcomes of writes have been cut to reserved memory, and a response with only errors is bounded by its request.
    if (isShort || this.#outcomeBytes > 0 || !('data' in result)) return undefined;
    const bytes = jsonLength(result);
    if (bytes > this.#maxBytes) throw tooLarge;
    return this.#scope.reservation.reserve(Math.max(0, bytes - this.#textBytes));
  }

  #count(fields: number, bytes: number): void {
    this.#counted.fields += fields;
    // The lists that were counted before stay in the response if this one is rejected.
    if (fields > 0 && this.#counted.fields > MAX_FIELDS)
      throw limitExceeded('fields of list items', MAX_FIELDS);
    this.#counted.bytes += bytes;
    if (this.#mode === 'interpreted' && fields > MAX_INTERPRETED_FIELDS) throw tooLongToInterpret;
  }

  #reserveFields(fields: number, bytes: number): Promise<void> | undefined {
    const { reservation, signal } = this.#scope;
    const note = () => {
      this.#textBytes += bytes;
    };
    const reserving = reservation.reserve(fields * 100 + bytes, signal)?.then(note);
    if (!reserving) note();
    return reserving;
  }
}

/**
 * The short form of what a mutation field returns. Only a settled key is no union member. Each of its outcomes is shortened,
 * and none is left out: the client would take a write that is missing for one that was not executed.
 */
function shortOutcome(outcome: object, maxLength: number): unknown {
  const { __typename, writes }: SettledKey = Object(outcome);
  if (__typename !== undefined || writes === undefined) return shortForm(outcome, maxLength);
  const short = (write: SettledWrite) => {
    return { ...write, outcome: shortForm(write.outcome, maxLength) };
  };
  return { ...outcome, writes: writes.map(short) };
}
