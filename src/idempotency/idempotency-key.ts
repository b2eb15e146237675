import { hash } from 'node:crypto';
import type { Intent } from '@ledger-gateway/at-most-once';
import { GatewayError } from '../errors/gateway-error.ts';
import { suspendedMs } from '../lib/suspension.ts';
import type { GivenKey, RequestScope } from '../request-scope.ts';
import type { UpstreamRequest } from '../upstream/operations.ts';

const MAX_LENGTH = 255;
/** Visible ASCII without quotes, or the quoted string of a structured field (RFC 9651, section 3.3.3). */
const keyPattern = /^(?:([!#-~]+)|"((?:[!#-[\]-~]|\\["\\])+)")$/;
/** Texts that a faulty client makes of a missing value. With such a key, all of its intents would be one. */
const missingValues = ['undefined', 'null', 'NaN']; // `[object Object]` has a space.
/** A year, in milliseconds. */
const MAX_AGE_MS = 31_536_000_000;

/** The names of a key and its age in messages: those of a request, or those of the arguments, in quotes. */
const REQUEST = {
  key: 'The idempotency key (header Idempotency-Key, or idempotencyKey in the extensions of the body)',
  age: 'The age of the idempotency key (header Idempotency-Key-Age, or idempotencyKeyAge in the extensions of the body)',
};
export const ARGUMENTS = { key: '"idempotencyKey"', age: '"ageMs"' };

/** The intent of a request, or of the arguments of `settleWrites`. Throws `BAD_USER_INPUT`. */
export function intentOf(
  { keys, ages }: GivenKey,
  { caller, receivedAt, wallOffset }: RequestScope,
  names = REQUEST,
): Intent {
  const key = theSame(keys, parseKey, names.key);
  const ageMs = theSame(ages, parseAge, names.age);
  if (key === undefined) {
    const hint = 'If the client sends one, a proxy or router on the way removes it';
    throw badInput(names.key, `is required for a mutation. ${hint}`);
  }
  if (caller.subject === null)
    throw badInput(names.key, 'needs a token whose claim "sub" is a text that is not empty');
  return {
    key: hash('sha256', JSON.stringify([caller.issuer, caller.subject, key]), 'base64url'),
    caller: caller.hash,
    ageMs,
    receivedAt: receivedAt - suspendedMs(wallOffset),
  };
}

/** A hash of an upstream request, to recognize a key that is reused for another request. */
export function fingerprintOf(
  { operation: { name }, search, body = '' }: UpstreamRequest,
  forwarded?: RequestScope['forwarded'],
): string {
  // The body is hashed as it is, because encoding a long one again takes time.
  const start = JSON.stringify(forwarded ? [name, search, forwarded] : [name, search]);
  return hash('sha256', start + body, 'base64url');
}

/** Whether a request carries this key, which may be in quotes. */
export function carriesKey({ givenKey }: RequestScope, key: string): boolean {
  return givenKey().keys.some((given) => withoutQuotes(given) === withoutQuotes(key));
}

/** The value that is the same in all places that have one. Undefined if none has one. */
function theSame<Value>(
  given: readonly unknown[],
  parse: (given: unknown, name: string) => Value,
  name: string,
): Value | undefined {
  const [first, ...others] = given.map((one) => parse(one, name));
  if (others.every((other) => other === first)) return first;
  const hint = 'Something between the client and the gateway changes it';
  throw badInput(name, `is not the same in the header and in the body. ${hint}`);
}

function parseKey(given: unknown, name: string): string {
  const key = withoutQuotes(given);
  if (key === undefined || key.length > MAX_LENGTH) {
    throw badInput(name, `must be 1 to ${MAX_LENGTH} visible ASCII characters`);
  }
  if (missingValues.includes(key)) throw badInput(name, `must not be ${key}`);
  return key;
}

/** The key without the quotes of draft-ietf-httpapi-idempotency-key-header-07, which has expired (docs/decisions/0012). */
function withoutQuotes(given: unknown): string | undefined {
  const [, plain, quoted] = (typeof given === 'string' && keyPattern.exec(given)) || [];
  return plain ?? quoted?.replaceAll(/\\(.)/g, '$1');
}

function parseAge(given: unknown, name: string): number {
  const isAge = ['string', 'number'].includes(typeof given) && /^\d{1,11}$/.test(`${given}`);
  const ageMs = isAge ? Number(given) : Number.NaN;
  if (ageMs <= MAX_AGE_MS) return ageMs;
  throw badInput(name, `must be an integer from 0 to ${MAX_AGE_MS}`);
}

/** Reports a fault of a request, or of an argument, whose name is in quotes and is the path of the fault. */
function badInput(name: string, problem: string): GatewayError {
  const message = `${name} ${problem}.`;
  const path = name.startsWith('"') ? [name.slice(1, -1)] : [];
  return new GatewayError('BAD_USER_INPUT', message, { faults: [{ path, message }] });
}
