import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Lane } from '../../src/admission/lane.ts';

type Work = [caller: string, ms?: number];

/** Keeps this thread busy for so many milliseconds of its CPU time. */
function work(ms: number): void {
  const begin = process.threadCpuUsage();
  const isBusy = () => {
    const { user, system } = process.threadCpuUsage(begin);
    return user + system < ms * 1000;
  };
  while (isBusy());
}

/** Runs work that takes so long, and returns in which iteration of the event loop each of it ran, all else taking `otherMs`. */
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
    await immediate(); // As the data of different connections, not all in one microtask.
    await lane.take(caller, since);
    work(ms);
    return iteration;
  });
  const result = await Promise.all(ran);
  isOver = true;
  return result;
}

test('short work shares an iteration, until it has taken some milliseconds', async () => {
  const quick = Array.from({ length: 100 }, (): Work => ['a']);
  expect(new Set(await iterations(new Lane(), quick)).size).toBeLessThan(20);
  const slow = Array.from({ length: 9 }, (): Work => ['a', 10]);
  expect(new Set(await iterations(new Lane(), slow)).size).toBe(9);
});

test('work may take as long in an iteration as all else, such as rejections, did', async () => {
  const works = Array.from({ length: 24 }, (): Work => ['a', 4]);
  const alone = new Set(await iterations(new Lane(), works));
  const beside = new Set(await iterations(new Lane(), works, 40));
  expect(beside.size).toBeLessThan(alone.size * 0.75);
});

test('a caller rests after long work, for longer the longer it took', async () => {
  const [, first = 0, , second = 0] = await iterations(new Lane(), [
    ['a', 20],
    ['a', 60],
    ['b', 1],
    ['a', 1],
  ]);
  expect(first).toBeGreaterThanOrEqual(3);
  expect(second - first).toBeGreaterThanOrEqual(7);
});

test('work of another caller does not wait behind that of one', async () => {
  const works = Array.from({ length: 9 }, (): Work => ['a', 10]);
  const ran = await iterations(new Lane(), [...works, ['b', 10], ['b', 10]]);
  expect(Math.max(...ran.slice(9))).toBeLessThan(Math.max(...ran.slice(0, 9)));
});

test('what follows from a turn belongs to it, until it has taken some milliseconds', async () => {
  const lane = new Lane();
  expect(lane.take('a', 0)).toBeUndefined();
  await Promise.resolve();
  expect(lane.take('a', 0)).toBeUndefined();
  work(9);
  const next = lane.take('a', 0);
  expect(next).toBeInstanceOf(Promise);
  await expect(next).resolves.toBeUndefined();
});

test('work that is not wanted any more does not wait', async () => {
  const lane = new Lane();
  lane.take('a', 0);
  const controller = new AbortController();
  const waiting = lane.take('b', 0, controller.signal);
  controller.abort();
  const disconnected = { code: 'CLIENT_DISCONNECTED' };
  await expect(waiting).rejects.toMatchObject(disconnected);
  lane.take('a', 0);
  await expect(lane.take('b', 0, AbortSignal.abort())).rejects.toMatchObject(disconnected);
});

test('of one caller, the work of the oldest request goes first, whenever it asks for its turn', async () => {
  const lane = new Lane();
  const order: number[] = [];
  lane.take('other', 0);
  const take = async (since: number) => {
    await lane.take('a', since);
    order.push(since);
  };
  await Promise.all([take(9), take(3), take(1), take(2)]);
  expect(order).toEqual([1, 2, 3, 9]);
});
