import { expect, test } from '@jest/globals';
import { AdmissionQueue } from '../../src/http/admission-queue.ts';

/** The number of requests in progress while the event loop is late. */
const CONCURRENCY = 64;
const late = { delayMs: 200, utilization: 1, elapsedMs: 50 };
const busy = { delayMs: 50, utilization: 1, elapsedMs: 50 };
const idle = { delayMs: 1, utilization: 0.5, elapsedMs: 50 };

/** A queue, and the numbers of the requests that it has started. */
function createQueue() {
  const queue = new AdmissionQueue();
  const started: number[] = [];
  return {
    queue,
    started,
    enter(from: number, count: number) {
      for (let n = from; n < from + count; n++) queue.enter(() => started.push(n) > 0);
    },
    /** A queue whose event loop is late, with as many requests in progress as it allows. */
    fill() {
      queue.sample(late);
      queue.sample(late);
      this.enter(0, CONCURRENCY);
    },
  };
}

test('requests start at once, however many, unless the event loop is late in two consecutive samples', () => {
  const { queue, started, enter } = createQueue();
  queue.sample(late);
  queue.sample(busy);
  queue.sample(late);
  enter(0, 1000);
  expect(started).toHaveLength(1000);
  expect(queue.isFull).toBe(false);
});

test('while the event loop is late, requests wait and start in their order as others end', () => {
  const set = createQueue();
  const { queue, started } = set;
  set.fill();
  set.enter(CONCURRENCY, 3);
  expect(started).toHaveLength(CONCURRENCY);
  expect(queue.waiting).toBe(3);
  queue.leave();
  queue.leave();
  expect(started.slice(CONCURRENCY)).toEqual([CONCURRENCY, CONCURRENCY + 1]);
  // Busy, but not late: neither more nor fewer.
  queue.sample(busy);
  expect(queue.waiting).toBe(1);
});

test('a blocked event loop, whose delay is not a number, is late', () => {
  const { queue, enter } = createQueue();
  queue.sample({ ...late, delayMs: Number.NaN });
  queue.sample({ ...late, delayMs: Number.NaN });
  enter(0, CONCURRENCY + 1);
  expect(queue.waiting).toBe(1);
});

test('a delay that other processes cause is no overload', () => {
  const { queue, started, enter } = createQueue();
  for (let n = 0; n < 3; n++) queue.sample({ ...late, utilization: 0.5 });
  enter(0, 1000);
  expect(started).toHaveLength(1000);
});

test('if the event loop has time to spare, more requests start, because they wait for the service', () => {
  const set = createQueue();
  set.fill();
  set.enter(CONCURRENCY, 1000);
  expect(set.started).toHaveLength(CONCURRENCY);
  set.queue.sample(idle);
  expect(set.started).toHaveLength(2 * CONCURRENCY);
  for (let n = 0; n < 4; n++) set.queue.sample(idle);
  expect(set.started).toHaveLength(CONCURRENCY + 1000);
});

test('as many requests may wait as are completed in two seconds', () => {
  const set = createQueue();
  set.fill();
  set.enter(CONCURRENCY, 500);
  // 10 requests in 50 ms are 200 per second, so that 400 of them may wait.
  const sample = () => {
    for (let n = 0; n < 10; n++) set.queue.leave();
    set.queue.sample(late);
  };
  sample();
  expect(set.queue.isFull).toBe(false); // Too early to know the rate.
  for (let n = 0; n < 6; n++) sample();
  expect(set.queue.waiting).toBe(430);
  expect(set.queue.isFull).toBe(true);
  for (let n = 0; n < 4; n++) sample();
  expect(set.queue.waiting).toBe(390);
  expect(set.queue.isFull).toBe(false);
});

test('an empty queue is never full, and forgets the rate', () => {
  const set = createQueue();
  set.fill();
  set.enter(CONCURRENCY, 200);
  for (let n = 0; n < 20; n++) set.queue.sample(late);
  expect(set.queue.isFull).toBe(true); // Nothing is completed.
  for (let n = 0; n < 200; n++) set.queue.leave();
  set.queue.sample(late);
  expect(set.queue.waiting).toBe(0);
  expect(set.queue.isFull).toBe(false);
});

test('requests that are not wanted any more take no place', () => {
  const set = createQueue();
  set.fill();
  for (let n = 0; n < 20_000; n++) set.queue.enter(() => false);
  set.enter(CONCURRENCY, 1);
  set.queue.leave();
  expect(set.started.at(-1)).toBe(CONCURRENCY);
  expect(set.queue.waiting).toBe(0);
});
