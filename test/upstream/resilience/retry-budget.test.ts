import { expect, test } from '@jest/globals';
import { RetryBudget } from '../../../src/upstream/resilience/retry.ts';
import { reply, startService } from '../../support/service.ts';
import { glCodesOf, scopeOf, startCalls } from '../../support/upstream-call.ts';

/** The retries that a new budget allows, for so many successes and then so many failures, in turns. */
function retriesOf(...turns: [successes: number, failures: number][]): number {
  const budget = new RetryBudget();
  let retries = 0;
  for (const [successes, failures] of turns) {
    for (let n = 0; n < successes; n++) budget.recordSuccess();
    for (let n = 0; n < failures; n++) if (budget.recordFailure()) retries += 1;
  }
  return retries;
}

test('a budget allows retries until half of its tokens are used, and one more for ten successes', () => {
  expect(retriesOf([0, 1000])).toBe(9);
  expect(retriesOf([1000, 1000])).toBe(9);
  expect(retriesOf([0, 10], [9, 1])).toBe(9);
  expect(retriesOf([0, 10], [9, 1], [12, 1])).toBe(10);
});

test('after a long outage, retries resume only after a hundred successes', () => {
  expect(retriesOf([0, 100_000], [109, 1])).toBe(9);
  expect(retriesOf([0, 100_000], [112, 1])).toBe(10);
});

test('if every second call fails, few are retried, and if one in twenty fails, all are', () => {
  expect(retriesOf(...Array(1000).fill([1, 1]))).toBeLessThan(13);
  expect(retriesOf(...Array(100).fill([19, 1]))).toBe(100);
});

test('an outage does not multiply the calls to the service', async () => {
  const service = await startService(reply(503));
  const { calls, counts } = startCalls(service);
  const reads = Array.from({ length: 50 }, (_, n) => calls.read(glCodesOf(`p${n}`), scopeOf()));
  for (const { status } of await Promise.allSettled(reads)) expect(status).toBe('rejected');
  expect(counts.retried).toBeLessThan(10);
  expect(service.received.length).toBeLessThanOrEqual(50 + counts.retried);
});
