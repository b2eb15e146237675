import { expect, test } from '@jest/globals';
import { inTurn, pause } from '../src/turns.ts';

test('long work is done one at a time, with pauses for others, and failing ends no other', async () => {
  const done: string[] = [];
  const work = (name: string) =>
    inTurn(async () => {
      done.push(`${name} begins`);
      await pause();
      done.push(`${name} ends`);
      if (name === 'first') throw new Error('failed');
      return name;
    });
  const first = work('first');
  const second = work('second');
  setImmediate(() => done.push('others'));
  await expect(first).rejects.toThrow('failed');
  expect(await second).toBe('second');
  expect(done).toEqual(['others', 'first begins', 'first ends', 'second begins', 'second ends']);
});
