import { expect, test } from '@jest/globals';
import { Pending } from '../src/pending.ts';

test('it tells how much is under way, and when nothing is, whatever became of it', async () => {
  const pending = new Pending();
  await pending.none();
  const [first, second, late] = [1, 2, 3].map(() => Promise.withResolvers<void>());
  if (!first || !second || !late) throw new Error('unreachable');
  const caught = pending.track(first.promise).catch(() => {});
  pending.track(second.promise);
  expect(pending.size).toBe(2);

  let none = 0;
  const waiters = [pending.none(), pending.none()].map((one) => one.then(() => (none += 1)));
  first.reject(new Error('failed'));
  await caught;
  expect(pending.size).toBe(1);
  second.promise.then(() => pending.track(late.promise));
  second.resolve();
  await second.promise;
  expect([pending.size, none]).toEqual([1, 0]);
  late.resolve();
  await Promise.all(waiters);
  expect([pending.size, none]).toEqual([0, 2]);
});
