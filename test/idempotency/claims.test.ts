import { setImmediate as immediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { SqliteStore } from '../../src/idempotency/sqlite-store.ts';
import { claimsOn, RETENTION_MS } from '../support/claims.ts';
import { closeAfterTest } from '../support/cleanup.ts';

test('the claims of one caller leave exchanges with the store to others', async () => {
  const limits = { retentionMs: RETENTION_MS, maxKeys: 1000, maxBytes: 2 ** 30 };
  const store = new SqliteStore({ path: ':memory:', ...limits });
  const { find, close } = claimsOn(store);
  closeAfterTest(close);
  await find('first', { ageMs: 0 });
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
  while (waiting < 48) await immediate();
  expect(await find('other', { caller: 'other', ageMs: 0 })).toBe('claimed');
  expect(waiting).toBe(48);
  end.resolve();
  expect(await Promise.all(claims)).toEqual(Array(100).fill('claimed'));
});
