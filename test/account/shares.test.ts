import { expect, test } from '@jest/globals';
import { Shares } from '../../src/account/shares.ts';

test('a caller takes all but a quarter, and another one finds its quarter', () => {
  const shares = new Shares(8);
  while (shares.fits('a', 1)) shares.take('a', 1);
  expect(shares.total).toBe(6);
  expect(shares.maxPerCaller).toBe(6);
  while (shares.fits('b', 1)) shares.take('b', 1);
  expect(shares.total).toBe(8);
  shares.give('a', 1);
  expect([shares.fits('a', 1), shares.fits('b', 1), shares.fits('c', 1)]).toEqual([
    false,
    false,
    true,
  ]);
});

test('amounts count, not entries', () => {
  const shares = new Shares(100);
  expect([shares.fits('a', 75), shares.fits('a', 76)]).toEqual([true, false]);
  shares.take('a', 75);
  expect([shares.fits('b', 19), shares.fits('b', 20)]).toEqual([true, false]);
  expect([shares.isInShare('b', 25), shares.isInShare('b', 26)]).toEqual([true, false]);
});

test('whatever some callers take, the next one finds something', () => {
  const shares = new Shares(320);
  const taken = ['a', 'b', 'c', 'd'].map((caller) => {
    const before = shares.total;
    while (shares.fits(caller, 1)) shares.take(caller, 1);
    return shares.total - before;
  });
  expect(taken).toEqual([240, 60, 15, 4]);
});

test.each([1, 2])('with a limit of %i, one caller may take all', (limit) => {
  const shares = new Shares(limit);
  while (shares.fits('a', 1)) shares.take('a', 1);
  expect(shares.total).toBe(limit);
  shares.give('a', 1);
  expect(shares.total).toBe(limit - 1);
});
