import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cut, filterCodes } from '../../src/resolvers/gl-code-filter.ts';

type Filter = Parameters<typeof filterCodes>[1];

/** The result, and the number of steps that it took. */
function filter(codes: Parameters<typeof filterCodes>[0], args: Partial<Filter>) {
  const running = filterCodes(codes, { skip: 0, ...args });
  for (let steps = 1; ; steps++) {
    const { done, value } = running.next();
    if (done) return { ...value, steps };
  }
}

const item = (code: string | null, name: string | null = null, value: string | null = null) => {
  return { code, name, value };
};

test('any filter keeps, counts and cuts as a plain one does', () => {
  const text = fc.option(fc.string({ unit: fc.constantFrom('a', 'B', 'b', '.'), maxLength: 4 }));
  const property = fc.property(
    fc.array(fc.tuple(text, text, text), { maxLength: 12 }),
    fc.option(fc.array(fc.constantFrom('a', 'b', 'ab', ''), { maxLength: 3 })),
    text,
    fc.nat(4),
    fc.option(fc.nat(4)),
    (texts, only, search, skip, first) => {
      const codes = texts.map(([code, name, value]) => item(code, name, value));
      const contains = (text: string | null) =>
        text?.toLowerCase().includes(search?.toLowerCase() ?? '') ?? false;
      const kept = codes.filter(
        ({ code, name, value }) =>
          (!only || only.some((allowed) => allowed === code)) &&
          (!search || [code, name, value].some(contains)),
      );
      const page = kept.slice(skip, first === null ? undefined : skip + first);
      const expected = { codes: page, totalCount: kept.length, steps: 1 };
      expect(filter(codes, { only, search, skip, first })).toEqual(expected);
      expect(cut(kept, { skip, first })).toEqual(page);
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
  expect(filter([item(null, text)], { search }).totalCount).toBe(1);
});

test.each([
  ['a.b', 'axb'],
  ['axb', 'a.b'],
  ['İstanbul', 'istanbul'],
])('%j does not contain %j', (text, search) => {
  expect(filter([item(text)], { search }).totalCount).toBe(0);
});

test.each([
  [
    '250,000 codes by a text',
    Array.from({ length: 250_000 }, (_, n) => item(`C${n}`, `General ledger code ${n}`)),
    { search: 'x' },
    100,
  ],
  [
    '250,000 codes by code',
    Array<ReturnType<typeof item>>(250_000).fill(item('a')),
    { only: ['b'] },
    60,
  ],
  ['one long text', [item('a'.repeat(16_000_000))], { search: 'x' }, 80],
])('a search of %s takes many steps', (_, codes, args, least) => {
  expect(filter(codes, args)).toMatchObject({ totalCount: 0 });
  expect(filter(codes, args).steps).toBeGreaterThan(least);
});

test('a long text is found wherever its parts are searched', () => {
  for (let before = 199_990; before <= 200_010; before++) {
    const text = `${'x'.repeat(before)}ledger${'x'.repeat(300_000)}`;
    expect(filter([item(text)], { search: 'LEDGER' }).totalCount).toBe(1);
  }
});
