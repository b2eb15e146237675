import { expect, test } from '@jest/globals';
import { FairShares } from '../../src/admission/fair-shares.ts';

test('a caller takes a half, and whatever others take, the next one finds half of the rest', () => {
  const shares = new FairShares(320);
  const taken = ['a', 'b', 'c', 'd'].map((caller) => {
    const before = shares.total;
    while (shares.fits(caller, 1)) shares.take(caller, 1);
    return shares.total - before;
  });
  expect([shares.maxPerCaller, ...taken]).toEqual([160, 160, 80, 40, 20]);
  shares.give('d', 1);
  expect(['c', 'd', 'e'].map((caller) => shares.fits(caller, 1))).toEqual([false, true, true]);
});

test('amounts count, not entries', () => {
  const shares = new FairShares(100);
  expect([shares.fits('a', 50), shares.fits('a', 51)]).toEqual([true, false]);
  shares.take('a', 50);
  expect([shares.fits('b', 25), shares.fits('b', 26)]).toEqual([true, false]);
  expect([shares.isInShare('b', 50), shares.isInShare('b', 51)]).toEqual([true, false]);
});
