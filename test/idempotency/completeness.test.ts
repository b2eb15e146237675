import { expect, test } from '@jest/globals';
import { Completeness, nextRecord } from '../../src/idempotency/completeness.ts';
import type { StoreWatch } from '../../src/idempotency/store-watch.ts';

const QUARANTINE_MS = 120_000;
const store = {
  exclusiveSince: -Infinity,
  isContinuation: (writtenOn: string, serverId: string) => writtenOn === serverId,
};
const now = 1_000_000;
const found = { id: 'first', serverId: 'a', since: 500_000, quarantineEnd: 0, isLoss: false };
const newcomer = { id: undefined, lastUse: -Infinity, serverId: 'a', now };
const user = { ...newcomer, id: 'first', lastUse: 900_000 };

const next = (record: typeof found | null, known: typeof newcomer | typeof user) =>
  nextRecord(record, known, store, QUARANTINE_MS);
const loss = { since: now, quarantineEnd: now + QUARANTINE_MS, isLoss: true };

test.each([
  ['a record that this process knows', found, user],
  ['a record that is new to this process', found, newcomer],
  [
    'a loss that another process noticed',
    { ...found, id: 'b', since: 950_000, isLoss: true },
    user,
  ],
])('%s stays', (_, record, known) => {
  expect(next(record, known)).toBe(record);
});

test('a new store begins now, and waits for objections', () => {
  expect(next(null, newcomer)).toMatchObject({
    since: now,
    quarantineEnd: now + 5000,
    isLoss: false,
    serverId: 'a',
  });
});

test.each([
  ['another server', found, { ...user, serverId: 'b' }],
  ['another server, for a newcomer', found, { ...newcomer, serverId: 'b' }],
  ['a clock that was set back', { ...found, since: now + 1 }, user],
  ['no record, although this process knows one', null, user],
  ['a record of a newcomer', { ...found, id: 'b', since: 999_000 }, user],
  [
    'a loss that is older than the last use by this process',
    { ...found, id: 'b', since: 899_000, isLoss: true },
    user,
  ],
])('%s is a loss', (_, record, known) => {
  expect(next(record, known)).toMatchObject({ ...loss, serverId: known.serverId });
});

test('a server that has all records of the one before only changes the name', () => {
  const continued = { ...store, isContinuation: () => true };
  const record = nextRecord(found, { ...user, serverId: 'b' }, continued, QUARANTINE_MS);
  expect(record).toEqual({ ...found, serverId: 'b' });
});

test.each([
  ['a loss', true],
  ['the start of a store', false],
])(
  'after %s and before the retention ends, an intent is a second older than its age',
  async (_, isLoss) => {
    const record = { ...found, serverId: 'a', since: Date.now() - 2000, isLoss };
    const entry = { version: 'v', text: JSON.stringify(record) };
    const whole = {
      ...store,
      read: async () => ({ entry, now: Date.now(), serverId: 'a' }),
      sizeOf: async () => 0,
      swap: async () => true,
      usage: undefined,
      close: async () => {},
    };
    const log = { info() {}, warn() {}, error() {} };
    const watch: StoreWatch = (use) => use;
    const judge = async (retentionMs: number, ageMs: number) => {
      const options = { retentionMs, quarantineMs: 0, store: whole, log, watch };
      const completeness = new Completeness(options);
      await completeness.basis();
      const verdict = completeness.judge(ageMs);
      completeness.close();
      return verdict;
    };
    const verdicts = [0, 500, 1500, 2500].map((ageMs) => judge(3_600_000, ageMs));
    expect(await Promise.all(verdicts)).toEqual(['new', 'new', 'forgotten', 'forgotten']);
    expect(await judge(1400, 500)).toBe('forgotten');
  },
);
