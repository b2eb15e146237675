import { describe, expect, test } from '@jest/globals';
import { until } from '../../testkit/eventually.ts';
import { read } from '../../testkit/graphql-operation.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';
import { metric, metricIs } from '../../testkit/metric.ts';
import { createGate } from '../support/admission.ts';
import { exchange, requestOnly } from '../support/raw-request.ts';
import { silentMetrics, startTestServer } from '../support/server.ts';
import { startHeldStack } from '../support/stack.ts';

const origin = 'https://app.example';

/** What all requests here are admitted as: they need no token. */
const ANONYMOUS = 'anonymous';

/** Starts a server whose only place is taken, and in which one request may wait. */
async function startOverloaded() {
  const log = createLogRecorder();
  const state = { statuses: [] as number[], shed: 0, executed: 0 };
  const requests = createGate({ limit: 1, maxWaiting: 1 });
  requests.tryEnter('another request');
  const { url } = await startTestServer({
    requests,
    authenticator: { authenticate: () => null },
    execute: async () => {
      state.executed += 1;
      return { status: 200, headers: [], body: '{"data":null}' };
    },
    corsOrigins: [origin],
    metrics: {
      ...silentMetrics,
      responded: ({ status }) => state.statuses.push(status),
      shed: () => {
        state.shed += 1;
      },
    },
    log: log.createLogger(),
  });
  const post = (headers: Record<string, string> = {}, signal: AbortSignal | null = null) =>
    fetch(`${url}/graphql`, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', ...headers },
      body: '{"query":"{__typename}"}',
    });
  return { url, log, requests, state, post };
}

/** Starts one in which a request of the caller waits, and no other may. */
async function startFull() {
  const server = await startOverloaded();
  void server.requests.enter(ANONYMOUS);
  return server;
}

test('a request whose client disconnects while it waits is logged, and not executed', async () => {
  const { state, log, requests, post } = await startOverloaded();
  const client = new AbortController();
  const lost = expect(post({}, client.signal)).rejects.toThrow();
  await until(() => requests.waiting > 0);
  client.abort();
  await lost;
  await log.line({ msg: 'request', outcome: 'CLIENT_DISCONNECTED' });
  expect([requests.waiting, state.executed, state.shed]).toEqual([0, 0, 0]);
});

test('a gateway rejects a request of a caller whose others wait in vain', async () => {
  const { service, gateway } = await startHeldStack({ UPSTREAM_MAX_CONCURRENCY: '16' });
  const post = async () => (await gateway.post({ query: read })).status;
  const inProgress = Array.from({ length: 32 }, post);
  await metricIs(gateway, 'ledger_gateway_requests_in_progress', 32);
  expect(await Promise.all(Array.from({ length: 4 }, post))).toEqual(Array(4).fill(503));
  expect(await metric(gateway, 'ledger_gateway_requests_shed_total')).toBe(4);
  service.release();
  expect(await Promise.all(inProgress)).toEqual(Array(32).fill(200));
});

describe('where no more may wait', () => {
  test('a rejection can be retried, has the media type that the client prefers, and is counted and logged', async () => {
    const { state, log, post } = await startFull();
    const accept = 'application/graphql-response+json,application/json;q=0.9';
    for (const requestId of ['a', 'b', 'c']) {
      const response = await post({ accept, origin, 'x-request-id': requestId });
      expect(response.status).toBe(503);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'application/graphql-response+json; charset=utf-8',
        'access-control-allow-origin': origin,
        vary: 'Accept, Origin',
        'retry-after': '1',
        'x-request-id': requestId,
      });
      const extensions = { code: 'OVERLOADED', requestId, retryable: true, retryAfterS: 1 };
      const message = 'The gateway is overloaded.';
      expect(await response.json()).toEqual({ errors: [{ message, extensions }] });
    }
    expect(state).toMatchObject({ shed: 3, statuses: [503, 503, 503], executed: 0 });
    await log.line({ requestId: 'c' });
    const line = { outcome: 'OVERLOADED', status: 503 };
    const lines = ['a', 'b', 'c'].map((requestId) => ({ ...line, requestId }));
    expect(log.lines.filter(({ msg }) => msg === 'request')).toMatchObject(lines);
  });

  test('health checks, metrics and preflights are not rejected', async () => {
    const { url } = await startFull();
    for (const path of ['/livez', '/readyz', '/metrics']) {
      expect((await fetch(`${url}${path}`)).status).toBe(200);
    }
    const headers = { origin, 'access-control-request-method': 'POST' };
    expect((await fetch(`${url}/graphql`, { method: 'OPTIONS', headers })).status).toBe(204);
    expect((await fetch(`${url}/graphql?query={__typename}`)).status).toBe(503);
  });

  test('a connection is usable after a rejection, whose body is not read', async () => {
    const { url } = await startFull();
    const type = 'content-type: application/json';
    const request = requestOnly('POST /graphql', type, 'x'.repeat(10_000));
    const kept = request.replace('connection: close\n', '');
    const responses = await exchange(url, kept + requestOnly('GET /livez'));
    expect(responses).toMatch(/^HTTP\/1\.1 503 [\s\S]*HTTP\/1\.1 200 /);
  });
});
