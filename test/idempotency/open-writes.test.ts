import { expect, jest, test } from '@jest/globals';
import { type OpenWrite, OpenWrites } from '../../src/idempotency/open-writes.ts';
import { poll } from '../../src/lib/poll.ts';
import { claimOf } from '../../testkit/claims.ts';

/** Opens a write whose outcome takes 6 MB. */
function open({ writes }: OpenWrites, caller: string): OpenWrite {
  const response = { invoiceId: null, message: 'x'.repeat(3_000_000), status: 0 };
  const claim = claimOf('key', 'owner', { caller });
  const write: OpenWrite = { claim, outcome: { operation: 'upgradeToHQ', response } };
  writes.push(write);
  return write;
}

test('updates of one caller that are repeated leave room for those of another', async () => {
  const error = jest.fn();
  const openWrites = new OpenWrites({ info() {}, warn() {}, error }, 1000);
  const callers = () => openWrites.writes.map(({ claim }) => claim.caller);
  let isDown = true;
  const update = async () => {
    if (isDown) throw new Error('down');
  };
  for (const caller of ['a', 'a', 'a', 'b']) {
    await openWrites.update(caller, update, open(openWrites, caller));
  }
  await new Promise(setImmediate);
  expect([callers(), error.mock.calls.length]).toEqual([['a', 'a', 'b'], 1]);
  const closing = openWrites.close();
  await new Promise(setImmediate);
  expect(callers()).toEqual(['a', 'a', 'b']); // The last attempt before the end has failed.
  isDown = false;
  await closing;
  expect([callers(), error.mock.calls.length]).toEqual([[], 1]);
});

test('closing waits for a first attempt', async () => {
  const openWrites = new OpenWrites({ info() {}, warn() {}, error() {} }, 1000);
  const { promise, resolve } = Promise.withResolvers<void>();
  void openWrites.update('a', () => promise, open(openWrites, 'a'));
  const closing = openWrites.close();
  await new Promise(setImmediate);
  const before = openWrites.writes.length;
  resolve();
  await closing;
  expect([before, openWrites.writes]).toEqual([1, []]);
});

test('the last attempt is at the deadline', async () => {
  const deadline = performance.now() + 60; // Between two delays.
  // Known a little earlier: the deadline may pass right after an attempt just before it.
  const attempt = async () => (performance.now() < deadline - 5 ? null : 'known');
  expect(await poll(attempt, deadline, new AbortController().signal)).toBe('known');
});
