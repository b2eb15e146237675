import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { JsonTextCutter } from '../../src/lib/json-text-cutter.ts';
import { SHORT_TEXT } from '../../src/lib/short-text.ts';

/** Cuts a document that arrives in parts of so many bytes. */
function cut(json: string, partBytes = 65_536): string {
  const bytes = Buffer.from(json);
  const cutter = new JsonTextCutter();
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += partBytes) {
    parts.push(cutter.cut(bytes.subarray(at, at + partBytes)));
  }
  return Buffer.concat(parts).toString();
}

/** A value whose texts are cut after 10,000 characters. */
function cutValue(value: unknown): unknown {
  if (typeof value === 'string') {
    const characters = Array.from(value);
    return characters.length <= SHORT_TEXT ? value : `${characters.slice(0, SHORT_TEXT).join('')}…`;
  }
  if (Array.isArray(value)) return value.map(cutValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cutValue(item)]));
}

test.each([
  ['of 10,000 characters', 'x'.repeat(10_000)],
  ['of 10,001', 'x'.repeat(10_001)],
  ['of many bytes each', '東'.repeat(10_001)],
  ['with a surrogate pair at the end', `${'x'.repeat(9999)}🏭🏭`],
  ['of escape sequences', '\\"\n'.repeat(10_000)],
  ['that ends with a backslash', `${'x'.repeat(10_001)}\\`],
  ['with quotes after the cut', `${'x'.repeat(10_000)}","status":1,"x":"`],
])('a text %s is cut, whatever its parts', (_, text) => {
  const value = { text, status: 0, list: [text, 'short', 1.5, null] };
  const json = JSON.stringify(value);
  for (const partBytes of [1, 2, 3, 10_003, 65_536]) {
    expect(JSON.parse(cut(json, partBytes))).toEqual(cutValue(value));
  }
});

test('escape sequences are not split', () => {
  const escaped = `{"text":"${'\\u6771'.repeat(10_001)}","status":0}`;
  for (const partBytes of [1, 4, 7, 65_536]) {
    expect(JSON.parse(cut(escaped, partBytes))).toEqual({
      text: `${'東'.repeat(10_000)}…`,
      status: 0,
    });
  }
});

test('a document without long texts is unchanged', () => {
  fc.assert(
    fc.property(fc.json(), fc.integer({ min: 1, max: 20 }), (json, partBytes) => {
      expect(cut(json, partBytes)).toBe(json);
    }),
  );
});
