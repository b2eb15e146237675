import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { TaskQueue } from '../../src/lib/task-queue.ts';

const THRESHOLD = 1000;

test('short work does not wait', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const order: string[] = [];
  const later = immediate().then(() => order.push('next iteration of the event loop'));
  await queue.slot(THRESHOLD - 1, 'start');
  order.push('short work');
  await later;
  expect(order).toEqual(['short work', 'next iteration of the event loop']);
});

test('long work waits, and the event loop runs between two tasks', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const order: string[] = [];
  const run = async (name: string) => {
    await queue.slot(THRESHOLD, 'start');
    order.push(name);
    setImmediate(() => order.push(`after ${name}`));
  };
  setImmediate(() => order.push('before'));
  await Promise.all([run('first'), run('second'), run('third')]);
  await immediate();
  const names = ['first', 'second', 'third'];
  expect(order).toEqual(['before', ...names.flatMap((name) => [name, `after ${name}`])]);
});

test('work to finish a request runs before work to start another', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const order: string[] = [];
  const requests = ['a', 'b', 'c'].map(async (name) => {
    await queue.slot(THRESHOLD, 'start');
    order.push(`${name} starts`);
    await queue.slot(THRESHOLD, 'finish');
    order.push(`${name} finishes`);
  });
  await Promise.all(requests);
  const expected = ['a', 'b', 'c'].flatMap((name) => [`${name} starts`, `${name} finishes`]);
  expect(order).toEqual(expected);
});

test('work that fails does not stop other work', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const failing = queue.slot(THRESHOLD, 'start').then(() => {
    throw new Error('failed');
  });
  const other = queue.slot(THRESHOLD, 'start').then(() => 'done');
  await expect(failing).rejects.toThrow('failed');
  expect(await other).toBe('done');
});

test('aborted work is rejected at once and never runs', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const started: string[] = [];
  const run = async (name: string, signal?: AbortSignal) => {
    await queue.slot(THRESHOLD, 'start', signal);
    started.push(name);
  };
  const controller = new AbortController();
  const cancelled = run('cancelled', controller.signal);
  const kept = run('kept', new AbortController().signal);
  controller.abort('no longer wanted');
  await expect(cancelled).rejects.toBe('no longer wanted');
  expect(started).toEqual([]);
  await expect(run('late', controller.signal)).rejects.toBe('no longer wanted');
  await kept;
  expect(started).toEqual(['kept']);
});

test('a signal aborted after the slot was granted has no effect', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const controller = new AbortController();
  await queue.slot(THRESHOLD, 'start', controller.signal);
  controller.abort();
  await expect(queue.slot(THRESHOLD, 'finish')).resolves.toBeUndefined();
});

test('an aborted signal rejects short work as well', async () => {
  const queue = new TaskQueue(THRESHOLD);
  await expect(queue.slot(1, 'start', AbortSignal.abort('aborted'))).rejects.toBe('aborted');
});
