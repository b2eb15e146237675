import { expect, test } from '@jest/globals';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { createLogRecorder } from '../../../testkit/log-recorder.ts';
import { Completeness } from '../src/completeness.ts';
import type { Change, Entry } from '../src/store.ts';

const QUARANTINE_MS = 120_000;
const now = 1_000_000;
const found = {
  id: 'first',
  serverId: 'a',
  history: 'h' as string | undefined,
  since: 500_000,
  quarantineEnd: 0,
  lossAt: null as number | null,
  retentionMs: 10_000,
  longerSince: 500_000,
  earlierRetentionMs: 0,
};
type Content = typeof found;

const entryOf = (content: Content | null): Entry | null =>
  content && { version: 'v', text: JSON.stringify(content) };

/** A process that knows the record of a store. */
async function start(
  content: Content | null,
  { retentionMs = 10_000, serverId = 'a', history = 'h', quarantineMs = QUARANTINE_MS },
  time = now,
) {
  const state = { entry: entryOf(content), serverId, history, continued: [] as string[] };
  const store = {
    isContinuation: (writtenOn: string) => state.continued.includes(writtenOn),
    read: async () => ({ ...state, now: time }),
    swap: async ({ next }: Change) => {
      state.entry = next;
      return 'swapped' as const;
    },
    usage: undefined,
    close: async () => {},
  };
  const recorder = createLogRecorder();
  const options = { store, retentionMs, quarantineMs, log: recorder.createLogger() };
  const completeness = new Completeness({ ...options, watch: { succeeded() {}, failed() {} } });
  closeAfterTest(async () => completeness.close());
  await completeness.findBasis();
  return { state, completeness, lines: recorder.lines };
}

type Process = { isUser?: boolean; serverId?: string; history?: string; retentionMs?: number };
/** One that knew the first record, and used it at 900,000. */
const user: Process = { isUser: true };

/** The record that a process leaves where it finds this one. */
async function next(content: Content | null, process: Process, continued: string[] = []) {
  const { serverId = 'a', history = 'h', isUser, retentionMs = 10_000 } = process;
  const known = isUser ? { retentionMs } : { retentionMs, serverId, history };
  const { state, completeness } = await start(isUser ? found : content, known);
  if (isUser) {
    completeness.note('swapped', performance.now() - 100_000);
    Object.assign(state, { entry: entryOf(content), serverId, history, continued });
    completeness.note('basis', performance.now());
    await completeness.findBasis();
  }
  return JSON.parse(state.entry?.text ?? '');
}

/** The record of a process that noticed a loss at this time. */
const lossOf = (at: number) => ({ ...found, id: 'b', since: at, lossAt: at });
const lossEndingAt = (quarantineEnd: number) => ({ ...lossOf(950_000), quarantineEnd });

test.each([
  ['a record that this process knows', found, user],
  ['a record that is new to this process', found, {}],
  ['a loss that another process noticed', lossOf(950_000), user],
])('%s stays', async (_, content, process) => {
  expect(await next(content, process)).toEqual(content);
});

test('a new store begins now, and waits for objections', async () => {
  const times = { since: now, quarantineEnd: now + 5000, lossAt: null };
  expect(await next(null, {})).toMatchObject({ ...times, serverId: 'a' });
});

test('a record without a history, which version 1.0.0 has written, gets that of its server', async () => {
  expect(await next({ ...found, history: undefined }, {})).toEqual(found);
});

test.each([
  ['another server', found, { ...user, serverId: 'b' }],
  ['another server, for a newcomer', found, { serverId: 'b' }],
  ['a server with another history', found, { ...user, history: 'i' }],
  ['a server with another history, for a newcomer', found, { history: 'i' }],
  [
    'another server, where version 1.0.0 wrote the record',
    { ...found, history: undefined },
    { serverId: 'b' },
  ],
  ['a clock that was set back', { ...found, since: now + 1 }, user],
  ['no record, although this process knows one', null, user],
  ['a record of a newcomer', { ...found, id: 'b', since: 999_000 }, user],
  ['a loss that is older than the last use by this process', lossOf(899_000), user],
])('%s is a loss', async (_, content, process: Process) => {
  const loss = { since: now, quarantineEnd: now + QUARANTINE_MS, lossAt: now };
  const { serverId = 'a' } = process;
  expect(await next(content, process)).toMatchObject({ ...loss, serverId });
});

