import type { Claim } from './claims.ts';
import { poll } from './poll.ts';
import { Shares } from './shares.ts';
import type { StoreLog } from './store.ts';

/** A write of this process. It has no record while it is in flight. */
export type OpenWrite = { readonly claim: Claim; record?: { outcome: unknown } };

/**
 * The writes of this process that are in flight, or whose outcome the store does not have yet. Repeats get the outcome from
 * here. Updates of the store are repeated in the background until they succeed.
 */
export class OpenWrites {
  /** An array, because V8 keeps what was removed from a long-lived Map or Set in memory for longer. */
  readonly #writes: OpenWrite[] = [];
  readonly #log: StoreLog;
  readonly #closing = new AbortController();
  /** How many updates are not done. */
  #updates = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  /** The memory of the updates that are repeated, by caller: at most 32 MiB in a long outage. */
  readonly #repeated = new Shares(2 ** 25);
  readonly #closeMs: number;

  /** @param closeMs how long updates are still repeated when the process ends, in milliseconds */
  constructor(log: StoreLog, closeMs: number) {
    this.#log = log;
    this.#closeMs = closeMs;
  }

  /** The open writes of a key. */
  of(key: string): OpenWrite[] {
    return this.#writes.filter(({ claim }) => claim.key === key);
  }

  begin(claim: Claim): OpenWrite {
    const write: OpenWrite = { claim };
    this.#writes.push(write);
    return write;
  }

  end(write: OpenWrite): void {
    const index = this.#writes.indexOf(write);
    if (index >= 0) this.#writes.splice(index, 1);
  }

  /**
   * Updates the store for a caller. If the update has the outcome of a write, that write stays open until the update has
   * succeeded or is given up. Resolves after the first attempt.
   */
  async update(caller: string, work: () => Promise<void>, write?: OpenWrite): Promise<void> {
    const done = () => true as const;
    const attempt = () => work().then(done, () => null); // The failure is already logged.
    const first = attempt();
    // The first attempt counts, too, so that closing waits for it.
    this.#updates += 1;
    void first
      .then((isDone) => (isDone ? undefined : this.#repeat(caller, attempt, write)))
      .finally(() => {
        if (write) this.end(write);
        this.#updates -= 1;
        if (this.#updates === 0) this.#idle?.resolve();
      });
    await first;
  }

  /** Waits for the updates that are being repeated, for `closeMs` at most. */
  async close(): Promise<void> {
    this.#closing.abort();
    while (this.#updates > 0) {
      this.#idle = Promise.withResolvers();
      await this.#idle.promise;
    }
  }

  async #repeat(
    caller: string,
    attempt: () => Promise<true | null>,
    write: OpenWrite | undefined,
  ): Promise<void> {
    // A character takes two bytes, and everything else about as much as a short outcome.
    const bytes = JSON.stringify(write?.record ?? null).length * 2 + 1024;
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
