import type { GraphQLResolveInfo } from 'graphql';
import { LONG_WORK, SHORT_WORK } from '../account/turns.ts';
import { GatewayError, limitExceeded } from '../errors/gateway-error.ts';
import { SHORT_TEXT, textLength, withShortTexts } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import { fieldsOf, selectionOf } from './selection-cost.ts';
import { serialize } from './serialization.ts';

/** Entity references that one request may resolve, over all of its aliases. */
export const MAX_REFERENCES = 5_000;
/** Failed references of one request that are reported in their places: the errors of more would take 100 ms. */
const MAX_FAILED = 500;
/** Different lists, by target and project, that one request may ask the service for. */
export const MAX_LOOKUPS = 200;
/** Fields of list items and entities in one response: executing them takes 100 ms. */
const MAX_FIELDS = 500_000;
/** Fields of one list that graphql-js executes, which takes ten times as long as compiled code. */
const MAX_INTERPRETED_FIELDS = 50_000;
/**
 * The largest response, in multiples of the largest response of the service: aliases multiply one list
 * without another call.
 */
const MAX_LISTS = 16;
/** What an item of a list takes besides its texts, and a field of it in the result, in bytes. */
const ITEM_BYTES = 150;
const FIELD_BYTES = 100;
/** The work of a field, as a number of bytes to parse. */
const FIELD_WORK = { compiled: 20, interpreted: 80 };
/** The work of a byte of a response, in the same unit: ids are encoded. */
const TEXT_WORK = 0.25;
/** What a copy of a part of a list takes for each item, in bytes. */
const COPY_BYTES = 8;
/** The bytes of the outcomes of writes that are passed on in a response, as often as they are selected. */
const MAX_OUTCOME_BYTES = 33_554_432;
/** The lengths of the texts of an outcome, in characters: the first that fits, or else the last. */
const OUTCOME_TEXTS = [Infinity, SHORT_TEXT, 100];
/** The work of visiting some items in one turn, in the same unit. */
const PORTION_WORK = 200_000;
/** The work of measuring an item besides its texts. */
const MEASURING_WORK = 40;
/** What JSON writes as an escape sequence, and all surrogates: the flag `u` would take three times as long. */
const escaped = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** What an execution has counted so far. */
const nothing = { references: 0, failed: 0, fields: 0, bytes: 0, searchedBytes: 0 };

/** Limits the lists and references of one response, books their memory, and spaces out the work on them. */
export class ResponseLimits {
  readonly #scope: RequestScope;
  readonly #maxBytes: number;
  readonly #lookups = new Set<string>();
  /** The bytes of the texts of lists that the request holds. */
  readonly #lists = new Map<object, number>();
  /** The longest mean of the items of one of them. */
  #meanBytes = 0;
  #mode: keyof typeof FIELD_WORK = 'interpreted';
  #counted = { ...nothing };
  #outcomeBytes = 0;
  /** Whether the execution has met a list with too many fields for graphql-js. */
  isTooLargeToInterpret = false;

  constructor(scope: RequestScope, maxUpstreamBytes: number) {
    this.#scope = scope;
    this.#maxBytes = maxUpstreamBytes * MAX_LISTS;
  }

  /** Starts to count an execution. */
  start(mode: keyof typeof FIELD_WORK): void {
    this.#mode = mode;
    this.#counted = { ...nothing };
  }

  /** Resolves when work on so many bytes may be done, unless the client has disconnected. */
  async turn(bytes: number): Promise<void> {
    await this.#scope.turn(bytes, this.#scope.signal);
  }

  /** Visits items that take so much work each, in portions that each wait for their turn. */
  async visit<Item>(
    items: readonly Item[],
    visit: (item: Item) => void,
    itemWork: number,
  ): Promise<void> {
    const portion = Math.ceil(PORTION_WORK / itemWork);
    for (let at = 0; at < items.length; at += portion) {
      const end = Math.min(at + portion, items.length);
      await this.turn((end - at) * itemWork);
      for (const item of items.slice(at, end)) visit(item);
    }
  }

