import { setImmediate as immediate } from 'node:timers/promises';
import { overloaded } from '../errors/gateway-error.ts';
import { type EnterOptions, type Entry, Gate } from './gate.ts';

/** The short work of one iteration of the event loop, in bytes of text to parse: tens of milliseconds. */
const SHORT_WORK_BYTES = 4_000_000;
/** Work on fewer bytes than this takes less than 0.1 ms and does not count. */
const NEGLIGIBLE_BYTES = 4096;
/** Work on more bytes than this takes tens of milliseconds. */
const LONG_BYTES = 500_000;
/** The work of a step of parsing a long text (lib/json.ts), in bytes: a few of them fit into an iteration of the event loop. */
export const STEP_BYTES = 400_000;
/** Iterations of the event loop after long work: another request passes through about as many, and waits for one such work. */
const PAUSES = 8;

const disconnected = overloaded('The client disconnected.');
const options = { maxWaiting: Infinity, rejection: () => disconnected };

/** Waits for CPU time of a caller, for work on so many bytes, as `Turns.take` does. */
export type Turn = (bytes: number, signal?: AbortSignal) => Promise<void> | undefined;

/** `since` is when its request arrived. */
type TurnOptions = Pick<EnterOptions, 'signal' | 'since'>;

/**
 * Turns for CPU-bound work, from parsing a response of several megabytes to a call: in an iteration of the event loop,
 * one long task and several short ones. Each has a gate of its own, so that short work does not keep long work waiting.
 */
export class Turns {
  readonly #short = new Gate({ ...options, limit: SHORT_WORK_BYTES });
  readonly #long = new Gate({ ...options, limit: 1 });
  /** The short work of this iteration. */
  #taken: Entry[] = [];

  /**
   * Resolves when work on so many bytes may run; do it synchronously afterwards. Returns undefined if it may run at once.
   * Rejects with `OVERLOADED` if it has to wait and `signal` is aborted. Of one caller, the work of the oldest request goes first,
   * so that they do not all end late, and hold what they have until then.
   */
  take(caller: string, bytes: number, options: TurnOptions = {}): Promise<void> | undefined {
    if (bytes < NEGLIGIBLE_BYTES) return undefined;
    if (bytes >= LONG_BYTES) return this.#takeLong(caller, options);
    const entry = { caller, amount: bytes };
    if (!this.#short.tryEnter(caller, bytes)) return this.#wait(entry, options);
    this.#giveBackLater(entry);
    return undefined;
  }

  async #takeLong(caller: string, options: TurnOptions): Promise<void> {
    if (!this.#long.tryEnter(caller)) await this.#long.enter(caller, options);
    void this.#giveBackLong(caller);
  }

  async #wait(entry: Entry, options: TurnOptions): Promise<void> {
    await this.#short.enter(entry.caller, { ...options, amount: entry.amount });
    this.#giveBackLater(entry);
  }

  #giveBackLater(entry: Entry): void {
    if (this.#taken.push(entry) === 1) setImmediate(this.#giveBack);
  }

  readonly #giveBack = () => {
    const taken = this.#taken;
    this.#taken = [];
    this.#short.leaveAll(taken);
  };

  async #giveBackLong(caller: string): Promise<void> {
    for (let n = 0; n < PAUSES; n++) await immediate();
    this.#long.leave(caller);
  }
}
