import { createHash, hash } from 'node:crypto';
import { GatewayError } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { UpstreamRequest } from '../upstream/operations.ts';

const MAX_LENGTH = 255;
/** Visible ASCII without quotes, or the quoted string of a structured field (RFC 9651, section 3.3.3). */
const keyPattern = /^(?:([!#-~]+)|"((?:[!#-[\]-~]|\\["\\])+)")$/;

/**
 * The key in an `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header), without its quotes.
 * Throws `BAD_USER_INPUT` if it is not 1 to 255 visible ASCII characters.
 */
export function parseIdempotencyKey(header: string): string {
  const [, plain, quoted] = keyPattern.exec(header) ?? [];
  const key = plain ?? quoted?.replaceAll(/\\(.)/g, '$1');
  if (key === undefined || key.length > MAX_LENGTH) {
    throw badKey(`must be 1 to ${MAX_LENGTH} visible ASCII characters`);
  }
  return key;
}

/** The id of a claim: a hash of the caller, the key and the response name of the root field. */
export function claimId(key: string, { caller }: RequestScope, responseName: string): string {
  if (caller.subject === null) throw badKey('needs a token with the claim "sub"');
  return digest([caller.issuer, caller.subject, key, responseName]);
}

/** A hash of a request as it goes to the service, to recognize a key that is used for another request. */
export function fingerprintOf({ operation, search = '', body = '' }: UpstreamRequest): string {
  // The body is not encoded again: it may be long.
  const start = JSON.stringify([operation, search]);
  return createHash('sha256').update(start).update(body).digest('base64url');
}

export function missingKey(): GatewayError {
  return badKey('is required for a mutation');
}

function badKey(problem: string): GatewayError {
  return new GatewayError('BAD_USER_INPUT', `The header Idempotency-Key ${problem}.`);
}

function digest(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
