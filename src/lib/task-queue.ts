import { setImmediate as immediate } from 'node:timers/promises';

/** Event-loop iterations between two tasks, so that other requests make progress in several steps. */
const YIELDS = 3;

/** `finish` tasks run before `start` tasks: completing a request frees its memory. */
type Stage = 'start' | 'finish';

/**
 * Spaces out CPU-bound work, such as parsing a response of several megabytes. Tasks that take tens of
 * milliseconds run one at a time, with pauses in which the event loop serves other requests.
 */
export class TaskQueue {
  readonly #threshold: number;
  readonly #waiting: Record<Stage, (() => void)[]> = { start: [], finish: [] };
  #running = false;

  /** Work on fewer than `threshold` bytes does not wait. */
  constructor(threshold: number) {
    this.#threshold = threshold;
  }

  /**
   * Resolves when work on so many bytes may run; the caller does it synchronously afterwards. Rejects
   * with the signal's reason if it is aborted first.
   */
  async slot(bytes: number, stage: Stage, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (bytes < this.#threshold) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = this.#waiting[stage];
    const enter = () => {
      signal?.removeEventListener('abort', cancel);
      resolve();
    };
    const cancel = () => {
      waiting.splice(waiting.indexOf(enter), 1);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    waiting.push(enter);
    void this.#serve();
    await promise;
  }

  async #serve(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    const { start, finish } = this.#waiting;
    while (start.length + finish.length > 0) {
      for (let n = 0; n < YIELDS; n++) await immediate();
      (finish.shift() ?? start.shift())?.();
    }
    this.#running = false;
  }
}
