import { Backoff } from './backoff.ts';
import type { StoreLog } from './store.ts';

/** How long a task is repeated. */
export const RETRY_FOR_MS = 600_000;
/** Bounds the memory of tasks during a long outage. */
const MAX_BYTES = 32 * 1024 * 1024;
/** What a task takes besides its data. */
const TASK_BYTES = 1024;

/**
 * Repeats updates of a store in the background until they succeed, for a bounded time and within bounded
 * memory. Logs the updates that are given up.
 */
export class BackgroundRetry {
  readonly #log: StoreLog | undefined;
  readonly #closing = new AbortController();
  readonly #tasks = new Set<Promise<void>>();
  #bytes = 0;

  constructor(log: StoreLog | undefined) {
    this.#log = log;
  }

  /** Runs a task that holds `dataBytes` of data. If it fails, repeats it and throws the first error. */
  async run(task: () => Promise<unknown>, dataBytes = 0): Promise<void> {
    try {
      await task();
    } catch (error) {
      void this.start(task, dataBytes);
      throw error;
    }
  }

  /** Repeats a task that holds `dataBytes` of data. Resolves when it has succeeded or was given up. */
  async start(task: () => Promise<unknown>, dataBytes = 0): Promise<void> {
    const bytes = TASK_BYTES + dataBytes;
    if (this.#closing.signal.aborted || this.#bytes + bytes > MAX_BYTES) {
      this.#giveUp();
      return;
    }
    this.#bytes += bytes;
    const running = this.#repeat(task);
    this.#tasks.add(running);
    await running;
    this.#tasks.delete(running);
    this.#bytes -= bytes;
  }

  /** Tries every task one last time. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#tasks);
  }

  async #repeat(task: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#closing;
    const end = performance.now() + RETRY_FOR_MS;
    const backoff = new Backoff();
    do {
      await backoff.pause(signal);
      try {
        await task();
        return;
      } catch {
        // Repeated until the time has passed.
      }
    } while (!signal.aborted && performance.now() < end);
    this.#giveUp();
  }

  #giveUp(): void {
    this.#log?.error(
      {},
      'An idempotency key could not be updated in its store and will be orphaned',
    );
  }
}
