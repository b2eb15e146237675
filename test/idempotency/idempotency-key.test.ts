import { expect, test } from '@jest/globals';
import { ARGUMENTS, carriesKey, intentOf } from '../../src/idempotency/idempotency-key.ts';
import { scopeOf } from '../support/upstream-call.ts';

const rejected = (message: string) =>
  expect.objectContaining({ code: 'BAD_USER_INPUT', message: expect.stringContaining(message) });

/** A key in one place, with or without an age. */
const given = (key: unknown, ...ages: unknown[]) => ({ keys: [key], ages });

const callers = [scopeOf(), scopeOf('another token'), scopeOf('token', undefined, 'bob')];

/** The keys of a store for a key of each of the callers, two of whom are the same. */
const keysOf = (key: string) => callers.map((scope) => intentOf(given(key), scope).key);

test('a key belongs to its caller, with and without the quotes of a structured field', () => {
  const [first, sameCaller, other] = keysOf('intent-1');
  expect(sameCaller).toBe(first);
  expect(other).not.toBe(first);
  expect(keysOf('"intent-1"')).toEqual(keysOf('intent-1'));
  expect(callers.map((scope) => intentOf(given('intent-1', 0), scope, ARGUMENTS).key)).toEqual(
    keysOf('intent-1'),
  );
  expect(keysOf('"with\\"quotes\\\\"')).not.toEqual(keysOf('"withquotes"'));
  expect(keysOf('k'.repeat(255))).not.toEqual(keysOf('k'.repeat(254)));
});

test.each([
  [
    'must be 1 to 255 visible',
    [5, {}, ['a'], '', '""', 'a b', 'a, b', '"a', '"a";b=1', 'é', 'k'.repeat(256)],
  ],
  ['must not be', ['undefined', '"null"', 'NaN']],
])('a key %s: %j', (problem, keys) => {
  for (const key of keys) {
    expect(() => intentOf(given(key), scopeOf())).toThrow(rejected(`of the body) ${problem}`));
    expect(() => intentOf(given(key, 0), scopeOf(), ARGUMENTS)).toThrow(
      rejected('"idempotencyKey"'),
    );
  }
});

test.each([
  ...['', '-1', '1.5', '1e3', 'soon', '31536000001', '99999999999', '1, 2'],
  ...[-1, 1.5, 31_536_000_001, true, [5], {}],
])('the age %j is rejected', (age) => {
  const problem = rejected('must be an integer from 0');
  expect(() => intentOf(given('a', age), scopeOf())).toThrow(problem);
});

const both = (keys: unknown[], ages: unknown[] = []) => intentOf({ keys, ages }, scopeOf());

test('a key and its age in the header and in the body are one', () => {
  const intent = intentOf(given('a', '1000'), scopeOf());
  expect(both(['"a"', 'a'], ['1000', 1000])).toMatchObject({ key: intent.key, ageMs: 1000 });
});

test.each([
  ['the key', ['a', 'b'], []],
  ['the age', ['a', 'a'], ['0', 1000]],
])('%s must be the same in the header and in the body', (_, keys, ages) => {
  const problem = rejected('is not the same in the header and in the body');
  expect(() => both(keys, ages)).toThrow(problem);
});

test('a missing key says what may have removed it', () => {
  expect(() => both([])).toThrow(rejected('a proxy or router on the way removes it'));
});

test.each([
  [true, ['a']],
  [true, ['"a"']],
  [true, ['other', 'a']],
  [false, []],
  [false, ['other']],
  [false, ['not valid', 5]],
])('a request carries a key in any place, in quotes or not: %p with %j', (carries, keys) => {
  expect(carriesKey({ ...scopeOf(), givenKey: () => ({ keys, ages: [] }) }, 'a')).toBe(carries);
});

test('an intent knows its age, and when its headers arrived', () => {
  const scope = { ...scopeOf(), receivedAt: 5000 };
  const aged = { ageMs: 1000, receivedAt: 5000 };
  expect(intentOf(given('a', '1000'), scope)).toMatchObject(aged);
  expect(intentOf(given('a', 1000), scope, ARGUMENTS)).toMatchObject(aged);
  expect(intentOf(given('a', '0'), scope).ageMs).toBe(0);
  expect(intentOf(given('a'), scope).ageMs).toBeUndefined();
});

test('an intent is older if the machine was suspended since it arrived', () => {
  const { wallOffset, ...scope } = scopeOf();
  const intent = intentOf(given('a', 0), {
    ...scope,
    receivedAt: 70_000,
    wallOffset: wallOffset - 60_000,
  });
  expect(intent.receivedAt).toBeCloseTo(10_000, -1);
});

test('a token whose sub is missing or no text cannot have keys', () => {
  const scope = scopeOf('token', undefined, null);
  expect(() => intentOf(given('key'), scope)).toThrow(
    rejected('needs a token whose claim "sub" is a text that is not empty'),
  );
});
