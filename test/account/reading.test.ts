import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Reading } from '../../src/account/reading.ts';

test('so many parts are read in an iteration of the event loop, and callers take turns with the others', async () => {
  const reading = new Reading(1);
  const order: string[] = [];
  const read = async (caller: string) => {
    await reading.take(caller);
    order.push(caller);
  };
  expect(reading.take('a')).toBeUndefined();
  const all = Promise.all([read('a'), read('a'), read('b')]);
  expect(order).toEqual([]);
  await all;
  expect(order).toEqual(['a', 'b', 'a']);
  await immediate();
  await immediate();
  expect(reading.take('a')).toBeUndefined();
});

test('a part that is not wanted any more does not wait', async () => {
  const reading = new Reading(1);
  reading.take('a');
  const controller = new AbortController();
  const waiting = reading.take('b', controller.signal);
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'CLIENT_DISCONNECTED' });
});
