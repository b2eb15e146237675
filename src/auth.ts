import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { GatewayError } from './errors.ts';

/** Who is asking: the token verified, and nothing else is believed of them. */
export type Caller = { token: string };

/** Verifies the caller of a request. Null where no token came: some answers need none. */
export type Authenticate = (request: IncomingMessage) => Promise<Caller | null>;

type JwtConfig = {
  /** The URL of the keys, or the keys themselves. */
  keys: URL | JSONWebKeySet;
  issuer: string;
  audience: string;
  algorithms: string[];
  clockToleranceS: number;
};

/** A token longer than this, in characters, is refused before anything is computed from it. */
const MAX_TOKEN_LENGTH = 8192;
/** How long a verified token is remembered at most, in milliseconds, and how many of them. */
const REMEMBERED_MS = 60_000;
const REMEMBERED_TOKENS = 10_000;
/** How often the keys are fetched anew, in milliseconds. */
const KEY_REFRESH_MS = 600_000;
/** How long a key server that is away is not asked for the key of a token, in milliseconds. */
const KEY_RETRY_MS = 30_000;

// RFC 6750, section 2.1: the characters of a bearer token.
const bearer = /^Bearer +([\w.~+/-]+=*)$/i;

/**
 * Verifies bearer tokens (specification, section 5) with the keys configured. A verified token is
 * remembered by its hash until it expires, at most a minute, so that a signature is not checked on
 * every request.
 *
 * @throws GatewayError `UNAUTHENTICATED` for a token that does not verify, `AUTH_UNAVAILABLE` where
 * the keys cannot be fetched and none are at hand
 */
export function createAuthenticate(
  config: JwtConfig,
  log: Logger,
  count: (outcome: 'verified' | 'remembered' | 'refused' | 'unavailable') => void,
): { authenticate: Authenticate; close(): void } {
  const { getKey, close } = createKeys(config.keys, log);
  const verified = new LRUCache<string, true>({ max: REMEMBERED_TOKENS });
  const options = {
    issuer: config.issuer,
    audience: config.audience,
    algorithms: config.algorithms,
    clockTolerance: config.clockToleranceS,
    requiredClaims: ['exp'],
  };

  async function verify(token: string): Promise<JWTPayload> {
    try {
      return (await jwtVerify(token, getKey, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // A token without `kid` before several keys: it is the one that fits, if any does.
      for await (const key of error) {
        const result = await jwtVerify(token, key, options).catch((failure: unknown) => {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        });
        if (result) return result.payload;
      }
      throw error;
    }
  }

  async function accept(token: string): Promise<Caller> {
    const digest = hash('sha256', token, 'base64');
    if (verified.has(digest)) {
      count('remembered');
      return { token };
    }
    const { exp = 0 } = await verify(token).catch((error: unknown) => {
      if (!(error instanceof KeysUnavailable)) throw invalidToken();
      count('unavailable');
      throw new GatewayError('AUTH_UNAVAILABLE', 'Tokens cannot be verified at the moment.');
    });
    count('verified');
    const lifeMs = exp * 1000 - Date.now();
    if (lifeMs > 0) verified.set(digest, true, { ttl: Math.min(lifeMs, REMEMBERED_MS) });
    return { token };
  }

  function invalidToken(): GatewayError {
    count('refused');
    return new GatewayError('UNAUTHENTICATED', 'The bearer token is not valid.', {
      'www-authenticate': 'Bearer error="invalid_token"',
    });
  }

  return {
    async authenticate(request) {
      const header = request.headers.authorization;
      if (header === undefined) return null;
      // Node keeps the first of two in `headers`: which one a proxy in front looked at cannot be
      // known, so two are refused.
      const isOne = request.rawHeaders.filter(isAuthorization).length === 1;
      const token = bearer.exec(header)?.[1];
      if (!isOne || token === undefined || token.length > MAX_TOKEN_LENGTH) throw invalidToken();
      return accept(token);
    },
    close,
  };
}

/** Whether a part of raw headers, which are names and values in turn, is the name of this one. */
function isAuthorization(part: string, index: number): boolean {
  return index % 2 === 0 && /^authorization$/i.test(part);
}

class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * The keys tokens are verified with. Remote ones are fetched once, then anew in the background, and
 * for an unknown `kid` with jose's cooldown: the last good keys serve while the key server is away.
 */
function createKeys(keys: URL | JSONWebKeySet, log: Logger) {
  if (!(keys instanceof URL)) return { getKey: createLocalJWKSet(keys), close() {} };

  const remote = createRemoteJWKSet(keys, { cacheMaxAge: Infinity, timeoutDuration: 5000 });
  const refresh = () =>
    remote.reload().catch((error: Error) => {
      log.warn({ fault: error.name, keysAtHand: remote.jwks() !== undefined }, 'keys not fetched');
    });
  void refresh();
  const timer = setInterval(refresh, KEY_REFRESH_MS).unref();
  let quietUntil = 0;
  const getKey: JWTVerifyGetKey = async (header, token) => {
    const atHand = remote.jwks();
    // Else whoever makes up key ids would have the key server asked at each request.
    if (atHand && Date.now() < quietUntil) return createLocalJWKSet(atHand)(header, token);
    try {
      return await remote(header, token);
    } catch (error) {
      // These three are about the token; all else is about the key server.
      if (
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported
      ) {
        throw error;
      }
      // With keys at hand, a token they do not fit is a bad token, whoever keeps us from newer ones.
      if (!remote.jwks()) throw new KeysUnavailable();
      quietUntil = Date.now() + KEY_RETRY_MS;
      throw error;
    }
  };
  return { getKey, close: () => clearInterval(timer) };
}