  /** Counts entity references, and returns how many there are so far. Throws `OPERATION_LIMIT_EXCEEDED` if too many. */
  admitReferences(count: number, info: GraphQLResolveInfo): number {
    this.#counted.references += count;
    this.checkLookups();
    const { fields, length } = selectionOf(info);
    this.#count(count * fields, count * length);
    return this.#counted.references;
  }

  /** Counts failed references. Returns whether they may be reported in their places. */
  admitFailures(count: number): boolean {
    this.#counted.failed += count;
    return this.#counted.failed <= MAX_FAILED;
  }

  /** Resolves when a call to the service may be made. A single one belongs to the turn of its request. */
  async admitCall(): Promise<void> {
    if (this.#lookups.size > 1) await this.turn(SHORT_WORK);
  }

  /**
   * Resolves when errors may be made of calls that have failed, one for each field that waits for them: hundreds of
   * requests may wait for the same call, or have disconnected.
   */
  async failureTurn(): Promise<void> {
    await this.#scope.turn(SHORT_WORK);
  }

  /** Counts a list to ask for, by target and project. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitLookup(key: string): void {
    if (this.#lookups.size <= MAX_LOOKUPS) this.#lookups.add(key);
    this.checkLookups();
  }

  /** Throws if too many references or lists were counted: then nothing is sent, for other fields either. */
  checkLookups(): void {
    if (this.#counted.references > MAX_REFERENCES) {
      throw limitExceeded('entity representations', MAX_REFERENCES);
    }
    if (this.#lookups.size > MAX_LOOKUPS) {
      throw limitExceeded('different targets and projects', MAX_LOOKUPS);
    }
  }

  /** Books a list with so many bytes of texts until its response exists. Throws as `Holding.hold` does. */
  async holdList(list: readonly object[], bytes: number): Promise<void> {
    this.#lists.set(list, bytes);
    this.#meanBytes = Math.max(this.#meanBytes, bytes / Math.max(list.length, 1));
    await this.#hold(bytes + list.length * ITEM_BYTES);
  }

  /** Books a copy of a part of a list with at most so many items. */
  async holdCopy(items: number): Promise<void> {
    await this.#hold(items * COPY_BYTES);
  }

  /**
   * Searches a list of so many bytes, in steps that each wait for their turn. Throws `OPERATION_LIMIT_EXCEEDED` if
   * the operation searches too much.
   */
  async search<Result>(bytes: number, steps: Generator<void, Result>): Promise<Result> {
    this.#counted.searchedBytes += bytes;
    if (this.#counted.searchedBytes > this.#maxBytes) {
      throw new GatewayError(
        'OPERATION_LIMIT_EXCEEDED',
        'The operation searches too much. Request fewer lists with `only` or `search` at a time.',
      );
    }
    await this.turn(Math.max(SHORT_WORK, bytes));
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      await this.turn(LONG_WORK); // Milliseconds, but much more with unusual texts.
    }
  }

