import { expect, test } from '@jest/globals';
import { RetryBudget, withRetries } from '../../src/upstream/resilience/retry.ts';
import { statusError } from '../../src/upstream/transport/transport-error.ts';
import { UpstreamError } from '../../src/upstream/upstream-error.ts';
import { type Reply, reply, startService, success } from '../support/service.ts';
import { neverAborted, retryable, startOutcomes } from '../support/upstream-call.ts';

/** Gives one reply after another, and repeats the last one. */
function inSequence(...replies: Reply[]): Reply {
  return (response, received) => {
    const next = replies.length > 1 ? replies.shift() : replies[0];
    return next?.(response, received);
  };
}

test.each([
  [3, [502, 503, 504]],
  [1, [200, 204, 307, 400, 401, 403, 404, 408, 409, 429, 500, 501, 505]],
])('a read gets %d attempts if the status is one of %j', async (attempts, statuses) => {
  for (const status of statuses) {
    const service = await startService(
      reply(status, '', { location: '/', ...(attempts === 1 && { 'retry-after': '0' }) }),
    );
    expect(await startOutcomes(service.url).read()).not.toBe('success');
    expect([status, service.received.length]).toEqual([status, attempts]);
  }
});

test.each<[string, Reply]>([
  ['503', reply(503)],
  ['a reset connection', (response) => void response.socket?.resetAndDestroy()],
  ['half a response', (response) => void response.write('{', () => response.destroy())],
])('a read that gets %s once sends the same request again', async (_, first) => {
  const service = await startService(inSequence(first, success));
  expect(await startOutcomes(service.url).read()).toBe('success');
  const [sent, ...repeats] = service.received.map(({ method, url, headers, body }) => {
    return { method, url, headers, body };
  });
  expect(repeats).toEqual([sent]);
});

test.each([
  ['1', 1000],
  ['-1', 0],
  [new Date(Date.now() + 3_600_000).toUTCString(), expect.closeTo(3_600_000, -5)],
  [new Date(0).toUTCString(), 0],
  ['soon', undefined],
])('the delay until a Retry-After of %s is %p ms', (header, retryAfterMs) => {
  expect(statusError(503, { 'retry-after': header })).toMatchObject({ retryAfterMs });
});

test('a retry waits as long as the service asks', async () => {
  const details = { fault: 'busy', transient: true, retryAfterMs: 300 };
  const options = { retries: 2, deadline: Infinity, signal: neverAborted, onRetry() {} };
  const start = performance.now();
  await withRetries({ ...options, budget: new RetryBudget() }, async (retry) => {
    if (retry === 0) throw new UpstreamError('UPSTREAM_FAILED', details);
  });
  expect(performance.now() - start).toBeGreaterThan(290);
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
