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

test('the short form has the beginning of texts, on all levels', () => {
  const value = { text: 'abcdef', list: [123, 456], rows: [{ name: 'abc' }] };
  expect(shortForm(value, 6)).toEqual(value);
  expect(shortForm(value, 2)).toEqual({ text: 'ab…', list: [123, 456], rows: [{ name: 'ab…' }] });
});

test('a text is not cut within a character', () => {
  expect(shortForm('abc\u{1f600}', 4)).toBe('abc…');
  expect(shortForm('abc\u{1f600}d', 5)).toBe('abc\u{1f600}…');
});

test('a text for which there is no memory is in the short form', () => {
  const booked: number[] = [];
  const tryReserve = (bytes: number) => booked.push(bytes) === 1;
  const value = { text: 'x'.repeat(1_000_000) };
  expect(reserveOrShorten(value, { tryReserve })).toBe(value);
  expect(reserveOrShorten(value, { tryReserve })).toEqual({ text: `${'x'.repeat(10_000)}…` });
  expect(booked).toEqual([2_000_150, 2_000_150]);
});
