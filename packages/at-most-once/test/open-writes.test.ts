import { expect, jest, test } from '@jest/globals';
import { claimOf } from '../../../testkit/claims.ts';
import { until } from '../../../testkit/eventually.ts';
import { type OpenWrite, OpenWrites } from '../src/open-writes.ts';
import { pollAgain } from '../src/poll.ts';

/** Opens a write whose outcome takes two bytes for each character: 6 MB by default. */
function open(openWrites: OpenWrites, caller: string, length = 3_000_000): OpenWrite {
  const write = openWrites.begin(claimOf('key', 'owner', { caller }));
  write.record = { outcome: 'x'.repeat(length) };
  return write;
}

test('updates of one caller that are repeated leave room for those of another', async () => {
  const error = jest.fn();
  const openWrites = new OpenWrites({ info() {}, warn() {}, error }, 1000);
  const callers = () => openWrites.of('key').map(({ claim }) => claim.caller);
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

test('after an outage, there is room for the updates of the next one', async () => {
  const error = jest.fn();
  const openWrites = new OpenWrites({ info() {}, warn() {}, error }, 1000);
  for (let outage = 0; outage < 3; outage++) {
    let isDown = true;
    const update = async () => {
      if (isDown) throw new Error('down');
    };
    for (let n = 0; n < 2; n++) await openWrites.update('a', update, open(openWrites, 'a'));
    isDown = false;
    await until(() => openWrites.of('key').length === 0);
  }
  expect(error).not.toHaveBeenCalled();
  await openWrites.close();
});

test('keys to release take the room of their caller in an outage, too', async () => {
  const error = jest.fn();
  const openWrites = new OpenWrites({ info() {}, warn() {}, error }, 0);
  const fail = async () => {
    throw new Error('down');
  };
  // Together, they leave 17 KB of the half that one caller may hold.
  const outcomes = Array.from({ length: 2 }, () => open(openWrites, 'a', 4_190_000));
  for (const outcome of outcomes) await openWrites.update('a', fail, outcome);
  expect(error).not.toHaveBeenCalled();
  for (let n = 0; n < 20; n++) await openWrites.update('a', fail);
  expect(error).toHaveBeenCalled();
  await openWrites.close();
});

test('closing waits for a first attempt', async () => {
  const openWrites = new OpenWrites({ info() {}, warn() {}, error() {} }, 1000);
  const { promise, resolve } = Promise.withResolvers<void>();
  void openWrites.update('a', () => promise, open(openWrites, 'a'));
  const closing = openWrites.close();
  await new Promise(setImmediate);
  const before = openWrites.of('key').length;
  resolve();
  await closing;
  expect([before, openWrites.of('key')]).toEqual([1, []]);
});

test('the last attempt is at the deadline', async () => {
  const deadline = performance.now() + 60; // Between two delays.
  // Known a little earlier: the deadline may pass right after an attempt just before it.
  const attempt = async () => (performance.now() < deadline - 5 ? null : 'known');
  expect(await pollAgain(attempt, deadline, new AbortController().signal)).toBe('known');
});
