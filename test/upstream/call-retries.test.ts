import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { read, write } from '../support/graphql-operation.ts';
import { retryable, startOutcomes } from '../support/outcome.ts';
import { json, type Reply, reply, startService } from '../support/service.ts';

const success = json({ service_status: { status: 0 }, list: [], status: 0 });

/** Gives one reply after another, and repeats the last one. */
function inSequence(...replies: Reply[]): Reply {
  return (response, received) => {
    const next = replies.length > 1 ? replies.shift() : replies[0];
    return next?.(response, received);
  };
}

test.each([502, 503, 504])('a read gets three attempts if the status is %d', async (status) => {
  const service = await startService(reply(status));
  const { read } = await startOutcomes(service.url);
  expect(await read()).toEqual(retryable('UPSTREAM_FAILED'));
  expect(service.received).toHaveLength(3);
});

test.each([200, 204, 307, 400, 401, 403, 404, 408, 409, 429, 500, 501, 505])(
  'a read gets one attempt if the status is %d',
  async (status) => {
    const service = await startService(reply(status, '', { location: '/', 'retry-after': '0' }));
    const { read } = await startOutcomes(service.url);
    expect(await read()).toMatchObject({ code: expect.any(String) });
    expect(service.received).toHaveLength(1);
  },
);

test.each<[string, Reply]>([
  ['503', reply(503)],
  ['a reset connection', (response) => void response.socket?.resetAndDestroy()],
  ['half a response', (response) => void response.write('{', () => response.destroy())],
])('a read that gets %s once succeeds at the second attempt', async (_, first) => {
  const service = await startService(inSequence(first, success));
  const gateway = await startTestGateway(service);

  const { data, errors } = await gateway.graphql(read);

  expect(errors).toBeUndefined();
  expect(data.result.__typename).toBe('GlCodeList');
  expect(service.received).toHaveLength(2);
});

test('a retry sends the same request', async () => {
  const service = await startService(inSequence(reply(503), success));
  const gateway = await startTestGateway(service);

  await gateway.graphql(read);

  const [first, second] = service.received;
  expect(second?.url).toBe(first?.url);
  expect(second?.headers.authorization).toBe(first?.headers.authorization);
  expect(second?.headers['x-request-id']).toBe(first?.headers['x-request-id']);
});

test.each([
  ['seconds', () => '1'],
  ['a date', () => new Date(Date.now() + 2000).toUTCString()],
])('a retry waits for a Retry-After in %s', async (_, retryAfter) => {
  const arrivals: number[] = [];
  const service = await startService((response, received) => {
    const first = arrivals.push(performance.now()) === 1;
    return (first ? reply(503, '', { 'retry-after': retryAfter() }) : success)(response, received);
  });
  const gateway = await startTestGateway(service);

  const { data } = await gateway.graphql(read);

  expect(data.result.__typename).toBe('GlCodeList');
  const [first = 0, second = 0] = arrivals;
  expect(second - first).toBeGreaterThan(900);
});

test.each([
  ['seconds', '60'],
  ['a date', new Date(Date.now() + 60_000).toUTCString()],
])('a read fails at once if a Retry-After in %s is after its deadline', async (_, retryAfter) => {
  const service = await startService(reply(503, '', { 'retry-after': retryAfter }));
  const { read } = await startOutcomes(service.url, 8000);
  const start = performance.now();
  expect(await read()).toEqual(retryable('UPSTREAM_FAILED'));
  expect(performance.now() - start).toBeLessThan(4000);
  expect(service.received).toHaveLength(1);
});

test('an invalid Retry-After is ignored', async () => {
  const retryAfter = { 'retry-after': 'soon' };
  const service = await startService(inSequence(reply(503, '', retryAfter), success));
  const gateway = await startTestGateway(service);
  const { data } = await gateway.graphql(read);
  expect(data.result.__typename).toBe('GlCodeList');
});

test('all attempts share one deadline', async () => {
  const service = await startService(inSequence(reply(503), () => {}));
  const { read } = await startOutcomes(service.url, 800);
  expect(await read()).toEqual(retryable('UPSTREAM_TIMEOUT'));
  expect(service.received).toHaveLength(2);
});

test('a write is not retried, even if the service asks for it', async () => {
  const service = await startService(reply(503, '', { 'retry-after': '0' }));
  const gateway = await startTestGateway(service);
  await gateway.graphql(write);
  await gateway.close();
  expect(service.received).toHaveLength(1);
});
