import { expect, test } from '@jest/globals';
import { RoundRobin } from '../../src/lib/round-robin.ts';

/** A queue with items that are named after their key, in this order of arrival. */
function queueOf(...items: string[]) {
  const queue = new RoundRobin<string>();
  const removals = items.map((item) => queue.add(item.charAt(0), item));
  return {
    queue,
    remove: (item: string) => removals[items.indexOf(item)]?.(),
    takeAll(isEligible: (key: string) => boolean = () => true): string[] {
      const taken: string[] = [];
      for (let item = queue.take(isEligible); item; item = queue.take(isEligible)) taken.push(item);
      return taken;
    },
  };
}

test('keys take turns, and items of a key keep their order', () => {
  const { takeAll } = queueOf('a1', 'a2', 'a3', 'b1', 'c1', 'c2');
  expect(takeAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
});

test('a key that is not eligible keeps its turn', () => {
  const { queue, takeAll } = queueOf('a1', 'b1', 'c1', 'a2');
  expect(queue.take((key) => key !== 'a')).toBe('b1');
  expect(takeAll()).toEqual(['a1', 'c1', 'a2']);
});

test('nothing is taken if no key is eligible', () => {
  const { takeAll } = queueOf('a1', 'b1');
  expect(takeAll(() => false)).toEqual([]);
  expect(takeAll()).toEqual(['a1', 'b1']);
});

test('a removed item is not taken', () => {
  const { queue, remove, takeAll } = queueOf('a1', 'a2', 'a3', 'b1', 'c1');
  for (const item of ['a2', 'b1', 'c1']) remove(item);
  expect(['a', 'b', 'c'].map((key) => queue.countOf(key))).toEqual([2, 0, 0]);
  queue.add('b', 'b2');
  expect(takeAll()).toEqual(['a1', 'b2', 'a3']);
  expect(queue.countOf('a')).toBe(0);
});
