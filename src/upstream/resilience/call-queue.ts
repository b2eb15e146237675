import { LinkedList } from '../../lib/linked-list.ts';
import { RoundRobin } from '../../lib/round-robin.ts';
import { busy, notSent } from '../upstream-error.ts';

/** The most calls that may wait, of all callers and of one. They only limit the use of memory. */
const MAX_QUEUED = 10_000;
const MAX_QUEUED_PER_CALLER = MAX_QUEUED / 4;
/** Writes go first, but after this many in a row a read is next. */
const MAX_WRITES_IN_A_ROW = 3;

export type Effect = 'read' | 'write';

/** A call in the queue. */
type WaitingCall = {
  readonly caller: string;
  /** In the time of `performance.now()`. */
  readonly expiresAt: number;
  enter(): void;
  expire(): void;
};

/**
 * Calls that wait for a place. Callers take turns, and writes go before reads. A call that leaves the queue
 * without a place is rejected and was certainly not sent.
 */
export class CallQueue {
  readonly #maxWaitMs: number;
  readonly #waiting = { read: new RoundRobin<WaitingCall>(), write: new RoundRobin<WaitingCall>() };
  /** All calls wait equally long at most, so the first one expires first. */
  readonly #arrivals = new LinkedList<WaitingCall>();
  #timer: NodeJS.Timeout | undefined;
  #writesInARow = 0;

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  get size(): number {
    return this.#arrivals.size;
  }

  /**
   * Resolves when `next` has chosen this call. Throws an UpstreamError with `sent: 'no'` if the queue is
   * full, the call has waited too long, or the signal is aborted.
   */
  wait(caller: string, effect: Effect, signal: AbortSignal): Promise<void> {
    const { read, write } = this.#waiting;
    const queuedByCaller = read.countOf(caller) + write.countOf(caller);
    if (this.size >= MAX_QUEUED || queuedByCaller >= MAX_QUEUED_PER_CALLER)
      throw busy('queue full');
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener('abort', abort);
        this.#arrivals.remove(arrival);
      };
      const fail = (error: Error) => {
        leave();
        removeFromTurns();
        reject(error);
      };
      const abort = () => fail(notSent('aborted while queued'));
      const call: WaitingCall = {
        caller,
        expiresAt: performance.now() + this.#maxWaitMs,
        enter() {
          leave();
          resolve();
        },
        expire: () => fail(busy('queued too long')),
      };
      const arrival = this.#arrivals.push(call);
      const removeFromTurns = this.#waiting[effect].add(caller, call);
      signal.addEventListener('abort', abort, { once: true });
      this.#startTimer();
    });
  }

  /** Removes the next call of an eligible caller. Its `enter` starts it. */
  next(isEligible: (caller: string) => boolean): WaitingCall | undefined {
    const { read, write } = this.#waiting;
    if (this.#writesInARow < MAX_WRITES_IN_A_ROW) {
      const call = write.take(isEligible);
      if (call) {
        this.#writesInARow += 1;
        return call;
      }
    }
    this.#writesInARow = 0;
    return read.take(isEligible) ?? write.take(isEligible);
  }

  /** One timer for all calls, for the one that expires first. */
  #startTimer(): void {
    const first = this.#arrivals.first?.value;
    if (this.#timer || !first) return;
    const delayMs = Math.max(0, first.expiresAt - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#expire();
      this.#startTimer();
    }, delayMs).unref();
  }

  #expire(): void {
    const now = performance.now();
    for (;;) {
      const first = this.#arrivals.first?.value;
      if (!first || first.expiresAt > now) return;
      first.expire();
    }
  }
}
