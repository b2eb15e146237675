import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import type { Logger } from 'pino';

/** Interval between refreshes of the keys, in milliseconds. */
const REFRESH_MS = 600_000;
/** Cooldown after a failed request to the key server, in milliseconds. */
const RETRY_MS = 30_000;
const TIMEOUT_MS = 5000;

/** No keys are available, so no token can be verified or rejected. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

type KeySource = { getKey: JWTVerifyGetKey; close(): void };

/**
 * The keys that tokens are verified with. Remote keys are refreshed in the background, and fetched again
 * for an unknown `kid`; if the key server is unreachable, the last known keys are used. `getKey` throws
 * KeysUnavailable if there are none.
 */
export function createKeySource(keys: URL | JSONWebKeySet, log: Logger): KeySource {
  if (!(keys instanceof URL)) return { getKey: createLocalJWKSet(keys), close() {} };

  const remote = createRemoteJWKSet(keys, { cacheMaxAge: Infinity, timeoutDuration: TIMEOUT_MS });
  const refresh = () =>
    remote.reload().catch((error: Error) => {
      const keysAvailable = remote.jwks() !== undefined;
      log.warn({ fault: error.name, keysAvailable }, 'cannot fetch keys');
    });
  void refresh();
  const timer = setInterval(refresh, REFRESH_MS).unref();

  let cooldownUntil = 0;
  const getKey: JWTVerifyGetKey = async (header, token) => {
    const known = remote.jwks();
    // During the cooldown, tokens with invented key ids cause no requests to the key server.
    if (known && Date.now() < cooldownUntil) return createLocalJWKSet(known)(header, token);
    try {
      return await remote(header, token);
    } catch (error) {
      if (isAboutToken(error)) throw error;
      if (!remote.jwks()) throw new KeysUnavailable();
      cooldownUntil = Date.now() + RETRY_MS;
      throw error;
    }
  };
  return { getKey, close: () => clearInterval(timer) };
}

/** Whether an error of jose concerns the token; all others concern the key server. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}
