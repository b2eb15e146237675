import type { GraphQLResolveInfo } from 'graphql';
import { GatewayError } from '../../errors.ts';
import type { TaskQueue } from '../../lib/task-queue.ts';
import { selectedFields } from './selection-cost.ts';

/** Entity references that one request may resolve, over all of its aliases. */
export const MAX_REFERENCES = 10_000;
/**
 * The largest response, in multiples of the largest response of the service: aliases multiply one list
 * without another call.
 */
const MAX_LISTS = 16;

/** Limits the lists and references of one response, and spaces out the work on long lists. */
export class ResponseLimits {
  readonly #maxBytes: number;
  readonly #taskQueue: TaskQueue;
  #references = 0;
  #responseBytes = 0;
  #listBytes = 0;

  constructor(maxUpstreamBytes: number, taskQueue: TaskQueue) {
    this.#maxBytes = maxUpstreamBytes * MAX_LISTS;
    this.#taskQueue = taskQueue;
  }

  /** Counts entity references. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitReferences(count: number): void {
    this.#references += count;
    if (this.#references <= MAX_REFERENCES) return;
    throw new GatewayError(
      'OPERATION_LIMIT_EXCEEDED',
      `The request has more than ${MAX_REFERENCES} representations.`,
    );
  }

  /**
   * Counts a list of so many bytes, once for each field selected of it. Throws
   * `OPERATION_LIMIT_EXCEEDED` if the response would be too large. Resolves when the list may be
   * processed: many short lists take as long as one long list.
   */
  async admitList(bytes: number, info: GraphQLResolveInfo): Promise<void> {
    this.#responseBytes += bytes * selectedFields(info);
    if (this.#responseBytes > this.#maxBytes) {
      throw new GatewayError(
        'OPERATION_LIMIT_EXCEEDED',
        'The response would be too large. Request fewer lists, or fewer fields of them, at a time.',
      );
    }
    this.#listBytes += bytes;
    await this.#taskQueue.slot(this.#listBytes, 'finish');
  }

  /** Resolves when the response may be serialized. */
  async admitSerialization(): Promise<void> {
    await this.#taskQueue.slot(this.#listBytes, 'finish');
  }
}
