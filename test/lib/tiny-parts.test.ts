import { expect, test } from '@jest/globals';
import { freeParts, joinParts } from '../../src/lib/tiny-parts.ts';

/** Parts of 20,000 bytes, each the view of a buffer of its own. */
const ownParts = (count: number) =>
  Array.from({ length: count }, (_, n) => Buffer.from(new ArrayBuffer(20_000)).fill(n));

const lengthsOf = (parts: Buffer[]) => parts.map(({ length }) => length);

test('joined parts are freed but for the latest, of which the rest may not be parsed yet', () => {
  const parts = ownParts(3);
  const all = joinParts(parts);
  expect(all).toEqual(Buffer.concat(ownParts(3)));
  freeParts(parts); // Once more, as after a response that was received in vain.
  expect(lengthsOf(parts)).toEqual([0, 0, 20_000]);
});

test('a single part is not copied, and not freed', () => {
  const parts = ownParts(1);
  expect(joinParts(parts)).toBe(parts[0]);
  expect(lengthsOf(parts)).toEqual([20_000]);
});

test('parts that share a buffer with the latest, or may share one with others, are not freed', () => {
  const [first, second] = ownParts(2);
  if (!first || !second) throw new Error('no parts');
  // The pool of Node cannot be freed.
  const pooled = [
    Buffer.from('short'),
    Buffer.concat([Buffer.alloc(10_000), Buffer.alloc(10_000)]),
  ];
  const parts = [first.subarray(0, 18_000), first, ...pooled, second.subarray(0, 18_000), second];
  freeParts(parts);
  expect(lengthsOf(parts)).toEqual([0, 0, 5, 20_000, 18_000, 20_000]);
});
