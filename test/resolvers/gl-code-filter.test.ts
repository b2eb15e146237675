import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { filterCodes } from '../../src/resolvers/gl-code-filter.ts';

const item = (code: string | null, name: string | null = null, value: string | null = null) => {
  return { code, name, value };
};

test('any filter keeps what a plain one does', () => {
  const text = fc.option(fc.string({ unit: fc.constantFrom('a', 'B', 'b', '.'), maxLength: 4 }));
  const property = fc.property(
    fc.array(fc.tuple(text, text, text), { maxLength: 12 }),
    fc.option(fc.array(fc.constantFrom('a', 'b', 'ab', ''), { maxLength: 3 })),
    text,
    (texts, only, search) => {
      const codes = texts.map(([code, name, value]) => item(code, name, value));
      const contains = (text: string | null) =>
        text?.toLowerCase().includes(search?.toLowerCase() ?? '') ?? false;
      const kept = codes.filter(
        ({ code, name, value }) =>
          (!only || only.some((allowed) => allowed === code)) &&
          (!search || [code, name, value].some(contains)),
      );
      expect(filterCodes(codes, { only, search })).toEqual(kept);
    },
  );
  fc.assert(property);
});

test.each([
  ['Zürich', 'ZÜRICH'],
  ['ΟΔΟΣΑ', 'οδος'],
  ['Straße', 'STRAẞE'],
  ['a.*b', 'A.*'],
  ['🏭 Дом', 'дом'],
  ['\ud800 code', 'CODE'],
])('%j contains %j', (text, search) => {
  expect(filterCodes([item(null, text)], { search })).toHaveLength(1);
});

test.each([
  ['a.b', 'axb'],
  ['axb', 'a.b'],
  ['İstanbul', 'istanbul'],
])('%j does not contain %j', (text, search) => {
  expect(filterCodes([item(text)], { search })).toEqual([]);
});
