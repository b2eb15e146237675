import { expect, test } from '@jest/globals';
import { bytesOf, reserveOrShorten, shortForm } from '../../src/lib/short-text.ts';

const numbers = Array<number>(1_000_000).fill(123_456);

test.each([
  ['a text', 'é'.repeat(1000), 2000],
  ['a list', numbers, 8_000_000],
  ['a list of objects', Array(1000).fill({ name: 'a' }), 152_000],
])('the memory of %s counts', (_, value, bytes) => {
  expect(bytesOf(value)).toBe(bytes);
});

test('the short form has the beginning of texts and lists, on all levels', () => {
  const value = { text: 'abcdef', list: [123, 456, 789], rows: [{ name: 'a' }, { name: 'b' }] };
  expect(shortForm(value, 13)).toEqual({
    text: 'abcdef',
    list: [123, 456, 789],
    rows: [{ name: 'a' }],
  });
  expect(shortForm(value, 4)).toEqual({ text: 'abcd…', list: [123], rows: [] });
  expect(JSON.stringify(shortForm({ numbers })).length).toBeLessThan(10_100);
});

test('a text is not cut within a character', () => {
  expect(shortForm('abc\u{1f600}', 4)).toBe('abc…');
  expect(shortForm('abc\u{1f600}d', 5)).toBe('abc\u{1f600}…');
});

test('a list for which there is no memory is in the short form', () => {
  const booked: number[] = [];
  const tryReserve = (bytes: number) => booked.push(bytes) === 1;
  const value = { numbers };
  expect(reserveOrShorten(value, { tryReserve })).toBe(value);
  expect(reserveOrShorten(value, { tryReserve })).toEqual(shortForm(value));
  expect(booked).toEqual([8_000_150, 8_000_150]);
});
