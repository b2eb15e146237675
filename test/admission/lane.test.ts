import { beforeEach, expect, jest, test } from '@jest/globals';
import { Lane } from '../../src/admission/lane.ts';

/** The globals of Node, which the lane uses (support/native-environment.js). */
declare const native: typeof globalThis;

type Work = [caller: string, ms?: number];

/** The time of both clocks in milliseconds. Only work takes time. */
let now = 0;
beforeEach(() => {
  now = 0;
  jest.spyOn(native.performance, 'now').mockImplementation(() => now);
  const cpuTime = () => ({ user: now * 1000, system: 0 });
  jest.spyOn(native.process, 'threadCpuUsage').mockImplementation(cpuTime);
});

function work(ms: number): void {
  now += ms;
}

/**
 * Runs work of different requests that takes so long, and returns in which iteration of the event loop each of it ran. All else
 * takes `otherMs` in each iteration.
 */
async function iterations(lane: Lane, works: Work[], otherMs = 0): Promise<number[]> {
  let iteration = 0;
  let isOver = false;
  const count = () => {
    iteration += 1;
    work(otherMs);
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const ran = works.map(async ([caller, ms = 0], since) => {
    await lane.turn(caller, since);
    work(ms);
    return iteration;
  });
  const result = await Promise.all(ran);
  isOver = true;
  return result;
}

// They all ask in one microtask, as requests do that one response of the service continues.
test('short work of several requests shares an iteration, and long work does not', async () => {
  const short = Array.from({ length: 100 }, (): Work => ['a', 0.01]);
  expect(new Set(await iterations(new Lane(), short)).size).toBe(1);
  const long = Array.from({ length: 9 }, (): Work => ['a', 10]);
  expect(new Set(await iterations(new Lane(), long)).size).toBe(9);
});

test('work may take as long in an iteration as all else did in the one before', async () => {
  const works = Array.from({ length: 24 }, (): Work => ['a', 1]);
  const alone = new Set(await iterations(new Lane(), works));
  const beside = new Set(await iterations(new Lane(), works, 10));
  expect([alone.size, beside.size]).toEqual([12, 4]);
});

test('a caller rests after long work, an iteration for each millisecond', async () => {
  const [, first = 0, , second = 0] = await iterations(new Lane(), [
    ['a', 5],
    ['a', 60],
    ['b', 1],
    ['a', 1],
  ]);
  expect(first).toBeGreaterThanOrEqual(5);
  expect(second - first).toBeGreaterThanOrEqual(60);
});

test('work of another caller does not wait behind that of one', async () => {
  const works = Array.from({ length: 9 }, (): Work => ['a', 10]);
  const ran = await iterations(new Lane(), [...works, ['b', 10], ['b', 10]]);
  expect(Math.max(...ran.slice(9))).toBeLessThan(Math.max(...ran.slice(0, 9)));
});

test('what a request does after its turn belongs to it, until it has taken some milliseconds', async () => {
  const lane = new Lane();
  expect(lane.turn('a', 0)).toBeUndefined();
  await Promise.resolve();
  expect(lane.turn('a', 0)).toBeUndefined();
  expect(lane.turn('a', 1)).toBeInstanceOf(Promise);
  work(9);
  const next = lane.turn('a', 0);
  expect(next).toBeInstanceOf(Promise);
  await expect(next).resolves.toBeUndefined();
});

test('work that is not wanted any more does not wait', async () => {
  const lane = new Lane();
  lane.turn('a', 0);
  const controller = new AbortController();
  const waiting = lane.turn('b', 0, controller.signal);
  controller.abort();
  const disconnected = { code: 'CLIENT_DISCONNECTED' };
  await expect(waiting).rejects.toMatchObject(disconnected);
  lane.turn('a', 0);
  await expect(lane.turn('b', 0, AbortSignal.abort())).rejects.toMatchObject(disconnected);
});

test('of one caller, the work of the oldest request goes first, whenever it asks for its turn', async () => {
  const lane = new Lane();
  const order: number[] = [];
  lane.turn('other', 0);
  const take = async (since: number) => {
    await lane.turn('a', since);
    order.push(since);
  };
  await Promise.all([take(9), take(3), take(1), take(2)]);
  expect(order).toEqual([1, 2, 3, 9]);
});
