import { expect, jest, test } from '@jest/globals';
import { Account } from '../../src/account/account.ts';
import { shareMemory } from '../../src/account/free-memory.ts';
import { Gate } from '../../src/account/gate.ts';

const LIMIT = 10_000_000;

test('a small request is not booked, and a large one as a whole', async () => {
  const account = new Account(LIMIT);
  const holding = account.open('a');
  await holding.hold(65_536);
  expect(account.held).toBe(0);
  expect(holding.tryHold(1)).toBe(true);
  expect(account.held).toBe(65_537);
  holding.become(100_000);
  expect(account.held).toBe(100_000);
  holding.become(60_000);
  expect(account.held).toBe(0);
  await holding.hold(1_000_000);
  expect(account.held).toBe(1_060_000);
  holding.close();
  holding.close();
  expect(account.held).toBe(0);
});

test('a caller holds at most a half, and what it could never hold does not wait', async () => {
  const account = new Account(LIMIT);
  const first = account.open('a');
  expect(first.tryHold(4_900_000)).toBe(true);
  expect(first.tryHold(200_000)).toBe(false);
  await expect(first.hold(6_000_000)).rejects.toMatchObject({ code: 'OPERATION_LIMIT_EXCEEDED' });
});

test('a request waits for memory, and gives back what it gets after its end', async () => {
  const account = new Account(LIMIT);
  const first = account.open('a');
  const second = account.open('a');
  const third = account.open('a');
  await first.hold(4_000_000);
  const granted = second.hold(3_000_000);
  const late = third.hold(2_000_000);
  third.close();
  first.close();
  await Promise.all([granted, late]);
  expect(account.held).toBe(3_000_000);
});

test('a request that waits for memory is rejected in time, or when its client disconnects', async () => {
  jest.useFakeTimers();
  const account = new Account(LIMIT);
  await account.open('a').hold(5_000_000);
  const late = account.open('a').hold(100_000);
  const client = new AbortController();
  const disconnected = account.open('a').hold(100_000, client.signal);
  client.abort();
  jest.advanceTimersByTime(2000);
  jest.useRealTimers();
  await expect(late).rejects.toMatchObject({ code: 'OVERLOADED' });
  await expect(disconnected).rejects.toMatchObject({ code: 'CLIENT_DISCONNECTED' });
  expect([account.waiting, account.held]).toEqual([0, 5_000_000]);
});

test('unread responses are dropped when their memory is needed: of others only by a caller within its share', async () => {
  jest.useFakeTimers({ now: 0 });
  const account = new Account(LIMIT);
  const dropped: string[] = [];
  const unread = (caller: string, name: string, bytes: number) => {
    const holding = account.open(caller);
    expect(holding.tryHold(bytes)).toBe(true);
    const since = performance.now();
    holding.waitForClient({
      isOverdue: () => performance.now() - since >= 1000,
      disconnect: () => dropped.push(name),
    });
  };
  unread('a', 'first', 1_000_000);
  unread('b', 'of b', 1_000_000);
  unread('a', 'second', 3_000_000);
  const c = account.open('c');
  expect(c.tryHold(1_800_000)).toBe(true);
  const b = account.open('b');
  expect(b.tryHold(1_500_000)).toBe(false); // Nothing is overdue yet.
  jest.advanceTimersByTime(1000);
  expect(b.tryHold(1_500_000)).toBe(true);
  expect(dropped).toEqual(['first']);
  expect(account.open('a').tryHold(2_500_000)).toBe(true);
  expect(dropped).toEqual(['first', 'second']);
  jest.useRealTimers();
});

test('nothing is dropped if that would not be enough', () => {
  const account = new Account(LIMIT);
  account.open('a').become(6_000_000);
  const unread = account.open('b');
  unread.become(1_000_000);
  const disconnect = jest.fn();
  unread.waitForClient({ isOverdue: () => true, disconnect });
  expect(account.open('c').tryHold(LIMIT - 6_500_000)).toBe(false);
  expect(disconnect).not.toHaveBeenCalled();
});

test('a request that is dropped to make room for itself holds nothing any more', () => {
  const account = new Account(LIMIT);
  const holding = account.open('a');
  holding.become(4_000_000);
  holding.waitForClient({ isOverdue: () => true, disconnect() {} });
  expect(holding.tryHold(4_000_000)).toBe(false);
  expect(holding.tryHold(1_000_000)).toBe(false);
  expect(account.held).toBe(0);
});

test('a request that has ended is not dropped later', () => {
  const places = new Gate({ limit: 1 });
  places.tryEnter('a');
  const holding = new Account(LIMIT).open('a', places);
  const disconnect = jest.fn();
  holding.close();
  holding.waitForClient({ isOverdue: () => true, disconnect });
  expect([places.tryEnter('a'), places.tryEnter('a')]).toEqual([true, false]);
  expect(disconnect).not.toHaveBeenCalled();
});

test('parts of a request that wait for memory at the same time are booked once', async () => {
  const account = new Account(LIMIT);
  const first = account.open('a');
  await first.hold(4_900_000);
  const holding = account.open('a');
  expect(holding.tryHold(60_000)).toBe(true);
  const parts = Array.from({ length: 50 }, () => holding.hold(10_000));
  first.close();
  await Promise.all(parts);
  expect(account.held).toBe(560_000);
  holding.close();
  expect(account.held).toBe(0);
});

test('requests and a store in memory together fit into the container, and only requests into the heap', () => {
  const free = { heap: 1000, container: 400 };
  expect(shareMemory(true, free)).toEqual({ store: 100, requests: 150 });
  expect(shareMemory(false, free)).toEqual({ store: 0, requests: 200 });
  expect(shareMemory(true, { heap: 100, container: 1000 }).requests).toBe(50);
  expect(shareMemory(true, { heap: 2 ** 40, container: 2 ** 40 }).store).toBe(2 ** 28);
});