  /**
   * Counts the fields selected of the items of all lists in a result, and books their result, with the other texts
   * beside them. Throws `OPERATION_LIMIT_EXCEEDED` if the response would be too large, and `OVERLOADED` if there is no
   * memory for it. Resolves when it is the turn of the result to be executed.
   */
  async admitResult(result: object, info: GraphQLResolveInfo): Promise<void> {
    const selection = selectionOf(info);
    const values = Object.entries(result);
    const leaves = Object.fromEntries(values.filter(([, value]) => typeof value !== 'object'));
    await this.turn(textLength(leaves));
    let [fields, names, texts] = [0, 0, 0];
    for (const { name, cost } of selection.children) {
      const value: unknown = Reflect.get(result, name);
      const counted = fieldsOf(value, cost);
      fields += counted.fields;
      names += counted.length;
    }
    this.#count(fields, names); // First, because reading the texts of rejected lists would take time.
    let ownFields = selection.fields;
    for (const { name, cost } of selection.children) {
      const value: unknown = Reflect.get(result, name);
      ownFields -= cost.fields;
      texts += (await this.#bytesOf(value)) * cost.fields;
    }
    texts += Buffer.byteLength(JSON.stringify(leaves)) * ownFields;
    this.#count(0, texts);
    await this.#book(fields, names + texts);
  }

  /** Does the same for entities, whose number was counted before, with the length of their texts. */
  async admitEntities(entities: readonly unknown[], info: GraphQLResolveInfo): Promise<void> {
    const length = await this.#lengthOf(entities);
    const { fields } = selectionOf(info);
    this.#count(0, length * fields);
    await this.#book(entities.length * fields, length * fields);
  }

  /**
   * The outcome of a write as it fits into the response, with its texts cut if need be. Never an error:
   * the outcome must reach the client.
   */
  async fitOutcome(outcome: unknown, info: GraphQLResolveInfo): Promise<unknown> {
    if (typeof outcome !== 'object' || outcome === null) return outcome;
    await this.#scope.turn(textLength(outcome)); // Encoding a byte takes as long as parsing one.
    const { fields } = selectionOf(info);
    let fitting: unknown = outcome;
    for (const maxLength of OUTCOME_TEXTS) {
      fitting = withShortTexts(outcome, maxLength);
      const bytes = Buffer.byteLength(JSON.stringify(fitting)) * fields;
      const fits = this.#outcomeBytes + bytes <= MAX_OUTCOME_BYTES;
      if (!fits || !this.#scope.holding.tryHold(bytes)) continue;
      this.#outcomeBytes += bytes;
      break;
    }
    return fitting;
  }

  /**
   * Serializes a long response in turns, also for a client that has disconnected: it may tell the outcome of a write.
   * Resolves to undefined when a short one may be serialized at once.
   */
  async serialize(result: object): Promise<Buffer | undefined> {
    const bytes = this.#counted.bytes + this.#outcomeBytes;
    if (bytes >= LONG_WORK) return serialize(result, bytes, this.#scope.turn);
    await this.#scope.turn(this.#counted.fields * FIELD_WORK.compiled + bytes * TEXT_WORK);
    return undefined;
  }

  #count(fields: number, bytes: number): void {
    this.#counted.fields += fields;
    // One that is rejected does not reject those that were counted before.
    if (fields > 0 && this.#counted.fields > MAX_FIELDS)
      throw limitExceeded('fields of list items', MAX_FIELDS);
    this.#counted.bytes += bytes;
    if (this.#counted.bytes > this.#maxBytes) {
      throw new GatewayError(
        'OPERATION_LIMIT_EXCEEDED',
        'The response would be too large. Request fewer lists or entities, or fewer fields of them, at a time.',
      );
    }
    if (this.#mode === 'interpreted' && fields > MAX_INTERPRETED_FIELDS) {
      this.isTooLargeToInterpret = true;
      throw limitExceeded('fields of a list that is not compiled', MAX_INTERPRETED_FIELDS);
    }
  }

  async #book(fields: number, bytes: number): Promise<void> {
    await this.#hold(fields * FIELD_BYTES + bytes);
    await this.turn(fields * FIELD_WORK[this.#mode] + bytes * TEXT_WORK);
  }

  async #hold(bytes: number): Promise<void> {
    await this.#scope.holding.hold(bytes, this.#scope.signal, true);
  }

  /** The length of all texts of a value as JSON, in bytes. That of a list of the service is known. */
  async #bytesOf(value: unknown): Promise<number> {
    if (typeof value !== 'object' || value === null) return 0;
    const known = this.#lists.get(value);
    return known ?? this.#lengthOf(Array.isArray(value) ? value : [value]);
  }

  async #lengthOf(objects: readonly unknown[]): Promise<number> {
    let length = 0;
    const measure = (value: unknown) => {
      if (typeof value === 'string') {
        length += Buffer.byteLength(escaped.test(value) ? JSON.stringify(value) : value);
      } else if (typeof value === 'object' && value !== null) {
        for (const item of Object.values(value)) measure(item);
      }
    };
    await this.visit(objects, measure, MEASURING_WORK + this.#meanBytes);
    return length;
  }
}
