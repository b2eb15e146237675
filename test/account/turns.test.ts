import { expect, test } from '@jest/globals';
import { Turns } from '../../src/account/turns.ts';

/** Runs work of these sizes, and returns in which iteration of the event loop each of it ran. */
async function iterations(turns: Turns, works: [caller: string, bytes: number][]) {
  let iteration = 0;
  let isOver = false;
  const count = () => {
    iteration += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const ran = works.map(async ([caller, bytes]) => {
    await turns.take(caller, bytes);
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

test('several short lists share an iteration, and another caller does not wait behind them', async () => {
  const lists = Array.from({ length: 130 }, () => ['a', 60_000] as [string, number]);
  const ran = await iterations(new Turns(), [...lists, ['b', 60_000]]);
  expect(ran.at(-1)).toBe(0);
  expect(ran.slice(0, 48)).toEqual(Array(48).fill(0));
  expect(Math.max(...ran)).toBeGreaterThan(1);
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
    code: 'OVERLOADED',
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
