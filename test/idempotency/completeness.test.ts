import { expect, test } from '@jest/globals';
import { Completeness, nextRecord } from '../../src/idempotency/completeness.ts';
import type { StoreWatch } from '../../src/idempotency/store-watch.ts';

const QUARANTINE_MS = 120_000;
const store = {
  exclusiveSince: -Infinity,
  isContinuation: (writtenOn: string, serverId: string) => writtenOn === serverId,
};
const now = 1_000_000;
const found = {
  id: 'first',
  serverId: 'a',
  since: 500_000,
  quarantineEnd: 0,
  lossAt: null as number | null,
  retentionMs: 10_000,
};
const newcomer = { id: undefined, lastUse: -Infinity, serverId: 'a', now, retentionMs: 10_000 };
const user = { ...newcomer, id: 'first', lastUse: 900_000 };

/** The record of a process that noticed a loss at this time. */
const lossOf = (at: number) => ({ ...found, id: 'b', since: at, lossAt: at });

const next = (record: typeof found | null, known: typeof newcomer | typeof user) =>
  nextRecord(record, known, store, QUARANTINE_MS);
const loss = { since: now, quarantineEnd: now + QUARANTINE_MS, lossAt: now };

test.each([
  ['a record that this process knows', found, user],
  ['a record that is new to this process', found, newcomer],
  ['a loss that another process noticed', lossOf(950_000), user],
])('%s stays', (_, record, known) => {
  expect(next(record, known)).toBe(record);
});

test('a new store begins now, and waits for objections', () => {
  expect(next(null, newcomer)).toMatchObject({
    since: now,
    quarantineEnd: now + 5000,
    lossAt: null,
    serverId: 'a',
  });
});

test.each([
  ['another server', found, { ...user, serverId: 'b' }],
  ['another server, for a newcomer', found, { ...newcomer, serverId: 'b' }],
  ['a clock that was set back', { ...found, since: now + 1 }, user],
  ['no record, although this process knows one', null, user],
  ['a record of a newcomer', { ...found, id: 'b', since: 999_000 }, user],
  ['a loss that is older than the last use by this process', lossOf(899_000), user],
])('%s is a loss', (_, record, known) => {
  expect(next(record, known)).toMatchObject({ ...loss, serverId: known.serverId });
});

test('a server that has all records of the one before only changes the name', () => {
  const continued = { ...store, isContinuation: () => true };
  const record = nextRecord(found, { ...user, serverId: 'b' }, continued, QUARANTINE_MS);
  expect(record).toEqual({ ...found, serverId: 'b' });
});

test('the instance that starts last decides for how long records are kept', () => {
  const longer = { ...newcomer, retentionMs: 60_000 };
  expect(next(found, longer)).toEqual({ ...found, retentionMs: 60_000, since: now });
  expect(next(found, { ...user, retentionMs: 60_000 })).toBe(found);
  expect(next(found, { ...newcomer, retentionMs: 1 })).toEqual({ ...found, retentionMs: 1 });
});

/** Judges a key that arrived `heldMs` ago, by a record with times that are so long ago. */
async function judge(
  {
    sinceMs = 3_600_000,
    quarantineMs = 0,
    lossMs,
    ...record
  }: Partial<typeof found> & Record<string, unknown> = {},
  ageMs?: number,
  heldMs = 0,
) {
  const present = Date.now();
  const times = {
    since: present - Number(sinceMs),
    quarantineEnd: present + Number(quarantineMs),
    lossAt: lossMs === undefined ? null : present - Number(lossMs),
  };
  const judged = { ...found, ...times, retentionMs: 7_200_000, ...record };
  const text = JSON.stringify(judged);
  const whole = {
    ...store,
    read: async () => ({ entry: { version: 'v', text }, now: Date.now(), serverId: 'a' }),
    swap: async () => 'swapped' as const,
    usage: undefined,
    close: async () => {},
  };
  const log = { info() {}, warn() {}, error() {} };
  const watch: StoreWatch['watch'] = (use) => use;
  const options = { retentionMs: judged.retentionMs, quarantineMs: 0, store: whole, log, watch };
  const completeness = new Completeness(options);
  await completeness.basis();
  const verdict = completeness.judge({ ageMs, receivedAt: performance.now() - heldMs });
  completeness.close();
  return verdict;
}

test.each([
  ['is 30 s older than its age', { sinceMs: 60_000 }, 20_000, 0, 'new'],
  ['is 30 s older than its age', { sinceMs: 60_000 }, 40_000, 0, 'forgotten'],
  ['is as much older as it was held', { sinceMs: 60_000 }, 20_000, 20_000, 'forgotten'],
  ['with the age 0, after a loss', { sinceMs: 20_000, lossMs: 20_000 }, 0, 0, 'quarantine'],
  ['with the age 0, after a loss', { sinceMs: 40_000, lossMs: 40_000 }, 0, 0, 'new'],
  ['with the age 0, held since it', { sinceMs: 40_000, lossMs: 40_000 }, 0, 20_000, 'quarantine'],
  ['with the age 0, after a roll of the retention', { sinceMs: 0, lossMs: 40_000 }, 0, 0, 'new'],
  ['with the age 0, in a new store', { sinceMs: 0 }, 0, 0, 'new'],
  ['with the age 0, before others object', { sinceMs: 0, quarantineMs: 5000 }, 0, 0, 'quarantine'],
  ['without an age, in quarantine', { quarantineMs: 5000 }, undefined, 0, 'quarantine'],
  ['without an age', { quarantineMs: -5000 }, undefined, 0, 'new'],
  ['with nearly the age of the retention', { retentionMs: 100_000 }, 80_000, 0, 'forgotten'],
  ['with less', { retentionMs: 100_000 }, 60_000, 0, 'new'],
])('an intent %s: %j, %s, %s: %s', async (_, record, ageMs, heldMs, verdict) => {
  expect(await judge(record, ageMs, heldMs)).toBe(verdict);
});
