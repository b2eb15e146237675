import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isExact, jsonLength, longNumber, parseJson, toJson } from '../../src/lib/json.ts';

const limits = { values: 10_000_000, composites: 100_000, nesting: 100 };
const parseExactly = (text: string) => parseJson(text, limits);

test('every number has its value, as a double or as its text', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 25 });
  const exponent = fc.option(fc.integer({ min: -400, max: 400 }));
  fc.assert(
    fc.property(digits, fc.option(digits), exponent, (whole, fraction, exponent) => {
      const integer = whole.replace(/^0+(?=\d)/, '');
      const text = `${integer}${fraction ? `.${fraction}` : ''}${exponent === null ? '' : `e${exponent}`}`;
      const value = parseExactly(text);
      const kept = longNumber(value) ?? String(value);
      expect(fractionOf(kept)).toEqual(fractionOf(text));
      if (!/[.e]/.test(text)) expect(kept).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

/** A number as a multiple of the 1,000th negative power of ten, which has no rounding. */
function fractionOf(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(1000 + Number(exponent) - fraction.length);
}

test('a number is exact if JavaScript prints its value, however it is written', () => {
  const zeros = fc.nat({ max: 30 }).map((count) => '0'.repeat(count));
  const double = fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => value !== 0);
  fc.assert(
    fc.property(double, zeros, fc.integer({ min: -9, max: 9 }), (value, added, shift) => {
      const [mantissa = '', exponent = ''] = value.toExponential().split('e');
      const [whole = '', fraction = ''] = mantissa.split('.');
      expect(isExact(`${whole}.${fraction}${added}0e${exponent}`)).toBe(true);
      expect(
        isExact(
          `${whole}${fraction}${added}.0E${Number(exponent) - fraction.length - added.length}`,
        ),
      ).toBe(true);
      const small = `${whole.replace(/\d/, '0')}.${added}${whole.replace('-', '')}${fraction}`;
      expect(isExact(`${small}e${Number(exponent) + added.length + 1}`)).toBe(true);
      // No double has more than 17 digits.
      const long = `${whole}.${fraction.padEnd(17, '0')}1e${shift}`;
      expect(isExact(long)).toBe(false);
    }),
    { numRuns: 2000 },
  );
  for (const text of ['0', '-0', '0.000', '0e999999999999', '100', '1e2'])
    expect(isExact(text)).toBe(true);
  for (const text of ['1e400', '-1e400', '1e-400', '9007199254740993'])
    expect(isExact(text)).toBe(false);
});

test.each([
  'say \\"a\\", 9007199254740993',
  'a\\\\',
  ': 9007199254740993 \\\\\\" ,',
  ',9007199254740993,',
  ':1e400,',
])('does not change digits inside the string "%s"', (content) => {
  const text = `{"b":9007199254740993,"a":"${content}","${content}":1,"c":9007199254740993}`;
  const { b, c, ...rest } = Object(parseExactly(text));
  expect([b, c].map(longNumber)).toEqual(['9007199254740993', '9007199254740993']);
  expect(rest).toEqual(JSON.parse(`{"a":"${content}","${content}":1}`));
});

const noNumbers = `09007199254740993 --9007199254740993 +9007199254740993 1.9007199254740993.0
  .9007199254740993 9007199254740993. 1e400e1 1e "9007199254740993`.split(/\s+/);

test.each([
  ...noNumbers.map((text) => `{"a": ${text}}`),
  '',
  '{"a":0} {"a":0}',
  '{"a": 9007199254740993',
  '{"a": 9007199254740993 9007199254740993}',
  '9007199254740993x',
  'x9007199254740993',
  '{12345678901234567: 1}',
  '{"a": 1, 12345678901234567 : 1}',
])('rejects %s, which is not JSON', (text) => {
  expect(() => parseExactly(text)).toThrow(SyntaxError);
});

test('parses megabytes of small values next to a large integer', () => {
  const text = `{"a":[9007199254740993${',1'.repeat(2_000_000)}]}`;
  expect(Object.values(Object(parseExactly(text)))[0]).toHaveLength(2_000_001);
});

test('keeps every long number of a list', () => {
  const numbers = Array.from({ length: 3000 }, (_, n) => `9007199254740993${n}`);
  expect(Object.values(Object(parseExactly(`[${numbers}]`))).map(longNumber)).toEqual(numbers);
});

test('rejects more than 300,000 long numbers', () => {
  expect(parseExactly(`[1${',1e-100'.repeat(300_000)}]`)).toHaveLength(300_001);
  const parse = () => parseExactly(`[1${',1e-100'.repeat(300_001)}]`);
  expect(parse).toThrow(expect.objectContaining({ name: 'JsonLimitExceeded', limit: 'values' }));
});

test('rejects long numbers with more than 6,000,000 characters together', () => {
  const numbers = (count: number) => `[1${`,${'1'.repeat(400)}`.repeat(count)}]`;
  expect(parseExactly(numbers(15_000))).toHaveLength(15_001);
  expect(() => parseExactly(numbers(15_001))).toThrow('too many values');
});

test('measures what JSON.stringify writes', () => {
  const property = fc.property(fc.jsonValue(), (value) => {
    expect(jsonLength(value)).toBe(Buffer.byteLength(JSON.stringify(value)));
    const result = { errors: undefined, data: value };
    expect(jsonLength(result)).toBe(Buffer.byteLength(JSON.stringify(result)));
  });
  fc.assert(property);
});

test('writes well-formed text, and otherwise what JSON.stringify writes', () => {
  const unit = fc.constantFrom(
    '\\',
    '"',
    'u',
    'd',
    '8',
    '\n',
    'a',
    '\ud83d',
    '\ude00',
    '\ud83d\ude00',
  );
  const property = fc.property(fc.array(fc.string({ unit })), (texts) => {
    const wellFormed = texts.map((text) => text.toWellFormed());
    expect(toJson(texts)).toBe(JSON.stringify(wellFormed));
  });
  fc.assert(property);
});

test.each([
  ['values', '[1,2,{"a":3}]', 5],
  ['composites', '[[],{},[]]', 4],
  ['nesting', '[[{}]]', 3],
])('limits the %s in %s to %d', (limit, text, count) => {
  expect(parseJson(text, { ...limits, [limit]: count })).toBeDefined();
  const parse = () => parseJson(text, { ...limits, [limit]: count - 1 });
  expect(parse).toThrow(expect.objectContaining({ name: 'JsonLimitExceeded', limit }));
});
