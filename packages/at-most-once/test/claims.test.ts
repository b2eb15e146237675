import { expect, jest, test } from '@jest/globals';
import { claimsOn } from '../../../testkit/claims.ts';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { RETENTION_MS, TestStore } from '../../../testkit/store.ts';

async function start() {
  const store = new TestStore();
  const { find, close } = claimsOn(store);
  closeAfterTest(close);
  await find('first', { ageMs: 0 });
  return { store, find };
}

test('a write is not orphaned while the store fails, in which its sender cannot release it', async () => {
  let isFailing = true;
  const store = new TestStore();
  const { find, claim, settle, release, close } = claimsOn(store, { isFailing: () => isFailing });
  closeAfterTest(close);
  for (const key of ['released', 'lost']) await claim(key, 'sender', { ageMs: 0, leaseMs: 0 });
  expect(await find('released')).toBe('in-flight');
  expect(await settle('lost')).toMatchObject({ writes: [{ state: 'in-flight' }] });
  await release('released', 'sender');
  isFailing = false;
  expect(await find('released')).toBe('claimed');
  expect(await find('lost')).toBe('orphaned');
});

test('a change that others always precede is given up after five seconds', async () => {
  const { store, find } = await start();
  const now = performance.now.bind(performance);
  const swap = jest.spyOn(store, 'swap').mockResolvedValue('other');
  const time = jest.spyOn(performance, 'now');
  closeAfterTest(() => time.mockRestore());
  time.mockImplementation(() => now() + swap.mock.calls.length * 1000);
  expect(await find('key', { ageMs: 0 })).toBe('busy');
  expect(swap.mock.calls.length).toBeLessThan(10);
});

test('a settlement is not made as complete if its change is late, and a record of the key has come and expired meanwhile', async () => {
  const now = performance.now.bind(performance);
  let passedMs = 0;
  const time = jest.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
  closeAfterTest(() => time.mockRestore());
  const store = new TestStore();
  const late = claimsOn(store);
  const other = claimsOn(store);
  for (const { close } of [late, other]) closeAfterTest(close);
  for (const { find } of [late, other]) await find('first');
  const age = { ageMs: 0, receivedAt: performance.now() };

  const { swap } = store;
  const [arrived, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  jest.spyOn(store, 'swap').mockImplementationOnce(async (change) => {
    arrived.resolve();
    await end.promise;
    return swap.call(store, change);
  });
  const settling = late.settle('key', 0);
  settling.catch(() => {});
  await arrived.promise;
  expect(await other.claim('key', 'sender', age)).toEqual({ state: 'claimed' });
  await other.record('key', 'sender', 'outcome');
  passedMs += RETENTION_MS;
  end.resolve();
  await expect(settling).rejects.toMatchObject({ reason: 'busy' });
  const repeat = { ageMs: RETENTION_MS, receivedAt: performance.now() };
  expect(await other.find('key', repeat)).toBe('orphaned');
});

test('a repeat at the end of the retention is not executed if the record expires just before its change is made', async () => {
  const start = performance.now();
  let passedMs = 0;
  const time = jest.spyOn(performance, 'now').mockImplementation(() => start + passedMs);
  closeAfterTest(() => time.mockRestore());
  const store = new TestStore();
  const { find, claim, record, close } = claimsOn(store);
  closeAfterTest(close);
  await find('first');
  passedMs = 60_000;
  await claim('key', 'sender', { ageMs: 0 });
  await record('key', 'sender', 'outcome');
  passedMs += RETENTION_MS - 1500;
  await find('another'); // From now on, a change is valid for 30 s.
  const { swap } = store;
  jest.spyOn(store, 'swap').mockImplementationOnce(async (change) => {
    passedMs += 2000;
    return swap.call(store, change);
  });
  // It was on its way for 29.5 s.
  expect(await find('key', { ageMs: RETENTION_MS - 31_000 })).toBe('outcome');
});

test('a key whose write was not sent is free, also after its lease, unless it was reported as orphaned', async () => {
  const store = new TestStore();
  const { find, claim, settle, release, close } = claimsOn(store);
  closeAfterTest(close);
  for (const key of ['late', 'reported', 'settled']) {
    await claim(key, 'sender', { ageMs: 0, leaseMs: 0 });
  }
  expect(await find('reported')).toBe('orphaned');
  expect(await settle('settled', 0)).toMatchObject({ writes: [{ state: 'orphaned' }] });
  for (const key of ['late', 'reported', 'settled']) await release(key, 'sender');
  expect(await find('late')).toBe('claimed');
  expect(await find('reported')).toBe('settled');
  expect(await settle('settled', 0)).toEqual({ writes: [], isComplete: true });
});

const HOUR_MS = 3_600_000;
test.each([
  ['back by a second', -1000, 'in-flight'],
  ['back by an hour', -HOUR_MS, 'orphaned'],
  ['forward by a second', 1000, 'in-flight'],
  ['forward by an hour', HOUR_MS, 'orphaned'],
])('a claim, and then a clock of the store that is set %s (%d ms): %s', async (_, ms, state) => {
  let now = 0;
  const retentionMs = 24 * HOUR_MS;
  const store = new TestStore({ retentionMs, clock: () => now });
  const before = claimsOn(store, { retentionMs });
  await before.settle('other');
  now = 2 * HOUR_MS;
  const { find, claim, record, settle, close } = claimsOn(store, { retentionMs });
  closeAfterTest(async () => {
    await before.close();
    await close();
  });
  await claim('key', 'sender', { ageMs: 0 });
  now += ms;
  expect(await settle('key', 0)).toMatchObject({ writes: [{ state }] });
  expect(await find('key')).toBe(state);
  await record('key', 'sender', 'outcome');
  expect(await find('key')).toBe('outcome');
});
