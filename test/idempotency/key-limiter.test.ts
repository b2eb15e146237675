import { setImmediate as immediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { createKeyLimiter } from '../../src/idempotency/idempotency.ts';
import { claimsOn } from '../../testkit/claims.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { TestStore } from '../../testkit/store.ts';

test('the claims of one caller leave exchanges with the store to others', async () => {
  const store = new TestStore();
  const { find, close } = claimsOn(store, { limiter: createKeyLimiter() });
  closeAfterTest(close);
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