test('a loss that another process noticed before the last use is a loss, also after one of this process', async () => {
  const { state, completeness } = await start(found, {});
  completeness.note('swapped', performance.now() - 100_000);
  for (const content of [null, lossOf(899_000)]) {
    state.entry = entryOf(content);
    completeness.note('basis', performance.now());
    await completeness.findBasis();
  }
  expect(JSON.parse(state.entry?.text ?? '')).toMatchObject({ since: now, lossAt: now });
});

const complete = { level: 30, msg: 'idempotency store is complete' };
/** The operator has to know until when keys without an age are rejected. */
const lost = (quarantineEnd: number) => ({
  level: 50,
  msg: 'idempotency store may have lost records',
  quarantineEnd: new Date(quarantineEnd).toISOString(),
});

test.each<[string, Content, Parameters<typeof start>[1], object]>([
  ['a store without a loss', found, {}, complete],
  ['a loss that others found, in its quarantine', lossEndingAt(now + 1), {}, lost(now + 1)],
  ['a loss whose quarantine is over', lossEndingAt(now), {}, complete],
  ['a loss that it finds itself', found, { serverId: 'b' }, lost(now + QUARANTINE_MS)],
  ['a loss without a quarantine', found, { serverId: 'b', quarantineMs: 0 }, lost(now)],
])('a process that starts logs %s', async (_, content, process, line) => {
  const { lines } = await start(content, process);
  expect(lines).toMatchObject([line]);
});

test('a process that runs logs the loss that another one found, even after the quarantine', async () => {
  const { state, completeness, lines } = await start(found, {});
  state.entry = entryOf(lossEndingAt(now - 1));
  completeness.note('basis', performance.now());
  await completeness.findBasis();
  expect(lines).toMatchObject([complete, lost(now - 1)]);
});

test('a server that has all records of the one before only changes the name', async () => {
  const content = await next(found, { ...user, serverId: 'b' }, ['a']);
  expect(content).toEqual({ ...found, serverId: 'b' });
});

test.each(['b', 'before'])(
  'a server that has all records of "%s", but not of the one that this process knows, is a loss',
  async (serverId) => {
    const content = await next({ ...found, serverId }, { ...user, serverId: 'b' }, ['before']);
    expect(content).toMatchObject({ since: now, lossAt: now, serverId: 'b' });
  },
);

test('the instance that starts last decides for how long records are kept', async () => {
  const longer = { retentionMs: 60_000 };
  const earlier = { since: now - 10_000, longerSince: now, earlierRetentionMs: 10_000 };
  expect(await next(found, longer)).toEqual({ ...found, ...longer, ...earlier });
  expect(await next(found, { ...user, ...longer })).toEqual(found);
  expect(await next(found, { retentionMs: 1 })).toEqual({ ...found, retentionMs: 1 });
});

/** Judges a key that arrived `heldMs` ago, by a record with times that are so long ago. */
async function judge(
  {
    sinceMs = 3_600_000,
    quarantineMs = 0,
    lossMs = NaN,
    retentionMs = 7_200_000,
    longerMs = 3_600_000,
    earlierRetentionMs = 0,
  },
  ageMs?: number,
  heldMs = 0,
) {
  const present = Date.now();
  const times = {
    since: present - sinceMs,
    quarantineEnd: present + quarantineMs,
    lossAt: Number.isNaN(lossMs) ? null : present - lossMs,
    longerSince: present - longerMs,
  };
  const content = { ...found, ...times, retentionMs, earlierRetentionMs };
  const { completeness } = await start(content, { retentionMs }, present);
  return completeness.judge({ ageMs, receivedAt: performance.now() - heldMs });
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
  [
    'with the retention before',
    { longerMs: 0, earlierRetentionMs: 100_000 },
    80_000,
    0,
    'forgotten',
  ],
  ['with less', { longerMs: 0, earlierRetentionMs: 100_000 }, 60_000, 0, 'new'],
  ['from after the change', { longerMs: 90_000, earlierRetentionMs: 1000 }, 50_000, 0, 'new'],
])('an intent %s: %j, %s, %s: %s', async (_, record, ageMs, heldMs, verdict) => {
  expect(await judge(record, ageMs, heldMs)).toBe(verdict);
});
