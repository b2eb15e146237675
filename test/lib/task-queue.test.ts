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
  const works = ['first', 'second', 'third'];
  expect(order).toEqual(['before', ...works.flatMap((name) => [name, `after ${name}`])]);
});

test('work of a later stage runs first', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const order: string[] = [];
  const stages = ['start', 'continue', 'finish', 'start', 'continue', 'finish'] as const;
  await Promise.all(stages.map((stage) => queue.run(THRESHOLD, stage, () => order.push(stage))));
  expect(order).toEqual(['finish', 'finish', 'continue', 'continue', 'start', 'start']);
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
    await queue.run(THRESHOLD, 'start', () => started.push(name), signal);
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

test('a signal aborted after the work has started has no effect', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const controller = new AbortController();
  const work = async () => {
    controller.abort();
    await immediate();
    return 'done';
  };
  expect(await queue.run(THRESHOLD, 'start', work, controller.signal)).toBe('done');
  await expect(queue.slot(THRESHOLD, 'finish')).resolves.toBeUndefined();
});

test('asynchronous work ends before the next starts', async () => {
  const queue = new TaskQueue(THRESHOLD);
  const order: string[] = [];
  const run = (name: string) =>
    queue.run(THRESHOLD, 'start', async () => {
      order.push(`${name} starts`);
      for (let n = 0; n < 10; n++) await immediate();
      order.push(`${name} ends`);
    });
  await Promise.all([run('a'), run('b')]);
  expect(order).toEqual(['a starts', 'a ends', 'b starts', 'b ends']);
});

/** Nine short tasks, one more than run in an iteration of the event loop. */
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
const [first, last] = [names.slice(0, 8), 'i'];

test('much short work in one iteration of the event loop waits', async () => {
  const queue = new TaskQueue(5000);
  const order: string[] = [];
  const run = (name: string) => queue.run(4500, 'start', () => order.push(name));
  const works = names.map(run);
  setImmediate(() => order.push('next iteration'));
  await Promise.all(works);
  expect(order).toEqual([...first, 'next iteration', last]);
  const finish = queue.slot(4500, 'finish').then(() => order.push('finish'));
  const later = run('later'); // Another iteration, in which there is little work.
  await Promise.all([finish, later]);
  expect(order.slice(10).sort()).toEqual(['finish', 'later']);
});

test('short work that arrives later does not overtake, and several tasks run in one turn', async () => {
  const queue = new TaskQueue(5000);
  const order: string[] = [];
  const run = (name: string) => queue.run(4500, 'start', () => order.push(name));
  const earlier = names.map(run);
  await immediate();
  const later = ['j', 'k'].map(run);
  setImmediate(() => order.push('next iteration'));
  await Promise.all([...earlier, ...later]);
  expect(order).toEqual([...first, 'next iteration', last, 'j', 'k']);
});

test('an aborted signal rejects short work as well', async () => {
  const queue = new TaskQueue(THRESHOLD);
  await expect(queue.run(1, 'start', () => {}, AbortSignal.abort('aborted'))).rejects.toBe(
    'aborted',
  );
});
