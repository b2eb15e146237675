import type { Claim, StoreLog } from '@ledger-gateway/at-most-once';
import { FairShares } from '../admission/fair-shares.ts';
import { poll } from '../lib/poll.ts';
import { remove } from '../lib/remove.ts';
import { bytesOf } from '../lib/short-text.ts';
import { WaitGroup } from '../lib/wait-group.ts';
import { type Outcome, toRecord } from './recorded-outcome.ts';

/** A write of this process. It has no outcome while it is in flight. */
export type OpenWrite = { claim: Claim; outcome?: Outcome };

/**
 * The writes of this process with a key that are in flight, or whose outcome the store does not have yet. Repeats get the
 * outcome from here. Updates of the store are repeated in the background until they succeed.
 */
export class OpenWrites {
  /** An array, because a Map would keep removed entries from being collected early (docs/decisions/0011). */
  readonly writes: OpenWrite[] = [];
  readonly #log: StoreLog;
  readonly #closing = new AbortController();
  readonly #updates = new WaitGroup();
  /** The memory of the updates that are repeated, by caller: at most 32 MiB in a long outage. */
  readonly #repeated = new FairShares(2 ** 25);
  readonly #closeMs: number;

  /** @param closeMs how long updates are still repeated when the process ends, in milliseconds */
  constructor(log: StoreLog, closeMs: number) {
    this.#log = log;
    this.#closeMs = closeMs;
  }

  /**
   * Updates the store for a caller. If the update has the outcome of a write, that write stays open until the update has
   * succeeded or is given up. Resolves after the first attempt.
   */
  async update(caller: string, work: () => Promise<void>, write?: OpenWrite): Promise<void> {
    const done = () => true as const;
    const attempt = () => work().then(done, () => null); // The failure is already logged.
    const first = attempt();
    const bytes = bytesOf(write?.outcome && toRecord(write.outcome)) + 1024; // What an update takes in addition.
    const rest = async () => (await first) ?? (await this.#repeat(caller, attempt, bytes));
    // The first attempt counts, too, so that closing waits for it.
    void this.#updates.track(rest().finally(() => write && remove(this.writes, write)));
    await first;
  }

  /** Waits for the updates that are being repeated, for `closeMs` at most. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#updates.idle();
  }

  async #repeat(caller: string, attempt: () => Promise<true | null>, bytes: number): Promise<void> {
    if (this.#repeated.fits(caller, bytes)) {
      this.#repeated.take(caller, bytes);
      const isDone =
        (await poll(attempt, Infinity, this.#closing.signal)) ??
        (await poll(attempt, performance.now() + this.#closeMs));
      this.#repeated.give(caller, bytes);
      if (isDone) return;
    }
    const message = 'An idempotency key could not be updated in its store and will be orphaned';
    this.#log.error({}, message);
  }
}
