import { Backoff } from './backoff.ts';

/** How long a task is repeated. */
export const RETRY_FOR_MS = 600_000;
/** Bounds the memory of tasks during a long outage. */
const MAX_BYTES = 32 * 1024 * 1024;
/** What a task takes besides its data. */
const TASK_BYTES = 1024;

/** Repeats tasks in the background until they succeed, for a bounded time and within bounded memory. */
export class BackgroundRetry {
  readonly #onGivenUp: () => void;
  readonly #closing = new AbortController();
  readonly #tasks = new Set<Promise<void>>();
  #bytes = 0;

  constructor(onGivenUp: () => void) {
    this.#onGivenUp = onGivenUp;
  }

  /** Starts repeating a task that holds `dataBytes` of data. `onEnd` runs after it succeeded or was given up. */
  start(task: () => Promise<unknown>, { dataBytes = 0, onEnd = () => {} } = {}): void {
    const bytes = TASK_BYTES + dataBytes;
    if (this.#closing.signal.aborted || this.#bytes + bytes > MAX_BYTES) {
      this.#onGivenUp();
      onEnd();
      return;
    }
    this.#bytes += bytes;
    const running = this.#run(task).finally(() => {
      this.#bytes -= bytes;
      this.#tasks.delete(running);
      onEnd();
    });
    this.#tasks.add(running);
  }

  /** Tries every task one last time. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#tasks);
  }

  async #run(task: () => Promise<unknown>): Promise<void> {
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
    this.#onGivenUp();
  }
}
