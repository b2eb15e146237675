import { expect, test } from '@jest/globals';
import { parseExactly } from '../../src/lib/exact-json.ts';

test.each([
  ['9007199254740993', '9007199254740993'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['9007199254740992', 9007199254740992],
  ['20000000000000000', 20000000000000000],
  ['0.1234567890123456789', Number('0.1234567890123456789')],
  ['12345678901234567.5', Number('12345678901234567.5')],
  ['1e-1234567890123456', 0],
  ['1234567890123456789e2', Number('1234567890123456789e2')],
])(
  'parses the number %s, as text if it is an integer that a double would change',
  (text, value) => {
    expect(parseExactly(`{"a":${text}}`)).toEqual({ a: value });
    expect(parseExactly(`[ ${text},${text}\n,[${text}] ]`)).toEqual([value, value, [value]]);
  },
);

test.each([
  'say \\"a\\", 9007199254740993',
  'a\\\\',
  ': 9007199254740993 \\\\\\" ,',
  ',9007199254740993,',
])('does not change digits inside the string "%s"', (content) => {
  const text = `{"a":"${content}","b":9007199254740993,"${content}":1}`;
  expect(parseExactly(text)).toEqual({
    ...(JSON.parse(`{"a":"${content}","${content}":1}`) as object),
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
])('rejects %s, which is not JSON', (text) => {
  expect(() => parseExactly(text)).toThrow(SyntaxError);
});

test('parses sixteen megabytes of small values next to a large integer', () => {
  const text = `[9007199254740993${',1'.repeat(8_000_000)}]`;
  expect(parseExactly(text)).toHaveLength(8_000_001);
});
