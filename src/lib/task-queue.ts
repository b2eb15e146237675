import { setImmediate as immediate } from 'node:timers/promises';

/** Event-loop iterations between two long tasks, so that other requests make progress in several steps. */
const YIELDS = 3;

/** How much short work runs in one iteration, as a multiple of the smallest long task: tens of milliseconds. */
const PORTION = 8;

/** Work on fewer bytes than this takes less than 0.1 ms and does not count. */
const NEGLIGIBLE_BYTES = 4096;

/** Tasks of a later stage run first: completing a request frees its memory. */
type Stage = 'start' | 'continue' | 'finish';

type Task = { bytes: number; run: () => Promise<void> };

/**
 * Spaces out CPU-bound work, such as parsing a response of several megabytes. Tasks that take tens of
 * milliseconds run one at a time, with pauses in which the event loop serves other requests.
 */
export class TaskQueue {
  readonly #threshold: number;
  readonly #portion: number;
  readonly #waiting: Record<Stage, Task[]> = {
    start: [],
    continue: [],
    finish: [],
  };
  #running = false;
  /** The bytes of the short `start` tasks in this iteration of the event loop. */
  #startedBytes = 0;

  /** Work on fewer than `threshold` bytes does not wait, unless there is much of it at the same time. */
  constructor(threshold: number) {
    this.#threshold = threshold;
    this.#portion = threshold * PORTION;
  }

  /**
   * Runs work on so many bytes when it is its turn, and resolves to its result. The next task starts after
   * it. Rejects with the signal's reason if it is aborted before the work starts.
   */
  async run<Result>(
    bytes: number,
    stage: Stage,
    work: () => Result | Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    signal?.throwIfAborted();
    if (!this.#mustWait(bytes, stage)) return work();
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const waiting = this.#waiting[stage];
    const run = async () => {
      signal?.removeEventListener('abort', cancel);
      try {
        resolve(await work());
      } catch (error) {
        reject(error);
      }
    };
    const task = { bytes, run };
    const cancel = () => {
      waiting.splice(waiting.indexOf(task), 1);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    waiting.push(task);
    void this.#serve();
    return promise;
  }

  /** Resolves when work on so many bytes may run; the caller does it synchronously afterwards. */
  slot(bytes: number, stage: Stage): Promise<void> {
    return this.run(bytes, stage, () => {});
  }

  /** Many short tasks in one iteration of the event loop would delay its timers as one long task does. */
  #mustWait(bytes: number, stage: Stage): boolean {
    if (bytes >= this.#threshold) return true;
    if (stage !== 'start' || bytes < NEGLIGIBLE_BYTES) return false;
    if (this.#waiting.start.length > 0) return true; // Earlier work is first.
    if (this.#startedBytes === 0) setImmediate(() => (this.#startedBytes = 0));
    this.#startedBytes += bytes;
    return this.#startedBytes > this.#portion;
  }

  async #serve(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    const { start, continue: next, finish } = this.#waiting;
    while (start.length + next.length + finish.length > 0) {
      for (let n = 0; n < YIELDS; n++) await immediate();
      // One long task, or several short ones.
      let bytes = 0;
      do {
        const task = finish.shift() ?? next.shift() ?? start.shift();
        if (!task) break;
        bytes += task.bytes < this.#threshold ? task.bytes : this.#portion;
        await task.run();
      } while (bytes < this.#portion);
    }
    this.#running = false;
  }
}
