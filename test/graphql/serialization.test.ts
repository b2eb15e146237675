import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { serialize } from '../../src/graphql/serialization.ts';

const noWait = () => undefined;

test('a result is serialized as JSON.stringify does it', async () => {
  const values = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 }));
  const bytes = fc.constantFrom(1, 300_000, 10_000_000);
  const property = fc.asyncProperty(values, bytes, async (data, bytes) => {
    const result = { errors: undefined, data };
    expect(String(await serialize(result, bytes, noWait))).toBe(JSON.stringify(result));
  });
  await fc.assert(property);
});

const codes = (count: number, name: string) =>
  Array.from({ length: count }, (_, n) => ({ code: String(n), name }));
const names = Array.from({ length: 30 }, (_, n) => `a${n}`);

test.each([
  ['a list of many codes', { data: { glCodes: { codes: codes(50_000, 'Travel') } } }],
  ['a list of long texts', { data: { glCodes: { codes: codes(2_000, `${'x'.repeat(1000)}€`) } } }],
  ['outcomes of writes', { data: Object.fromEntries(names.map((n) => [n, 'x'.repeat(100_000)])) }],
  ['settled writes', { data: { settled: { writes: codes(50, 'x'.repeat(100_000)) } } }],
])('%s take a turn for each 200 KB', async (_, result) => {
  const text = JSON.stringify(result);
  const turns: number[] = [];
  const turn = (bytes: number) => void turns.push(bytes);
  const serialized = await serialize(result, text.length, turn);
  expect(serialized.equals(Buffer.from(text))).toBe(true);
  expect(turns.length).toBeGreaterThan(text.length / 500_000);
  expect(Math.max(...turns)).toBeLessThan(500_000);
});
