import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { fetchJson } from './fetch-json.ts';
import { keySet } from './key-set.ts';

/** The shortest time between the starts of two fetches, in milliseconds. */
const MIN_INTERVAL_MS = 1000;
/** The time until the next fetch in the background, in milliseconds: after a success, and after a failure. */
const REFRESH_MS = 600_000;
const RETRY_MS = { withKeys: 60_000, withoutKeys: MIN_INTERVAL_MS };
/** The longest time for a fetch, discovery included, in milliseconds. */
const TIMEOUT_MS = 5000;
/** The most tokens that wait for a fetch. */
const MAX_WAITING = 1000;

/** The key of a token is not known and cannot be fetched, so the token can neither be verified nor rejected. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * The keys of a key server. They are fetched in the background, and when a token needs a key that is not
 * among them. While the key server fails, the last keys remain in use.
 */
export class RemoteKeySet {
  readonly #locate: (signal: AbortSignal) => Promise<URL>;
  readonly #log: Logger;
  /** When the keys were last fetched, in seconds since 1970. 0 before the first time. */
  lastFetch = 0;
  #keys: JWTVerifyGetKey = createLocalJWKSet({ keys: [] });
  /** When the fetch of these keys started, on the monotonic clock. */
  #keysStartedAt = 0;
  #startedAt = Number.NEGATIVE_INFINITY;
  #latest: Promise<boolean> = Promise.resolve(false);
  #waiting = 0;
  #fault: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `locate` finds the URL of the keys, before each fetch. */
  constructor(locate: (signal: AbortSignal) => Promise<URL>, log: Logger) {
    this.#locate = locate;
    this.#log = log;
    void this.#keepFresh();
  }

  /** The key for a token. Throws KeysUnavailable, or an error of jose. */
  readonly get: JWTVerifyGetKey = async (header, token) => {
    const keys = this.#keys;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#beCurrent();
      if (this.#keys === keys) throw error;
      return this.#keys(header, token);
    }
  };

  /** Whether there are keys to verify tokens with. */
  get isReady(): boolean {
    return this.lastFetch > 0;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #keepFresh(): Promise<void> {
    const isCurrent = await this.#refresh();
    if (this.#isClosed) return;
    const retryMs = this.isReady ? RETRY_MS.withKeys : RETRY_MS.withoutKeys;
    this.#timer = setTimeout(() => this.#keepFresh(), isCurrent ? REFRESH_MS : retryMs).unref();
  }

  /** Waits until the keys are as they were published within the last second. Throws KeysUnavailable. */
  async #beCurrent(): Promise<void> {
    if (this.#waiting >= MAX_WAITING) throw new KeysUnavailable();
    this.#waiting += 1;
    const isCurrent = await this.#refresh();
    this.#waiting -= 1;
    if (!isCurrent) throw new KeysUnavailable();
  }

  /**
   * Resolves to whether the latest fetch succeeded. Starts one, unless one has started within the last second:
   * tokens with invented key ids must not become a flood of requests to the key server. A fetch that takes longer
   * does not hold up the next one, so that a connection that hangs cannot delay the recovery.
   */
  #refresh(): Promise<boolean> {
    const now = performance.now();
    if (now - this.#startedAt >= MIN_INTERVAL_MS) {
      this.#startedAt = now;
      this.#latest = this.#fetch(now);
    }
    return this.#latest;
  }

  async #fetch(startedAt: number): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const keys = await fetchJson(await this.#locate(signal), keySet, signal);
      if (startedAt < this.#keysStartedAt) return true; // A later fetch was faster.
      this.#keys = createLocalJWKSet(keys);
      this.#keysStartedAt = startedAt;
      this.lastFetch = Date.now() / 1000;
      if (this.#fault !== undefined) this.#log.info('keys fetched');
      this.#fault = undefined;
      return true;
    } catch (error) {
      if (startedAt < this.#keysStartedAt) return true;
      const fault = error instanceof Error ? error.message : 'unknown';
      if (fault !== this.#fault) {
        this.#log.warn({ fault, keysAvailable: this.isReady }, 'cannot fetch keys');
      }
      this.#fault = fault;
      return false;
    }
  }
}
