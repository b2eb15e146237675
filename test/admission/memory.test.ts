import { expect, jest, test } from '@jest/globals';
import { shareMemory } from '../../src/admission/free-memory.ts';
import { Gate } from '../../src/admission/gate.ts';
import { Memory, Reservation } from '../../src/admission/memory.ts';

const LIMIT = 10_000_000;

test('a small request is not booked, and a large one as a whole', async () => {
  const memory = new Memory(LIMIT);
  const reservation = new Reservation(memory, 'a');
  await reservation.reserve(65_536);
  expect(memory.held).toBe(0);
  expect(reservation.tryReserve(1)).toBe(true);
  expect(memory.held).toBe(65_537);
  reservation.resize(100_000);
  expect(memory.held).toBe(100_000);
  reservation.resize(60_000);
  expect(memory.held).toBe(0);
  await reservation.reserve(1_000_000);
  expect(memory.held).toBe(1_060_000);
  reservation.close();
  reservation.close();
  expect(memory.held).toBe(0);
});

test('a caller holds at most a half, and what it could never hold does not wait', async () => {
  const memory = new Memory(LIMIT);
  const first = new Reservation(memory, 'a');
  expect(first.tryReserve(4_900_000)).toBe(true);
  expect(first.tryReserve(200_000)).toBe(false);
  await expect(first.reserve(6_000_000)).rejects.toMatchObject({
    code: 'OPERATION_LIMIT_EXCEEDED',
  });
});

test('a request waits for memory, and gives back what it gets after its end', async () => {
  const memory = new Memory(LIMIT);
  const first = new Reservation(memory, 'a');
  const second = new Reservation(memory, 'a');
  const third = new Reservation(memory, 'a');
  await first.reserve(4_000_000);
  const granted = second.reserve(3_000_000);
  const late = third.reserve(2_000_000);
  third.close();
  first.close();
  await Promise.all([granted, late]);
  expect(memory.held).toBe(3_000_000);
});

test('a request that waits for memory is rejected in time, or when its client disconnects', async () => {
  jest.useFakeTimers();
  const memory = new Memory(LIMIT);
  await new Reservation(memory, 'a').reserve(5_000_000);
  const late = new Reservation(memory, 'a').reserve(100_000);
  const client = new AbortController();
  const disconnected = new Reservation(memory, 'a').reserve(100_000, client.signal);
  client.abort();
  jest.advanceTimersByTime(2000);
  jest.useRealTimers();
  await expect(late).rejects.toMatchObject({ code: 'OVERLOADED' });
  await expect(disconnected).rejects.toMatchObject({ code: 'CLIENT_DISCONNECTED' });
  expect([memory.waiting, memory.held]).toEqual([0, 5_000_000]);
});

test('unread responses are dropped when their memory is needed: of others only by a caller within its share', async () => {
  jest.useFakeTimers({ now: 0 });
  const memory = new Memory(LIMIT);
  const dropped: string[] = [];
  const unread = (caller: string, name: string, bytes: number) => {
    const since = performance.now();
    const reservation = new Reservation(memory, caller, {
      places: new Gate({ limit: 1 }),
      isOverdue: () => performance.now() - since >= 1000,
      disconnect: () => dropped.push(name),
    });
    expect(reservation.tryReserve(bytes)).toBe(true);
  };
  unread('a', 'first', 1_000_000);
  unread('b', 'of b', 1_000_000);
  unread('a', 'second', 3_000_000);
  const c = new Reservation(memory, 'c');
  expect(c.tryReserve(1_800_000)).toBe(true);
  const b = new Reservation(memory, 'b');
  expect(b.tryReserve(1_500_000)).toBe(false); // Nothing is overdue yet.
  jest.advanceTimersByTime(1000);
  expect(b.tryReserve(1_500_000)).toBe(true);
  expect(dropped).toEqual(['first']);
  expect(new Reservation(memory, 'a').tryReserve(2_500_000)).toBe(true);
  expect(dropped).toEqual(['first', 'second']);
  jest.useRealTimers();
});

test('a request that is dropped to make room for itself holds nothing any more', () => {
  const memory = new Memory(LIMIT);
  const places = new Gate({ limit: 1 });
  const client = { places, isOverdue: () => true, disconnect() {} };
  const reservation = new Reservation(memory, 'a', client);
  reservation.resize(4_000_000);
  expect(reservation.tryReserve(4_000_000)).toBe(false);
  expect(reservation.tryReserve(1_000_000)).toBe(false);
  expect(memory.held).toBe(0);
});

test('the place of an overdue client is given to others, once, and not after its request has ended', () => {
  const memory = new Memory(LIMIT);
  const places = new Gate({ limit: 1, idle: memory.idle });
  const disconnect = jest.fn();
  const open = () => {
    expect(places.tryEnter('a')).toBe(true);
    return new Reservation(memory, 'a', { places, isOverdue: () => true, disconnect });
  };
  open();
  open().close();
  expect(disconnect).toHaveBeenCalledTimes(1);
  expect([places.tryEnter('a'), places.tryEnter('a')]).toEqual([true, false]);
  expect(disconnect).toHaveBeenCalledTimes(1);
});

test('parts of a request that wait for memory at the same time are booked once', async () => {
  const memory = new Memory(LIMIT);
  const first = new Reservation(memory, 'a');
  await first.reserve(4_900_000);
  const reservation = new Reservation(memory, 'a');
  expect(reservation.tryReserve(60_000)).toBe(true);
  const parts = Array.from({ length: 50 }, () => reservation.reserve(10_000));
  first.close();
  await Promise.all(parts);
  expect(memory.held).toBe(560_000);
  reservation.close();
  expect(memory.held).toBe(0);
});

test('requests and a store in memory together leave three eighths of what is free', () => {
  expect(shareMemory(400)).toEqual({ store: 50, requests: 200 });
  expect(shareMemory(2 ** 40).store).toBe(2 ** 28);
});
