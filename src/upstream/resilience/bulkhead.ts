import { notSent } from '../upstream-error.ts';

/** The most calls that may wait for a place. Reads are rejected earlier, so that writes find one. */
const MAX_QUEUED = { read: 100, write: 200 };

type Effect = keyof typeof MAX_QUEUED;

/**
 * Limits the calls in flight. A call without a place waits in a short queue, writes before reads. If the
 * queue is full or the signal is aborted first, the call is rejected and certainly not sent, which the
 * queues of libraries do not guarantee (docs/decisions/0006).
 */
export class Bulkhead {
  readonly #limit: number;
  readonly #waiting: Record<Effect, (() => void)[]> = { write: [], read: [] };
  #inFlight = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get queued(): number {
    return this.#waiting.write.length + this.#waiting.read.length;
  }

  /** Runs a call when it has a place. Throws an UpstreamError with `sent: 'no'` if it gets none. */
  async run<Result>(
    effect: Effect,
    signal: AbortSignal,
    call: () => Promise<Result>,
  ): Promise<Result> {
    if (signal.aborted) throw notSent('aborted while queued');
    if (this.#inFlight < this.#limit) this.#inFlight += 1;
    else await this.#wait(effect, signal);
    try {
      return await call();
    } finally {
      this.#release();
    }
  }

  /** Resolves when another call has handed over its place. */
  #wait(effect: Effect, signal: AbortSignal): Promise<void> {
    if (this.queued >= MAX_QUEUED[effect]) throw notSent('too many calls queued');
    const queue = this.#waiting[effect];
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        queue.splice(queue.indexOf(enter), 1);
        reject(notSent('aborted while queued'));
      };
      queue.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Hands the place to the next call in the queue, or frees it. */
  #release(): void {
    const enter = this.#waiting.write.shift() ?? this.#waiting.read.shift();
    if (enter) enter();
    else this.#inFlight -= 1;
  }
}
