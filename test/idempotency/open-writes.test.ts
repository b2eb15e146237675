import { expect, jest, test } from '@jest/globals';
import { OpenWrites } from '../../src/idempotency/open-writes.ts';
import { poll } from '../../src/lib/poll.ts';

test('updates of one caller that are repeated leave room for those of another', async () => {
  const error = jest.fn();
  const openWrites = new OpenWrites({ info() {}, warn() {}, error }, 1000);
  const ended: string[] = [];
  let isDown = true;
  const update = (caller: string) =>
    openWrites.update(
      caller,
      async () => {
        if (isDown) throw new Error('down');
      },
      6_000_000,
      () => ended.push(caller),
    );
  for (const caller of ['a', 'a', 'a', 'b']) await update(caller);
  await new Promise(setImmediate);
  expect([ended, error.mock.calls.length]).toEqual([['a'], 1]);
  const closing = openWrites.close();
  await new Promise(setImmediate);
  expect(ended).toEqual(['a']); // The last attempt before the end has failed.
  isDown = false;
  await closing;
  expect([ended.toSorted(), error.mock.calls.length]).toEqual([['a', 'a', 'a', 'b'], 1]);
});

test('closing waits for a first attempt', async () => {
  const openWrites = new OpenWrites({ info() {}, warn() {}, error() {} }, 1000);
  const { promise, resolve } = Promise.withResolvers<void>();
  const events: string[] = [];
  void openWrites.update(
    'a',
    () => promise,
    0,
    () => events.push('updated'),
  );
  const closing = openWrites.close().then(() => events.push('closed'));
  await new Promise(setImmediate);
  resolve();
  await closing;
  expect(events).toEqual(['updated', 'closed']);
});

test('the last attempt is at the deadline', async () => {
  const deadline = performance.now() + 60; // Between two delays.
  // Known a little earlier: the deadline may pass right after an attempt just before it.
  const attempt = async () => (performance.now() < deadline - 5 ? null : 'known');
  expect(await poll(attempt, deadline, new AbortController().signal)).toBe('known');
});
