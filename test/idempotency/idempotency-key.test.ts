import { expect, test } from '@jest/globals';
import { ARGUMENTS, intentOf } from '../../src/idempotency/idempotency-key.ts';
import { scopeOf } from '../support/upstream-call.ts';

const rejected = (message: string) =>
  expect.objectContaining({ code: 'BAD_USER_INPUT', message: expect.stringContaining(message) });

const callers = [scopeOf(), scopeOf('another token'), scopeOf('token', undefined, 'bob')];

/** The keys of a store for a key of each of the callers, two of whom are the same. */
const keysOf = (key: string) => callers.map((scope) => intentOf(key, undefined, scope).key);

test('a key belongs to its caller, with and without the quotes of a structured field', () => {
  const [first, sameCaller, other] = keysOf('intent-1');
  expect(sameCaller).toBe(first);
  expect(other).not.toBe(first);
  expect(keysOf('"intent-1"')).toEqual(keysOf('intent-1'));
  expect(callers.map((scope) => intentOf('intent-1', 0, scope, ARGUMENTS).key)).toEqual(
    keysOf('intent-1'),
  );
  expect(keysOf('"with\\"quotes\\\\"')).not.toEqual(keysOf('"withquotes"'));
  expect(keysOf('k'.repeat(255))).not.toEqual(keysOf('k'.repeat(254)));
});

test.each([
  ['must be 1 to 255 visible', ['', '""', 'a b', 'a, b', '"a', '"a";b=1', 'é', 'k'.repeat(256)]],
  ['must not be', ['undefined', '"null"', 'NaN']],
])('a key %s: %j', (problem, keys) => {
  for (const key of keys) {
    expect(() => intentOf(key, undefined, scopeOf())).toThrow(
      rejected(`Idempotency-Key ${problem}`),
    );
    expect(() => intentOf(key, 0, scopeOf(), ARGUMENTS)).toThrow(rejected('"idempotencyKey"'));
  }
});

test.each(['', '-1', '1.5', '1e3', 'soon', '31536000001', '99999999999', '1, 2'])(
  'the age %j in a header is rejected',
  (age) => {
    const problem = rejected('Idempotency-Key-Age must be an integer');
    expect(() => intentOf('a', age, scopeOf())).toThrow(problem);
  },
);

test('an intent knows its age, and when its headers arrived', () => {
  const scope = { ...scopeOf(), receivedAt: 5000 };
  const aged = { ageMs: 1000, receivedAt: 5000 };
  expect(intentOf('a', '1000', scope)).toMatchObject(aged);
  expect(intentOf('a', 1000, scope, ARGUMENTS)).toMatchObject(aged);
  expect(intentOf('a', '0', scope).ageMs).toBe(0);
  expect(intentOf('a', undefined, scope).ageMs).toBeUndefined();
});

test('an intent is older if the machine was suspended since it arrived', () => {
  const { wallOffset, ...scope } = scopeOf();
  const intent = intentOf('a', 0, {
    ...scope,
    receivedAt: 70_000,
    wallOffset: wallOffset - 60_000,
  });
  expect(intent.receivedAt).toBeCloseTo(10_000, -1);
});

test('a token without sub cannot have keys', () => {
  const scope = scopeOf('token', undefined, null);
  expect(() => intentOf('key', undefined, scope)).toThrow(
    rejected('needs a token with the claim "sub"'),
  );
});
