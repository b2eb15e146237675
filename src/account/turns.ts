import { setImmediate as immediate } from 'node:timers/promises';
import { type EnterOptions, Gate } from './gate.ts';

/** Work on fewer bytes than this takes less than 0.1 ms and does not count. */
export const SHORT_WORK = 10_000;
/** Work on so many bytes or more takes tens of milliseconds. */
export const LONG_WORK = 500_000;
/** How long short work may take in an iteration of the event loop, in milliseconds. Node accepts one connection in each. */
const SHORT_WORK_MS = 8;
/** The bytes that are parsed in a millisecond, about: work that is not done in its turn counts by its estimate. */
const BYTES_PER_MS = 100_000;
/** Iterations of the event loop after long work: another request passes through about as many, and waits for one such work. */
const PAUSES = 8;

const gateOptions = { limit: 1, maxWaiting: Infinity };

/** Waits for CPU time of a caller, for work on so many bytes, as `Turns.take` does. */
export type Turn = (bytes: number, signal?: AbortSignal) => Promise<void> | undefined;

/** `since` is when its request arrived. */
type TurnOptions = Pick<EnterOptions, 'signal' | 'since'>;

/**
 * Turns for CPU-bound work, from parsing a response of several megabytes to a call: in an iteration of the event loop, one
 * long task, and short ones until they have taken some milliseconds. Short work does not keep long work waiting.
 */
export class Turns {
  /** One at a time, and no more in an iteration that is over. */
  readonly #short = new Gate(gateOptions);
  readonly #long = new Gate(gateOptions);
  /** How long short work has taken in this iteration, in milliseconds: not what ran between it. */
  #shortMs = 0;

  /**
   * Resolves when work on so many bytes may run; do it synchronously afterwards. Returns undefined if it may run at once.
   * Rejects with `CLIENT_DISCONNECTED` if it has to wait and `signal` is aborted. Of one caller, the work of the oldest
   * request goes first, so that they do not all end late, and hold what they have until then.
   */
  take(caller: string, bytes: number, options: TurnOptions = {}): Promise<void> | undefined {
    if (bytes < SHORT_WORK) return undefined;
    if (bytes >= LONG_WORK) return this.#takeLong(caller, options);
    if (!this.#short.tryEnter(caller)) return this.#waitForShort(caller, bytes, options);
    this.#leaveAfterWork(caller, bytes);
    return undefined;
  }

  async #takeLong(caller: string, options: TurnOptions): Promise<void> {
    if (!this.#long.tryEnter(caller)) await this.#long.enter(caller, options);
    void this.#giveBackLong(caller);
  }

  async #waitForShort(caller: string, bytes: number, options: TurnOptions): Promise<void> {
    await this.#short.enter(caller, options);
    this.#leaveAfterWork(caller, bytes);
  }

  /** Lets the next one enter behind the microtasks, in which the work runs: in this iteration, or in the next one. */
  #leaveAfterWork(caller: string, bytes: number): void {
    if (this.#shortMs === 0) setImmediate(this.#beginIteration);
    queueMicrotask(() => {
      const began = performance.now();
      process.nextTick(() => {
        this.#shortMs += Math.max(bytes / BYTES_PER_MS, performance.now() - began);
        if (this.#shortMs > SHORT_WORK_MS) setImmediate(this.#leaveShort, caller);
        else this.#leaveShort(caller);
      });
    });
  }

  readonly #leaveShort = (caller: string) => {
    this.#short.leave(caller);
  };

  readonly #beginIteration = () => {
    this.#shortMs = 0;
  };

  async #giveBackLong(caller: string): Promise<void> {
    for (let n = 0; n < PAUSES; n++) await immediate();
    this.#long.leave(caller);
  }
}
