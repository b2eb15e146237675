import { expect, test } from '@jest/globals';
import { operations } from '../../src/upstream/declarations.ts';
import { interpretError } from '../../src/upstream/error-status.ts';
import { RetryBudget } from '../../src/upstream/resilience/retry.ts';
import { UpstreamError } from '../../src/upstream/upstream-error.ts';
import { type Reply, reply, startService, success } from '../../testkit/service.ts';
import {
  glCodesOf,
  retryable,
  scopeOf,
  startCalls,
  startOutcomes,
} from '../support/upstream-call.ts';

/** Gives one reply after another, and repeats the last one. */
function inSequence(...replies: Reply[]): Reply {
  return (response, received) => {
    const next = replies.length > 1 ? replies.shift() : replies[0];
    return next?.(response, received);
  };
}

test('a read that fails once sends the same request again', async () => {
  const service = await startService(inSequence(reply(503), success));
  expect(await startOutcomes(service.url).read()).toBe('success');
  const [sent, ...repeats] = service.received.map(({ method, url, headers, body }) => {
    return { method, url, headers, body };
  });
  expect(repeats).toEqual([sent]);
});

test.each([
  ['1', 1000],
  ['-1', undefined],
  ['1.5', undefined],
  ['', undefined],
  [new Date(Date.now() + 3_600_000).toUTCString(), expect.closeTo(3_600_000, -5)],
  [new Date(0).toUTCString(), 0],
  ['soon', undefined],
])('the delay until a Retry-After of %s is %p ms', (header, retryAfterMs) => {
  const response = { statusCode: 503, headers: { 'retry-after': header }, body: undefined };
  expect(interpretError({ operation: operations.getGLCodes5, search: '' }, response)).toMatchObject(
    { retryAfterMs },
  );
});

test('a retry waits as long as the service asks, at least', () => {
  const details = { fault: 'busy', transient: true, retryAfterMs: 300 };
  const error = new UpstreamError('UPSTREAM_FAILED', details);
  const delayMs = new RetryBudget().delayOf(1, error, Infinity);
  expect(delayMs).toBeGreaterThanOrEqual(300);
});

test('a read fails at once if Retry-After is after its deadline', async () => {
  const service = await startService(reply(503, '', { 'retry-after': '60' }));
  const start = performance.now();
  const { read } = startOutcomes(service.url, { timeoutMs: 8000 });
  expect(await read()).toBe(retryable('UPSTREAM_FAILED'));
  expect(performance.now() - start).toBeLessThan(4000);
  expect(service.received).toHaveLength(1);
});

test('all attempts share one deadline', async () => {
  const service = await startService(inSequence(reply(503), () => {}));
  const { read } = startOutcomes(service.url, { timeoutMs: 800 });
  expect(await read()).toBe(retryable('UPSTREAM_TIMEOUT'));
  expect(service.received).toHaveLength(2);
});

// The budget of retries.

/** The retries that a new budget allows, for so many successes and then so many failures, in turns. */
function retriesOf(...turns: [successes: number, failures: number][]): number {
  const budget = new RetryBudget();
  const error = new UpstreamError('UPSTREAM_FAILED', { fault: 'busy', transient: true });
  let retries = 0;
  for (const [successes, failures] of turns) {
    for (let n = 0; n < successes; n++) budget.recordSuccess();
    for (let n = 0; n < failures; n++) {
      if (budget.delayOf(1, error, Infinity) !== undefined) retries += 1;
    }
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

test('an outage does not multiply the calls to the service', async () => {
  const service = await startService(reply(503));
  const { calls, counts } = startCalls(service);
  const reads = Array.from({ length: 50 }, (_, n) => calls.read(glCodesOf(`p${n}`), scopeOf()));
  for (const { status } of await Promise.allSettled(reads)) expect(status).toBe('rejected');
  expect(counts.retried).toBeLessThan(10);
  expect(service.received.length).toBeLessThanOrEqual(50 + counts.retried);
});
