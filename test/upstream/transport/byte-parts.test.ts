import { expect, test } from '@jest/globals';
import { ByteParts } from '../../../src/upstream/transport/byte-parts.ts';

test.each([0, 1, 2, 1023, 1024, 1025, 5000])('joins %d parts in their order', (count) => {
  const parts = new ByteParts();
  for (let n = 0; n < count; n++) parts.add(Buffer.from(`${n},`));
  const expected = Array.from({ length: count }, (_, n) => `${n},`).join('');
  expect(Buffer.from(parts.join()).toString()).toBe(expected);
});

test('a single part is not copied', () => {
  const part = Buffer.from('abc');
  const parts = new ByteParts();
  parts.add(part);
  expect(parts.join()).toBe(part);
});
