import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Gate } from '../../src/account/gate.ts';
import { startTestGateway } from '../support/gateway.ts';
import { read } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { createLogRecorder } from '../support/log-recorder.ts';
import { metric, metricIs } from '../support/metric.ts';
import { exchange } from '../support/raw-request.ts';
import { createTestServer, silentMetrics } from '../support/server.ts';

const origin = 'https://app.example';

/** Starts a server whose only place is taken, and that rejects requests unless it has recovered. */
async function startOverloaded({ isOverloaded = true } = {}) {
  const log = createLogRecorder();
  const state = { isOverloaded, statuses: [] as number[], shed: 0, executed: 0 };
  const requests = new Gate({ limit: 1 });
  requests.tryEnter('another request');
  const server = await createTestServer({
    requests,
    overloadedCaller: () => (state.isOverloaded ? 'hash' : undefined),
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
    log: pino({ base: null }, { write: log.add }),
  });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  const post = (headers: Record<string, string> = {}, signal: AbortSignal | null = null) =>
    fetch(`${url}/graphql`, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', ...headers },
      body: '{"query":"{__typename}"}',
    });
  return { url, log, requests, state, post };
}

test.each([origin, 'https://other.example', undefined])(
  'a rejection has the form of every other error, for the origin %s',
  async (from) => {
    const { state, post } = await startOverloaded();
    const sent = { accept: 'text/plain', 'x-request-id': 'a', ...(from && { origin: from }) };
    const rejected = await post(sent);
    state.isOverloaded = false;
    const unacceptable = await post(sent);
    expect([rejected.status, unacceptable.status]).toEqual([503, 406]);
    const headersOf = ({ headers }: Response) =>
      Object.fromEntries(
        [...headers].filter(([name]) => !['date', 'content-length', 'retry-after'].includes(name)),
      );
    expect(headersOf(rejected)).toEqual(headersOf(unacceptable));
  },
);

test('a rejection can be retried, and has the media type that the client prefers', async () => {
  const { post } = await startOverloaded();
  const accept = 'application/graphql-response+json,application/json;q=0.9';
  const response = await post({ accept, origin, 'x-request-id': 'request-1' });
  expect(response.status).toBe(503);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/graphql-response+json; charset=utf-8',
    'access-control-allow-origin': origin,
    vary: 'Accept, Origin',
    'retry-after': '1',
    'x-request-id': 'request-1',
  });
  const extensions = { code: 'OVERLOADED', requestId: 'request-1', retryable: true };
  const message = 'The gateway is overloaded.';
  expect(await response.json()).toEqual({ errors: [{ message, extensions }] });
});

test('rejections are counted, and logged with their caller and together', async () => {
  const { state, log, post } = await startOverloaded();
  for (const id of ['a', 'b', 'c']) await (await post({ 'x-request-id': id })).text();
  expect(state).toMatchObject({ shed: 3, statuses: [503, 503, 503] });
  expect(await log.line({ msg: 'requests shed' })).toMatchObject({ level: 40, requests: 3 });
  const line = { outcome: 'OVERLOADED', status: 503, caller: 'hash' };
  const lines = ['a', 'b', 'c'].map((requestId) => ({ ...line, requestId }));
  expect(log.lines.filter(({ msg }) => msg === 'request')).toMatchObject(lines);
});

test('a request waits for a place, and is executed when there is one', async () => {
  const { state, requests, post } = await startOverloaded({ isOverloaded: false });
  const response = post();
  while (requests.waiting === 0) await immediate();
  expect(state.executed).toBe(0);
  requests.leave('another request');
  expect((await response).status).toBe(200);
  expect([state.executed, requests.held]).toEqual([1, 0]);
});

test('a request whose client disconnects while it waits is logged, and not executed', async () => {
  const { state, log, requests, post } = await startOverloaded({ isOverloaded: false });
  const client = new AbortController();
  const lost = expect(post({}, client.signal)).rejects.toThrow();
  while (requests.waiting === 0) await immediate();
  client.abort();
  await lost;
  await log.line({ msg: 'request', outcome: 'CLIENT_DISCONNECTED' });
  expect([requests.waiting, state.executed]).toEqual([0, 0]);
});

test('a gateway rejects a request of a caller that has too many waiting before it executes anything of it', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '16' });
  const post = async () => (await gateway.post({ query: read })).status;
  const inProgress = Array.from({ length: 48 }, post);
  await metricIs(gateway, 'ledger_gateway_requests_in_progress', 48);
  const first = Array.from({ length: 4 }, post);
  await sleep(1000); // So that others still wait when these have waited in vain.
  const second = Array.from({ length: 4 }, post);
  expect(await Promise.all(first)).toEqual(Array(4).fill(503));
  expect(await metric(gateway, 'ledger_gateway_requests_shed_total')).toBe(0);
  expect(await post()).toBe(503);
  expect(await metric(gateway, 'ledger_gateway_requests_shed_total')).toBe(1);
  service.release();
  expect(await Promise.all([...inProgress, ...second])).toEqual(Array(52).fill(200));
});

test('health checks, metrics and preflights are not rejected', async () => {
  const { url } = await startOverloaded();
  for (const path of ['/livez', '/readyz', '/metrics']) {
    expect((await fetch(`${url}${path}`)).status).toBe(200);
  }
  const headers = { origin, 'access-control-request-method': 'POST' };
  expect((await fetch(`${url}/graphql`, { method: 'OPTIONS', headers })).status).toBe(204);
  expect((await fetch(`${url}/graphql?query={__typename}`)).status).toBe(503);
});

test.each(['/%67raphql', '/graphql#a', 'http://gateway/graphql'])(
  'a request for %s is rejected too',
  async (target) => {
    const { url } = await startOverloaded();
    const response = await exchange(
      url,
      `GET ${target} HTTP/1.1\nhost: a\naccept: */*\nconnection: close\n\n`,
    );
    expect(response).toMatch(/^HTTP\/1\.1 503 /);
  },
);

test('a connection is usable after a rejection, whose body is not read', async () => {
  const { url } = await startOverloaded();
  const body = 'x'.repeat(100_000);
  const responses = await exchange(
    url,
    `POST /graphql HTTP/1.1\nhost: a\ncontent-length: ${body.length}\n\n${body}GET /livez HTTP/1.1\nhost: a\nconnection: close\n\n`,
  );
  expect(responses).toMatch(/^HTTP\/1\.1 503 [\s\S]*HTTP\/1\.1 200 /);
});
