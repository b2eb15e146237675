import { setImmediate as immediate } from 'node:timers/promises';
import { Gate } from './gate.ts';

/** The short work of one iteration of the event loop, in bytes of text to read or write: tens of milliseconds. */
const SHORT_WORK_BYTES = 4_000_000;
/** Work on fewer bytes than this takes less than 0.1 ms and does not count. */
const NEGLIGIBLE_BYTES = 4096;
/** Work on more bytes than this takes tens of milliseconds. */
const LONG_BYTES = 500_000;
/** Iterations of the event loop after long work, so that other requests make progress in several steps. */
const PAUSES = 3;

/**
 * Turns for CPU-bound work, such as parsing a response of several megabytes: in an iteration of the event loop, one
 * long task and several short ones. Each has a gate of its own, so that short work does not keep long work waiting.
 */
export class Turns {
  readonly #short = new Gate({ limit: SHORT_WORK_BYTES });
  readonly #long = new Gate({ limit: 1 });

  /**
   * Resolves when work on so many bytes may run; do it synchronously afterwards. Rejects with NoPlace when `signal`
   * is aborted before.
   */
  async take(caller: string, bytes: number, signal?: AbortSignal): Promise<void> {
    if (bytes < NEGLIGIBLE_BYTES) return;
    const isLong = bytes >= LONG_BYTES;
    const [gate, amount] = isLong ? [this.#long, 1] : [this.#short, bytes];
    await gate.enter(caller, { amount, signal });
    void giveBack(gate, caller, amount, isLong ? PAUSES : 1);
  }
}

async function giveBack(gate: Gate, caller: string, amount: number, pauses: number): Promise<void> {
  for (let n = 0; n < pauses; n++) await immediate();
  gate.leave(caller, amount);
}
