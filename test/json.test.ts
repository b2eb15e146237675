import { expect, test } from '@jest/globals';
import { parseExactly } from '../src/json.ts';

test.each([
  ['9007199254740993', '9007199254740993'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['9007199254740992', 9007199254740992],
  ['20000000000000000', 20000000000000000],
  ['0.1234567890123456789', Number('0.1234567890123456789')],
  ['12345678901234567.5', Number('12345678901234567.5')],
  ['1e-1234567890123456', 0],
  ['1234567890123456789e2', Number('1234567890123456789e2')],
])('%s is read without a change', (text, value) => {
  expect(parseExactly(`{"a":${text}}`)).toEqual({ a: value });
  expect(parseExactly(`[ ${text},${text}\n,[${text}] ]`)).toEqual([value, value, [value]]);
});

test.each([
  'say \\"a\\", 9007199254740993',
  'a\\\\',
  ': 9007199254740993 \\\\\\" ,',
  ',9007199254740993,',
])('digits inside the text %s stay as they are', (inside) => {
  const text = `{"a":"${inside}","b":9007199254740993,"${inside}":1}`;
  expect(parseExactly(text)).toEqual({
    ...(JSON.parse(`{"a":"${inside}","${inside}":1}`) as object),
    b: '9007199254740993',
  });
});

test.each([
  '{"a": 09007199254740993}',
  '{"a": 9007199254740993',
  '{"a": "9007199254740993}',
  '{"a": --9007199254740993}',
  '{12345678901234567: 1}',
  '{"a": 1, 12345678901234567 : 1}',
])('%s is no JSON', (text) => {
  expect(() => parseExactly(text)).toThrow(SyntaxError);
});

test('sixteen megabytes of small values beside a large integer are read', () => {
  const text = `[9007199254740993${',1'.repeat(8_000_000)}]`;
  expect(parseExactly(text)).toHaveLength(8_000_001);
});
