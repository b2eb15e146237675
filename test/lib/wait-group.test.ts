import { expect, test } from '@jest/globals';
import { WaitGroup } from '../../src/lib/wait-group.ts';

test('a wait group is idle when all work has settled, including work started while waiting', async () => {
  const group = new WaitGroup();
  await group.idle();
  const failing = Promise.withResolvers<void>();
  const succeeding = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  const failure = group.track(failing.promise).catch(() => {});
  group.track(succeeding.promise);

  let notified = 0;
  const waiters = [group.idle(), group.idle()].map((idle) => idle.then(() => (notified += 1)));
  failing.reject(new Error('failed'));
  await failure;

  succeeding.promise.then(() => group.track(late.promise));
  succeeding.resolve();
  await succeeding.promise;
  expect(notified).toBe(0);

  late.resolve();
  await Promise.all(waiters);
  expect(notified).toBe(2);
});
