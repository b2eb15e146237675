import type { GraphQLResolveInfo } from 'graphql';
import { GatewayError, limitExceeded } from '../../errors/gateway-error.ts';
import { HEAP_LIMIT, hasRoom } from '../../lib/memory-limit.ts';
import { shorten } from '../../lib/short-text.ts';
import type { TaskQueue } from '../../lib/task-queue.ts';
import { noRoom } from '../../upstream/upstream-error.ts';
import { selectionOf } from './selection-cost.ts';

/** Entity references that one request may resolve, over all of its aliases. */
export const MAX_REFERENCES = 5_000;
/** Different lists, by target and project, that one request may ask the service for. */
export const MAX_LOOKUPS = 200;
/**
 * The largest response, in multiples of the largest response of the service: aliases multiply one list
 * without another call.
 */
const MAX_LISTS = 16;
/** The share of the heap for one response: its values, its text and its bytes exist at the same time. */
const HEAP_SHARE = 1 / 8;

/** The share of the heap for the lists that one request holds, and what an item takes besides its texts, in bytes. */
const LISTS_SHARE = 1 / 4;
const ITEM_BYTES = 150;
/** The bytes of a list whose execution needs memory that matters, and what each of its fields takes meanwhile. */
const LARGE_LIST = 65_536;
const FIELD_BYTES = 150;

/** The length of the outcomes of writes that are passed on whole, as often as they are selected. */
const MAX_OUTCOMES_LENGTH = 33_554_432;

/** Limits the lists and references of one response, and spaces out the work on long lists. */
export class ResponseLimits {
  readonly #maxBytes: number;
  readonly #taskQueue: TaskQueue;
  readonly #lookups = new Set<string>();
  #references = 0;
  #responseBytes = 0;
  #heldBytes = 0;
  #listBytes = 0;
  #outcomesLength = 0;

  constructor(maxUpstreamBytes: number, taskQueue: TaskQueue) {
    this.#maxBytes = Math.min(maxUpstreamBytes * MAX_LISTS, HEAP_LIMIT * HEAP_SHARE);
    this.#taskQueue = taskQueue;
  }

  /** Counts entity references. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitReferences(count: number, info: GraphQLResolveInfo): void {
    this.#references += count;
    this.checkLookups();
    this.#count(0, count, info);
  }

  /** Counts a list to ask for, by target and project. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitLookup(key: string): void {
    if (this.#lookups.size <= MAX_LOOKUPS) this.#lookups.add(key);
    this.checkLookups();
  }

  /** Throws if too many references or lists were counted: then nothing is sent, for other fields either. */
  checkLookups(): void {
    if (this.#references > MAX_REFERENCES) {
      throw limitExceeded('entity representations', MAX_REFERENCES);
    }
    if (this.#lookups.size > MAX_LOOKUPS) {
      throw limitExceeded('different targets and projects', MAX_LOOKUPS);
    }
  }

  /** Counts a list that the request holds until its end. Throws `OPERATION_LIMIT_EXCEEDED` if it holds too much. */
  holdList(bytes: number, items: number): void {
    this.#heldBytes += bytes + items * ITEM_BYTES;
    if (this.#heldBytes > HEAP_LIMIT * LISTS_SHARE) throw tooLarge();
  }

  /**
   * Counts a list of so many items and bytes, once for each field selected of it. Throws
   * `OPERATION_LIMIT_EXCEEDED` if the response would be too large. Resolves when the list may be
   * processed: many short lists take as long as one long list.
   */
  async admitList(bytes: number, items: number, info: GraphQLResolveInfo): Promise<void> {
    this.#count(bytes, items, info);
    this.#listBytes += bytes;
    await this.#taskQueue.slot(this.#listBytes, 'continue');
    if (bytes > LARGE_LIST && !hasRoom(items * selectionOf(info).fields * FIELD_BYTES)) {
      throw noRoom(`no memory for ${items} items`);
    }
  }

  /** Counts the texts of entities in the same way. Their number was counted before. */
  admitEntities(entities: readonly unknown[], info: GraphQLResolveInfo): void {
    let length = 0;
    for (const entity of entities) {
      for (const text of Object.values(entity ?? {})) {
        if (typeof text === 'string') length += text.length;
      }
    }
    this.#count(length, 0, info);
  }

  /**
   * The outcome of a write as it fits into the response, with its texts cut if need be. Never an error:
   * the outcome must reach the client.
   */
  fitOutcome(outcome: unknown, info: GraphQLResolveInfo): unknown {
    if (typeof outcome !== 'object' || outcome === null) return outcome;
    const length = JSON.stringify(outcome).length * selectionOf(info).fields;
    if (this.#outcomesLength + length <= MAX_OUTCOMES_LENGTH) {
      this.#outcomesLength += length;
      return outcome;
    }
    return Object.fromEntries(
      Object.entries(outcome).map(([name, value]) => [
        name,
        typeof value === 'string' ? shorten(value) : value,
      ]),
    );
  }

  /** Resolves when the response may be serialized. */
  async admitSerialization(): Promise<void> {
    await this.#taskQueue.slot(this.#listBytes, 'finish');
  }

  #count(bytes: number, items: number, info: GraphQLResolveInfo): void {
    const { fields, length } = selectionOf(info);
    this.#responseBytes += bytes * fields + items * length;
    if (this.#responseBytes <= this.#maxBytes) return;
    throw tooLarge();
  }
}

function tooLarge(): GatewayError {
  return new GatewayError(
    'OPERATION_LIMIT_EXCEEDED',
    'The response would be too large. Request fewer lists or entities, or fewer fields of them, at a time.',
  );
}
