import { setImmediate as immediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { SqliteStore } from '../../src/idempotency/sqlite-store.ts';
import { claimsOn, SQLITE_LIMITS } from '../support/claims.ts';
import { closeAfterTest } from '../support/cleanup.ts';

async function start() {
  const store = new SqliteStore({ path: ':memory:', ...SQLITE_LIMITS });
  const { find, close } = claimsOn(store);
  closeAfterTest(close);
  await find('first', { ageMs: 0 });
  return { store, find };
}

test('the claims of one caller leave exchanges with the store to others', async () => {
  const { store, find } = await start();
  const { swap } = store;
  const end = Promise.withResolvers<void>();
  let waiting = 0;
  jest.spyOn(store, 'swap').mockImplementation(async (change) => {
    if (change.caller === 'busy') {
      waiting += 1;
      await end.promise;
    }
    return swap.call(store, change);
  });
  const claims = Array.from({ length: 100 }, (_, n) => find(`${n}`, { caller: 'busy', ageMs: 0 }));
  while (waiting < 32) await immediate();
  expect(await find('other', { caller: 'other', ageMs: 0 })).toBe('claimed');
  expect(waiting).toBe(32);
  end.resolve();
  expect(await Promise.all(claims)).toEqual(Array(100).fill('claimed'));
});

test('a write is not orphaned while the store fails, in which its sender cannot release it', async () => {
  let isFailing = true;
  const store = new SqliteStore({ path: ':memory:', ...SQLITE_LIMITS });
  const { find, claim, settle, release, close } = claimsOn(store, { isFailing: () => isFailing });
  closeAfterTest(close);
  for (const key of ['released', 'lost']) await claim(key, 'sender', { ageMs: 0, leaseMs: 0 });
  expect(await find('released')).toBe('in-flight');
  expect(await settle('lost')).toMatchObject({ writes: [{ state: 'in-flight' }] });
  await release('released', 'sender');
  isFailing = false;
  expect(await find('released')).toBe('IDEMPOTENCY_KEY_SETTLED');
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
