import { setImmediate as immediate } from 'node:timers/promises';
import { Gate } from './gate.ts';

/** The work of one iteration of the event loop, in bytes of text to read or write: tens of milliseconds. */
const TURN_BYTES = 4_000_000;
/** Work on fewer bytes than this takes less than 0.1 ms and does not count. */
const NEGLIGIBLE_BYTES = 4096;
/** Work on more bytes than this takes tens of milliseconds. */
const LONG_BYTES = 500_000;
/** Iterations of the event loop after long work, so that other requests make progress in several steps. */
const PAUSES = 3;

/**
 * Turns for CPU-bound work, such as parsing a response of several megabytes: one long task or several short ones
 * in an iteration of the event loop, with callers taking turns.
 */
export class Turns {
  readonly #gate = new Gate({ limit: TURN_BYTES });

  /**
   * Resolves when work on so many bytes may run; do it synchronously afterwards. Rejects with NoPlace when `signal`
   * is aborted before.
   */
  async take(caller: string, bytes: number, signal?: AbortSignal): Promise<void> {
    if (bytes < NEGLIGIBLE_BYTES) return;
    const isLong = bytes >= LONG_BYTES;
    const amount = isLong ? this.#gate.most : bytes;
    await this.#gate.enter(caller, { amount, signal });
    void this.#giveBack(caller, amount, isLong ? PAUSES : 1);
  }

  async #giveBack(caller: string, amount: number, pauses: number): Promise<void> {
    for (let n = 0; n < pauses; n++) await immediate();
    this.#gate.leave(caller, amount);
  }
}
