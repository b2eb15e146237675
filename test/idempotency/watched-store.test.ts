import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import {
  type Change,
  type IdempotencyStore,
  StoreUnavailable,
  type UnavailableReason,
} from '../../src/idempotency/store.ts';
import { watchStore } from '../../src/idempotency/watched-store.ts';

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
});

afterEach(() => {
  jest.useRealTimers();
});

/** A store that fails as it is told, and what is logged about it. */
function start() {
  const lines: string[] = [];
  const add = (details: object) => lines.push(Object.values(details).join() || 'up');
  let failures: { read?: UnavailableReason; change?: UnavailableReason; claim?: UnavailableReason };
  const fail = (use: keyof typeof failures) => {
    const reason = failures[use];
    if (reason !== undefined) throw new StoreUnavailable(reason);
  };
  const store: IdempotencyStore = {
    sizeOf: async () => 0,
    async read() {
      fail('read');
      return { entry: null, now: 0, serverId: 'a' };
    },
    async swap({ needsRoom }) {
      fail(needsRoom ? 'claim' : 'change');
      return true;
    },
    isContinuation: () => true,
    exclusiveSince: -Infinity,
    usage: undefined,
    close: async () => {},
  };
  const watched = watchStore(store, { info: add, warn: add, error: add });
  const swap = (needsRoom: boolean) =>
    watched.swap({ needsRoom, caller: 'caller' } as Change).catch(() => {});
  return {
    lines,
    /** Uses the store in each way, a while after the last use. */
    async use([failing, ms = 11_000]: [typeof failures, number?]) {
      failures = failing;
      jest.advanceTimersByTime(ms);
      await watched.read('key').catch(() => {});
      await swap(false);
      await swap(true);
    },
  };
}

const down = { read: 'unreachable', change: 'unreachable', claim: 'unreachable' } as const;

test('each transition is logged once, also when the store fails again soon after', async () => {
  const { lines, use } = start();
  const loading = { ...down, read: 'loading' as const };
  for (const failing of [{}, down, down, {}, {}, down, loading, {}]) await use([failing]);
  expect(lines).toEqual(['unreachable', 'up', 'unreachable', 'loading', 'up']);
});

test('a store that can be read, or changed, but takes no claims is not up', async () => {
  const { lines, use } = start();
  const timeout = { change: 'timeout', claim: 'timeout' } as const;
  for (const failing of [timeout, { claim: 'full' as const }]) await use([failing, 9000]);
  for (let n = 0; n < 5; n++) await use([{ claim: 'full' }, 9000]);
  await use([{}]);
  expect(lines).toEqual(['timeout', 'full', 'up']);
});

test('a caller without room is no failure of the store, and is logged once a minute', async () => {
  const { lines, use } = start();
  for (let n = 0; n < 8; n++) await use([{ claim: 'share' }]);
  expect(lines).toEqual(['caller', 'caller']);
});

test('a store that is not connected yet is not down', async () => {
  const { lines, use } = start();
  for (const failing of [{ read: 'connecting' as const }, {}]) await use([failing]);
  expect(lines).toEqual([]);
});
