import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
} from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';

/** Interval between refreshes of the keys, in milliseconds. */
const REFRESH_MS = 600_000;
/** Cooldown after a failed request to the key server for an unknown key id, in milliseconds. */
const COOLDOWN_MS = 30_000;
/** The delay before the first retry while there are no keys, in milliseconds; it doubles up to the maximum. */
const RETRY_MS = { first: 500, max: 30_000 };
/** The longest time for a request to the key server, in milliseconds. */
export const KEY_SERVER_TIMEOUT_MS = 5000;

type RemoteSet = ReturnType<typeof createRemoteJWKSet>;

/** No keys are available, so no token can be verified or rejected. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * The keys of a key server. They are fetched at once and refreshed in the background, and fetched again for
 * an unknown `kid`. If the key server is unreachable, the last known keys are used.
 */
export class RemoteKeys {
  readonly #locate: () => Promise<URL>;
  readonly #log: Logger;
  #keys: RemoteSet | undefined;
  #url: string | undefined;
  #fetching: Promise<void> | undefined;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #cooldownUntil = 0;

  /** `locate` finds the URL of the keys, before each fetch. */
  constructor(locate: () => Promise<URL>, log: Logger) {
    this.#locate = locate;
    this.#log = log;
    void this.#refresh();
  }

  /** Whether there are keys to verify tokens with. */
  get isReady(): boolean {
    return this.#keys !== undefined;
  }

  /** The key for a token. Throws KeysUnavailable if there are no keys, or an error of jose. */
  async get(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    const keys = this.#keys ?? (await this.#firstKeys());
    const known = keys.jwks();
    // During the cooldown, tokens with invented key ids cause no requests to the key server.
    if (known && Date.now() < this.#cooldownUntil) return createLocalJWKSet(known)(header, token);
    try {
      return await keys(header, token);
    } catch (error) {
      if (!isAboutToken(error)) this.#cooldownUntil = Date.now() + COOLDOWN_MS;
      throw error;
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #firstKeys(): Promise<RemoteSet> {
    await this.#fetch().catch(() => {});
    if (!this.#keys) throw new KeysUnavailable();
    return this.#keys;
  }

  async #refresh(): Promise<void> {
    try {
      await this.#fetch();
      if (this.#failures > 0) this.#log.info('keys fetched');
      this.#failures = 0;
    } catch (error) {
      this.#log.warn({ fault: reasonOf(error), keysAvailable: this.isReady }, 'cannot fetch keys');
      this.#failures += 1;
    }
    const retryMs = Math.min(RETRY_MS.first * 2 ** this.#failures, RETRY_MS.max);
    const delayMs = this.#failures > 0 && !this.isReady ? retryMs : REFRESH_MS;
    this.#timer = setTimeout(() => this.#refresh(), delayMs).unref();
  }

  /** Fetches the keys, once for all that wait for them. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#load().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #load(): Promise<void> {
    const url = await this.#locate();
    const keys = this.#keys && url.href === this.#url ? this.#keys : createKeys(url);
    await keys.reload();
    if (keys.jwks()?.keys.length === 0) throw new Error('the key set is empty');
    this.#keys = keys;
    this.#url = url.href;
  }
}

function createKeys(url: URL): RemoteSet {
  return createRemoteJWKSet(url, {
    cacheMaxAge: Infinity,
    timeoutDuration: KEY_SERVER_TIMEOUT_MS,
  });
}

/** Whether an error of jose concerns the token; all others concern the key server. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

/** Why keys could not be fetched: the code of the connection's error, or the library's words. */
function reasonOf(error: unknown): string {
  const { message, cause } = failure.parse(error);
  return cause?.code ?? message;
}

const failure = z.object({
  message: z.string().catch('unknown'),
  cause: z.object({ code: z.string() }).optional().catch(undefined),
});
