import { expect, test } from '@jest/globals';
import { RetryBudget } from '../../../src/upstream/resilience/retry.ts';
import { success } from '../../support/held-service.ts';
import { reply, startService } from '../../support/service.ts';
import { glCodesOf, scopeOf, startCalls } from '../../support/upstream-call.ts';

function record(budget: RetryBudget, result: 'success' | 'failure', times: number): void {
  for (let n = 0; n < times; n++) {
    if (result === 'success') budget.recordSuccess();
    else budget.recordFailure();
  }
}

/** Calls that all fail, each of which is retried if the budget allows it. Returns the retries. */
function retriesOf(budget: RetryBudget, calls: number): number {
  let retries = 0;
  for (let n = 0; n < calls; n++) {
    budget.recordFailure();
    if (budget.allowsRetry) retries += 1;
  }
  return retries;
}

test('a new budget allows retries until half of its tokens are used', () => {
  expect(retriesOf(new RetryBudget(), 1000)).toBe(9);
});

test('successes do not save tokens beyond the maximum', () => {
  const budget = new RetryBudget();
  record(budget, 'success', 1000);
  expect(retriesOf(budget, 1000)).toBe(9);
});

test('after half of the tokens are used, it takes more than ten successes for one retry', () => {
  const budget = new RetryBudget();
  record(budget, 'failure', 10);
  record(budget, 'success', 9);
  expect(retriesOf(budget, 1)).toBe(0);
  record(budget, 'success', 12);
  expect(retriesOf(budget, 1)).toBe(1);
});

test('after a long outage, retries resume only after a hundred successes', () => {
  const budget = new RetryBudget();
  record(budget, 'failure', 100_000);
  record(budget, 'success', 99);
  expect(budget.allowsRetry).toBe(false);
  record(budget, 'success', 2);
  expect(budget.allowsRetry).toBe(true);
});

test('if every second call fails, few are retried', () => {
  const budget = new RetryBudget();
  let retries = 0;
  for (let n = 0; n < 1000; n++) {
    record(budget, 'success', 1);
    retries += retriesOf(budget, 1);
  }
  expect(retries).toBeGreaterThan(8);
  expect(retries).toBeLessThan(13);
});

test('if one call in twenty fails, all of them are retried', () => {
  const budget = new RetryBudget();
  let retries = 0;
  for (let n = 0; n < 100; n++) {
    record(budget, 'success', 19);
    retries += retriesOf(budget, 1);
  }
  expect(retries).toBe(100);
});

test('an outage does not multiply the calls to the service', async () => {
  // Two of three reads succeed, so that the circuit breaker does not interfere.
  const service = await startService((response, received) =>
    received.url.includes('bad') ? reply(503)(response, received) : success(response, received),
  );
  const { calls, counts } = startCalls(service);
  for (let n = 0; n < 40; n++) {
    const failing = calls.read(glCodesOf('bad'), scopeOf());
    await expect(failing).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
    await calls.read(glCodesOf('good'), scopeOf());
    await calls.read(glCodesOf('good'), scopeOf());
  }
  expect(calls.circuitState).toBe('closed');
  expect(counts.retried).toBeGreaterThan(0);
  expect(counts.retried).toBeLessThan(12);
  expect(service.received).toHaveLength(120 + counts.retried);
});

test('concurrent reads of a service that is down are hardly retried', async () => {
  const service = await startService(reply(503));
  const { calls, counts } = startCalls(service);
  const reads = Array.from({ length: 50 }, (_, n) => calls.read(glCodesOf(`p${n}`), scopeOf()));
  for (const { status } of await Promise.allSettled(reads)) expect(status).toBe('rejected');
  expect(counts.retried).toBeLessThan(10);
  expect(service.received.length).toBeLessThanOrEqual(50 + counts.retried);
});
