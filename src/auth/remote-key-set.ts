import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { fetchJson } from './fetch-json.ts';
import { keySet } from './key-set.ts';

/** The shortest time between the starts of two fetches, in milliseconds. */
const MIN_INTERVAL_MS = 1000;

/** The key of a token is not known and cannot be fetched, so the token can neither be verified nor rejected. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * The keys of a key server. They are fetched in the background, and when a token needs a key that is not
 * among them. While the key server fails, the last keys remain in use.
 */
export class RemoteKeySet {
  /** The key for a token. Throws KeysUnavailable, or an error of jose. */
  readonly get: JWTVerifyGetKey;
  /** When the keys were last fetched, in seconds since 1970. 0 before the first time. */
  lastFetch = 0;
  readonly #locate: (signal: AbortSignal) => Promise<URL>;
  readonly #log: Logger;
  #startedAt = Number.NEGATIVE_INFINITY;
  #fault: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `locate` finds the URL of the keys, before each fetch. */
  constructor(url: URL, locate: (signal: AbortSignal) => Promise<URL>, log: Logger) {
    this.#locate = locate;
    this.#log = log;
    const keys = createRemoteJWKSet(url, {
      cacheMaxAge: Infinity,
      cooldownDuration: MIN_INTERVAL_MS,
      timeoutDuration: 4000, // Discovery included: an issuer that was down is used within 5 s.
      [customFetch]: (_, { signal }) => this.#fetch(signal),
    });
    this.get = keys;
    void this.#keepFresh(keys.reload);
  }

  /** Whether there are keys to verify tokens with. */
  get isReady(): boolean {
    return this.lastFetch > 0;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #keepFresh(reload: () => Promise<void>): Promise<void> {
    const failed = () => (this.isReady ? 60_000 : MIN_INTERVAL_MS);
    const delayMs = await reload().then(() => 600_000, failed);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.#keepFresh(reload), delayMs).unref();
  }

  /**
   * Fetches the keys for jose, which calls it once for all tokens that wait, and not within a second of a success. After
   * a failure, it fails without a fetch: tokens with invented key ids must not become a flood of requests.
   */
  async #fetch(signal: AbortSignal): Promise<Response> {
    const now = performance.now();
    if (now - this.#startedAt < MIN_INTERVAL_MS) throw new KeysUnavailable();
    this.#startedAt = now;
    try {
      const keys = await fetchJson(await this.#locate(signal), keySet, signal);
      this.lastFetch = Date.now() / 1000;
      if (this.#fault !== undefined) this.#log.info('keys fetched');
      this.#fault = undefined;
      return Response.json(keys);
    } catch (error) {
      const fault = error instanceof Error ? error.message : 'unknown';
      if (fault !== this.#fault) {
        this.#log.warn({ fault, keysAvailable: this.isReady }, 'cannot fetch keys');
      }
      this.#fault = fault;
      throw new KeysUnavailable();
    }
  }
}
