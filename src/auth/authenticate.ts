import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type Rejection, tokenRejected } from '../errors/gateway-error.ts';
import type { Caller } from '../request-scope.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createKeySource } from './key-source.ts';
import { createVerify, type JwtConfig, printableClaim, reasonOf, unverifiedOf } from './verify.ts';

/** A verified bearer token. */
export type Credentials = { token: string; tokenHash: string; caller: Caller };

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** How long a verified token is cached at most, in milliseconds, and how many tokens are. */
const CACHE_MS = 60_000;
const CACHED_TOKENS = 10_000;

/** A token in an `Authorization` header (RFC 6750, section 2.1; RFC 9449, section 7.1). */
const tokenPattern = /^(Bearer|DPoP) +([\w.~+/-]+=*)$/i;

/** The claims that may name the application (OpenID Connect, RFC 9068, Okta, Entra ID, AD FS). The first one that is a text counts. */
const applicationClaims = ['azp', 'client_id', 'cid', 'appid'];

/**
 * Verifies bearer tokens (docs/reference/service-api.md, section 5). A verified token is cached by its hash, so that not every
 * request costs a signature check. It stays in the cache until it expires, for a minute at most, and no longer than until the
 * keys change. Registers the metrics of tokens and keys.
 */
export function createAuthenticator(config: JwtConfig, log: Logger, metrics: Metrics) {
  const createCache = () => new LRUCache<string, Caller>({ max: CACHED_TOKENS });
  let cache = createCache();
  const keySource = createKeySource(config.issuers, log, () => {
    cache = createCache(); // A key may have been withdrawn, even that of a token that is being verified now.
  });
  const verify = createVerify(config, keySource);
  const fetchesHelp = "When an issuer's keys were last fetched; 0 if they never were";
  const fetches = 'keys_last_fetch_timestamp_seconds';
  metrics.gauges(fetches, fetchesHelp, ['issuer'], keySource.lastFetches);
  const agesHelp = "How long ago an issuer's keys were last fetched; +Inf if they never were";
  metrics.gauges('keys_age_seconds', agesHelp, ['issuer'], keySource.ages);
  const help = 'Tokens checked: verified, remembered from the cache, refused, or keys unavailable';
  const checked = metrics.counter('token_verifications_total', help, 'outcome');
  checked.inc({ outcome: 'unavailable' }, 0);

  function rejected(rejection: Rejection) {
    const isUnavailable = rejection.reason === 'keys_unavailable';
    checked.inc({ outcome: isUnavailable ? 'unavailable' : 'refused' });
    return tokenRejected(rejection);
  }

  /**
   * The credentials of a request, or a promise of them if its token is not remembered. Null if it has no `Authorization` header.
   * Throws a GatewayError: `UNAUTHENTICATED` for an invalid token, `AUTH_UNAVAILABLE` if the key of a token cannot be fetched.
   */
  function authenticate(request: IncomingMessage): Credentials | null | Promise<Credentials> {
    if (request.headers.authorization === undefined) return null;
    const token = readToken(request, config.isBindingChecked);
    if (typeof token !== 'string') throw rejected(token);
    const digest = digestOf(token);
    const caller = cache.get(digest);
    if (!caller) return verifyNew(token, digest, cache);
    checked.inc({ outcome: 'remembered' });
    return { token, tokenHash: digest, caller };
  }

  async function verifyNew(token: string, digest: string, current: typeof cache) {
    const verified = await verify(token).catch((error: unknown) => {
      throw rejected({ reason: reasonOf(error), ...unverifiedOf(token) });
    });
    checked.inc({ outcome: 'verified' });
    const { exp = 0, iss = '', sub } = verified;
    const ttl = Math.min(exp * 1000 - Date.now(), CACHE_MS);
    const named = applicationClaims.map((name) => printableClaim(verified[name]));
    const caller = { ...toCaller(iss, sub, digest), application: named.find(Boolean) };
    if (ttl > 0) current.set(digest, caller, { ttl });
    return { token, tokenHash: digest, caller };
  }

  return { ...keySource, authenticate };
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64');
}

/** The token of a request, or why there is none. */
function readToken(request: IncomingMessage, isBindingChecked: boolean): string | Rejection {
  const [, scheme, token] = tokenPattern.exec(request.headers.authorization ?? '') ?? [];
  // Several headers, of which a proxy in front may have checked another one, are joined, and do not match.
  if (!token) return { reason: 'malformed' };
  return isBindingChecked || scheme?.toLowerCase() === 'bearer' ? token : { reason: 'bound' };
}

/** The caller of a token. jose does not check that `sub` is text, and numbers or objects could make two callers equal. */
function toCaller(issuer: string, sub: unknown, tokenHash: string): Caller {
  const subject = typeof sub === 'string' && sub !== '' ? sub : null;
  const admissionKey = digestOf(JSON.stringify([issuer, subject]));
  return { issuer, subject, admissionKey, hash: subject === null ? tokenHash : admissionKey };
}
