import { createHash, hash } from 'node:crypto';
import { GatewayError } from '../errors/gateway-error.ts';
import { suspendedMs } from '../lib/count-down.ts';
import type { RequestScope } from '../request-scope.ts';
import type { UpstreamRequest } from '../upstream/operations.ts';

const MAX_LENGTH = 255;
/** Visible ASCII without quotes, or the quoted string of a structured field (RFC 9651, section 3.3.3). */
const keyPattern = /^(?:([!#-~]+)|"((?:[!#-[\]-~]|\\["\\])+)")$/;
/** Texts that a faulty client makes of a missing value. With such a key, all of its intents would be one. */
const missingValues = ['undefined', 'null', 'NaN']; // `[object Object]` has a space.
/** A year, in milliseconds. */
const MAX_AGE_MS = 31_536_000_000;

/** The names of a key and its age in messages: those of the headers, or those of the arguments, in quotes. */
const HEADERS = { key: 'The header Idempotency-Key', age: 'The header Idempotency-Key-Age' };
export const ARGUMENTS = { key: '"idempotencyKey"', age: '"ageMs"' };

/** An intent of a caller, in the form in which a store knows it. */
export type Intent = {
  /** A hash of caller and key. */
  key: string;
  /** A hash of the caller. */
  caller: string;
  /**
   * How long before this request the client sent the first request with this intent that got no response, in milliseconds. 0 if
   * there is none. Undefined if the client does not say.
   */
  ageMs: number | undefined;
  /** When the request arrived, in the time of `performance.now()`. If the machine was suspended since then, so much earlier. */
  receivedAt: number;
};

/** The intent in the headers of a request, or in the arguments of `settleWrites`. Throws `BAD_USER_INPUT`. */
export function intentOf(
  text: string,
  age: string | number | null | undefined,
  { caller, receivedAt, wallOffset }: RequestScope,
  names = HEADERS,
): Intent {
  const key = parseKey(text, names.key);
  const ageMs = age === undefined || age === null ? undefined : Number(age);
  if (ageMs !== undefined && !(/^\d{1,11}$/.test(`${age}`) && ageMs <= MAX_AGE_MS)) {
    throw badInput(names.age, `must be an integer from 0 to ${MAX_AGE_MS}`);
  }
  if (caller.subject === null) throw badInput(names.key, 'needs a token with the claim "sub"');
  return {
    key: hash('sha256', JSON.stringify([caller.issuer, caller.subject, key]), 'base64url'),
    caller: caller.hash,
    ageMs,
    receivedAt: receivedAt - suspendedMs(wallOffset),
  };
}

/** A hash of an upstream request, to recognize a key that is reused for another request. */
export function fingerprintOf(
  { operation, search = '', body = '' }: UpstreamRequest,
  forwarded?: RequestScope['forwarded'],
): string {
  // The body is hashed as it is, because encoding a long one again takes time.
  const start = JSON.stringify(forwarded ? [operation, search, forwarded] : [operation, search]);
  return createHash('sha256').update(start).update(body).digest('base64url');
}

export function missingKey(): GatewayError {
  return badInput(HEADERS.key, 'is required for a mutation');
}

/** The key without the quotes of draft-ietf-httpapi-idempotency-key-header-07, which has expired (docs/decisions/0012). */
function parseKey(text: string, name: string): string {
  const [, plain, quoted] = keyPattern.exec(text) ?? [];
  const key = plain ?? quoted?.replaceAll(/\\(.)/g, '$1');
  if (key === undefined || key.length > MAX_LENGTH) {
    throw badInput(name, `must be 1 to ${MAX_LENGTH} visible ASCII characters`);
  }
  if (missingValues.includes(key)) throw badInput(name, `must not be ${key}`);
  return key;
}

/** Reports a fault of a header, or of an argument, whose name is in quotes and is the path of the fault. */
function badInput(name: string, problem: string): GatewayError {
  const message = `${name} ${problem}.`;
  const path = name.startsWith('"') ? [name.slice(1, -1)] : [];
  return new GatewayError('BAD_USER_INPUT', message, { faults: [{ path, message }] });
}
