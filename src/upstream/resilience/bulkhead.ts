import { notSent } from '../upstream-error.ts';
import { CallQueue, type Effect } from './call-queue.ts';

/** The share of the places that a caller may always take, and that is kept free for the next caller. */
const SHARE = 0.25;

/**
 * Limits the calls in flight, and what one caller may hold of them (docs/decisions/0006). A caller below
 * its share takes any free place. Beyond its share it takes one only while a share remains free, so that
 * another caller finds a place at once. Otherwise the call waits in a queue.
 */
export class Bulkhead {
  readonly #limit: number;
  readonly #share: number;
  readonly #reserve: number;
  readonly #queue: CallQueue;
  /** The places of each caller that has any. */
  readonly #held = new Map<string, number>();
  #inFlight = 0;

  /** A call waits at most `maxWaitMs` milliseconds for a place. */
  constructor(limit: number, maxWaitMs: number) {
    this.#limit = limit;
    this.#reserve = Math.floor(limit * SHARE);
    this.#share = Math.max(1, this.#reserve);
    this.#queue = new CallQueue(maxWaitMs);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** Whether a call of this caller gets a place without waiting. */
  hasPlaceFor(caller: string): boolean {
    return this.#isBelowShare(caller) ? this.#free > 0 : this.#free > this.#reserve;
  }

  /** Runs a call when it has a place. Throws an UpstreamError with `sent: 'no'` if it gets none. */
  async run<Result>(
    caller: string,
    effect: Effect,
    signal: AbortSignal,
    call: () => Promise<Result>,
  ): Promise<Result> {
    if (signal.aborted) throw notSent('aborted while queued');
    if (this.hasPlaceFor(caller)) this.#take(caller);
    else await this.#queue.wait(caller, effect, signal);
    try {
      return await call();
    } finally {
      this.#release(caller);
    }
  }

  get #free(): number {
    return this.#limit - this.#inFlight;
  }

  readonly #isBelowShare = (caller: string): boolean => (this.#held.get(caller) ?? 0) < this.#share;

  #take(caller: string): void {
    this.#inFlight += 1;
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + 1);
  }

  /** Frees a place, and gives it to a call in the queue if one may have it. */
  #release(caller: string): void {
    this.#inFlight -= 1;
    const held = (this.#held.get(caller) ?? 0) - 1;
    if (held > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
    for (let next = this.#next(); next; next = this.#next()) {
      this.#take(next.caller);
      next.enter();
    }
  }

  /** The next call that may start: first of callers below their share, which are all but a few. */
  #next() {
    if (this.#free === 0 || this.#queue.size === 0) return undefined;
    const next = this.#queue.next(this.#isBelowShare);
    if (next || this.#free <= this.#reserve) return next;
    return this.#queue.next(() => true);
  }
}
