import type { Logger } from 'pino';
import { GatewayError } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import { type Claim, type ClaimResult, type IdempotencyStore, StoreUnavailable } from './store.ts';

/** Events to count, and the time of each use of the store in seconds. */
export type IdempotencyObserver = {
  settled(result: IdempotencyResult): void;
  stored(operation: 'claim' | 'record' | 'release', seconds: number): void;
};

/** What became of a write with an idempotency key. */
export const idempotencyResults = [
  'claimed',
  'replayed',
  'joined',
  'reused',
  'orphaned',
  'unavailable',
] as const;

export type IdempotencyResult = (typeof idempotencyResults)[number];

/** One cause is logged once in this time, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

/** A store with metrics, and with errors as clients and operators need them. */
export class ObservedStore {
  readonly #store: IdempotencyStore;
  readonly #observer: IdempotencyObserver;
  readonly #log: Logger;
  /** When each reason was last logged, in the time of `performance.now()`. */
  readonly #loggedAt = new Map<string, number>();

  constructor(store: IdempotencyStore, observer: IdempotencyObserver, log: Logger) {
    this.#store = store;
    this.#observer = observer;
    this.#log = log;
  }

  /** Claims a key. Throws `IDEMPOTENCY_UNAVAILABLE` if the store cannot be used. */
  async claim(claim: Claim): Promise<ClaimResult> {
    try {
      return await this.#timed('claim', this.#store.claim(claim));
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#observer.settled('unavailable');
      this.#logUnavailable(error.reason);
      throw new GatewayError(
        'IDEMPOTENCY_UNAVAILABLE',
        'The store of idempotency keys is unavailable. This request was not sent; an earlier one with the same key may have been. Send it again with the same key.',
      );
    }
  }

  /** Records the outcome. A failure is only logged, because the client still gets the outcome. */
  async record({ key, owner }: Claim, outcome: string, scope: RequestScope): Promise<void> {
    const recorded = this.#timed('record', this.#store.record(key, owner, outcome));
    await recorded.catch((error: unknown) => this.#warn(error, key, scope));
  }

  /** Frees the key. A failure is only logged. */
  async release({ key, owner }: Claim, scope: RequestScope): Promise<void> {
    const released = this.#timed('release', this.#store.release(key, owner));
    await released.catch((error: unknown) => this.#warn(error, key, scope));
  }

  #logUnavailable(reason: string): void {
    const now = performance.now();
    if (now - (this.#loggedAt.get(reason) ?? -Infinity) < LOG_INTERVAL_MS) return;
    this.#loggedAt.set(reason, now);
    this.#log.error({ reason }, 'idempotency store unavailable');
  }

  async #timed<Result>(
    operation: 'claim' | 'record' | 'release',
    work: Promise<Result>,
  ): Promise<Result> {
    const start = performance.now();
    try {
      return await work;
    } finally {
      this.#observer.stored(operation, (performance.now() - start) / 1000);
    }
  }

  #warn(error: unknown, claim: string, { requestId }: RequestScope): void {
    const fault = error instanceof StoreUnavailable ? error.reason : 'unknown';
    this.#log.warn({ requestId, claim, fault }, 'idempotency store failed');
  }
}
