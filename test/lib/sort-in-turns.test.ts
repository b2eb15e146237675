import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sortInTurns } from '../../src/lib/sort-in-turns.ts';

test('a list is sorted as by the standard library, in turns, and equal items stay in their order', async () => {
  const lists = [0, 1, 2, 511, 512, 513, 1024, 5000].map((length) =>
    fc
      .sample(fc.tuple(fc.nat(20), fc.nat()), { numRuns: Math.max(length, 1), seed: length })
      .slice(0, length),
  );
  for (const list of lists) {
    let turns = 0;
    const compare = ([a]: [number, number], [b]: [number, number]) => a - b;
    const turn = async () => {
      turns += 1;
    };
    expect(await sortInTurns(list, compare, turn)).toEqual(list.toSorted(compare));
    expect(turns).toBeGreaterThanOrEqual(list.length / 512);
  }
});
