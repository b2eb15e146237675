import { expect, test } from '@jest/globals';
import { parseWithBigInt } from '../../dev/bigint-json.ts';
import { bodyCheck, queryReader } from '../../dev/strict-types.ts';
import {
  decimal,
  double,
  identifier,
  list,
  optional,
  record,
} from '../../src/upstream/wire-types.ts';

const type = record({ id: identifier, amount: decimal, rate: optional(double) });
const isBody = bodyCheck(type);
const readQuery = queryReader(type);

test.each([
  ['{"id":7,"amount":10.50}', true],
  ['{"id":9007199254740993,"amount":9007199254740993}', true],
  ['{"id":7,"amount":10.50,"rate":null}', true],
  ['{"id":7.5,"amount":10.50}', false],
  ['{"id":7,"amount":"10.50"}', false],
  ['{"id":7,"amount":null}', false],
])('a body with a decimal: %s', (body, isValid) => {
  expect(isBody(parseWithBigInt(body))).toBe(isValid);
});

test('a query with decimals and doubles', () => {
  const read = { id: 7, amount: 10.5, rate: 0.5 };
  expect(readQuery({ id: '7', amount: '10.50', rate: '0.5' })).toEqual(read);
  expect(readQuery({ id: '7', amount: 'x' })).toBeUndefined();
  expect(readQuery({ id: '7.5', amount: '10.50' })).toBeUndefined();
});

test('a list in a query, with one item or several', () => {
  const read = queryReader(record({ ids: optional(list(identifier)) }));
  expect([read({ ids: '7' }), read({ ids: ['7', '8'] }), read({})]).toEqual([
    { ids: [7] },
    { ids: [7, 8] },
    {},
  ]);
  expect(read({ ids: ['7', 'x'] })).toBeUndefined();
});
