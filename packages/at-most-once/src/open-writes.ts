import type { Claim } from './claims.ts';
import { pollAgain } from './poll.ts';
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

  /** The open write of a name among those of its key. */
  find({ key, responseName }: Pick<Claim, 'key' | 'responseName'>): OpenWrite | undefined {
    return this.#writes.find(
      ({ claim }) => claim.key === key && claim.responseName === responseName,
    );
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
  async update(caller: string, work: () => Promise<unknown>, write?: OpenWrite): Promise<void> {
    this.#updates += 1; // The first attempt counts, too, so that closing waits for it.
    try {
      await work();
    } catch {
      // The failure is already logged.
      void this.#repeat(caller, work, write).finally(() => this.#endUpdate(write));
      return;
    }
    this.#endUpdate(write);
  }

  #endUpdate(write: OpenWrite | undefined): void {
    if (write) this.end(write);
    this.#updates -= 1;
    if (this.#updates === 0) this.#idle?.resolve();
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
    work: () => Promise<unknown>,
    write: OpenWrite | undefined,
  ): Promise<void> {
    const done = () => true as const;
    const attempt = () => work().then(done, () => null);
    // A character takes two bytes, and everything else about as much as a short outcome.
    const bytes = JSON.stringify(write?.record ?? null).length * 2 + 1024;
    if (this.#repeated.fits(caller, bytes)) {
      this.#repeated.add(caller, bytes);
      const isDone =
        (await pollAgain(attempt, Infinity, this.#closing.signal)) ??
        (await pollAgain(attempt, performance.now() + this.#closeMs));
      this.#repeated.add(caller, -bytes);
      if (isDone) return;
    }
    const message = 'An idempotency key could not be updated in its store and will be orphaned';
    this.#log.error({}, message);
  }
}
