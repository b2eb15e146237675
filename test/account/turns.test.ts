import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { Turns } from '../../src/account/turns.ts';

const nextTick = promisify(process.nextTick);

type Work = [caller: string, bytes: number, ms?: number];

/** Runs work of these sizes, and returns in which iteration of the event loop each of it ran. */
async function iterations(turns: Turns, works: Work[]) {
  let iteration = 0;
  let isOver = false;
  const count = () => {
    iteration += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const ran = works.map(async ([caller, bytes, ms = 0]) => {
    await turns.take(caller, bytes);
    const end = performance.now() + ms;
    while (performance.now() < end);
    return iteration;
  });
  const result = await Promise.all(ran);
  isOver = true;
  return result;
}

test('negligible work does not wait, and long work runs one at a time, with pauses', async () => {
  const [first = 0, second = 0, small = 0, third = 0] = await iterations(new Turns(), [
    ['a', 1_000_000],
    ['a', 1_000_000],
    ['a', 1000],
    ['b', 1_000_000],
  ]);
  expect([first, small]).toEqual([0, 0]);
  expect(second - first).toBeGreaterThanOrEqual(3);
  expect(third - second).toBeGreaterThanOrEqual(3);
});

test('short work shares an iteration, until it has taken some milliseconds', async () => {
  const quick = Array.from({ length: 100 }, (): Work => ['a', 60_000]);
  const iterationsOfQuick = new Set(await iterations(new Turns(), quick));
  expect(iterationsOfQuick.size).toBeLessThan(100);
  const slow = Array.from({ length: 9 }, (): Work => ['a', 60_000, 10]);
  const iterationsOfSlow = new Set(await iterations(new Turns(), slow));
  expect(iterationsOfSlow.size).toBe(9);
});

test('what runs in an iteration beside short work does not count', async () => {
  const turns = new Turns();
  await turns.take('a', 60_000);
  await nextTick();
  await nextTick(); // It has left.
  const end = performance.now() + 20;
  while (performance.now() < end);
  expect(turns.take('a', 60_000)).toBeUndefined();
});

test('short work that is not done in its turn counts by its estimate', async () => {
  const later = Array.from({ length: 9 }, (): Work => ['a', 450_000]);
  const iterationsOfLater = new Set(await iterations(new Turns(), later));
  expect(iterationsOfLater.size).toBeGreaterThanOrEqual(4);
});

test('short work of another caller does not wait behind that of one', async () => {
  const works = Array.from({ length: 9 }, (): Work => ['a', 60_000, 10]);
  const ran = await iterations(new Turns(), [...works, ['b', 60_000, 10], ['b', 60_000, 10]]);
  expect(ran.slice(9).map((iteration) => iteration <= 4)).toEqual([true, true]);
});

test.each([
  ['long work', 5_000_000, 400_000],
  ['short work of some size', 400_000, 50_000],
])(
  '%s is not kept waiting by smaller work of others, however much there is',
  async (_, bytes, less) => {
    const turns = new Turns();
    let isOver = false;
    const flow = async (caller: string) => {
      while (!isOver) await turns.take(caller, less);
    };
    const flows = Array.from({ length: 40 }, (_, n) => flow(`caller ${n >> 1}`));
    for (let n = 0; n < 2; n++) await turns.take('a', bytes);
    isOver = true;
    await expect(Promise.all(flows)).resolves.toHaveLength(40);
  },
);

test('work that is not wanted any more does not wait', async () => {
  const turns = new Turns();
  await turns.take('a', 1_000_000);
  const signal = AbortSignal.abort();
  await expect(turns.take('a', 1_000_000, { signal })).rejects.toMatchObject({
    code: 'CLIENT_DISCONNECTED',
  });
});

test('of one caller, the work of the oldest request goes first, whenever it asks for its turn', async () => {
  const turns = new Turns();
  const order: number[] = [];
  const take = async (since: number) => {
    await turns.take('a', 1_000_000, { since });
    order.push(since);
  };
  const takeTwice = async (since: number) => {
    await take(since);
    await take(since);
  };
  await Promise.all([take(9), take(3), takeTwice(1), take(2)]);
  expect(order).toEqual([9, 1, 1, 2, 3]);
});
