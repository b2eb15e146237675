import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Gate } from '../../src/account/gate.ts';
import { createLogRecorder } from '../support/log-recorder.ts';
import { exchange } from '../support/raw-request.ts';
import { createTestServer } from '../support/server.ts';

const origin = 'https://app.example';

/** Starts a server whose only place is taken, and that rejects requests until `recover` is called. */
async function startOverloaded() {
  const log = createLogRecorder();
  const statuses: number[] = [];
  let shed = 0;
  let isOverloaded = true;
  let executed = 0;
  const requests = new Gate({ limit: 1 });
  requests.tryEnter('another request');
  const server = await createTestServer({
    requests,
    overloadedCaller: () => (isOverloaded ? 'hash' : undefined),
    execute: async () => {
      executed += 1;
      return { status: 200, headers: [], text: '{"data":null}' };
    },
    corsOrigins: [origin],
    metrics: {
      text: async () => '',
      contentType: 'text/plain',
      responded: ({ status }) => statuses.push(status),
      shed() {
        shed += 1;
      },
    },
    log: pino({ base: null }, { write: log.add }),
  });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  return {
    url,
    log,
    requests,
    statuses,
    shed: () => shed,
    executed: () => executed,
    recover() {
      isOverloaded = false;
    },
    post: (headers: Record<string, string> = {}, signal: AbortSignal | null = null) =>
      fetch(`${url}/graphql`, {
        method: 'POST',
        signal,
        headers: { 'content-type': 'application/json', ...headers },
        body: '{"query":"{__typename}"}',
      }),
  };
}

test('a rejection has the form of every other error, and can be retried', async () => {
  const server = await startOverloaded();
  const response = await server.post({ 'x-request-id': 'request-1' });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('1');
  expect(response.headers.get('x-request-id')).toBe('request-1');
  expect(await response.json()).toEqual({
    errors: [
      {
        message: 'The gateway is overloaded.',
        extensions: { code: 'OVERLOADED', requestId: 'request-1', retryable: true },
      },
    ],
  });
});

test.each([origin, 'https://other.example', undefined])(
  'a rejection has the same headers as another error, for the origin %s',
  async (from) => {
    const server = await startOverloaded();
    const sent = { accept: 'text/plain', 'x-request-id': 'a', ...(from && { origin: from }) };
    const rejected = await server.post(sent);
    server.recover();
    const unacceptable = await server.post(sent);
    expect([rejected.status, unacceptable.status]).toEqual([503, 406]);
    const headersOf = ({ headers }: Response) =>
      Object.fromEntries(
        [...headers].filter(([name]) => !['date', 'content-length', 'retry-after'].includes(name)),
      );
    expect(headersOf(rejected)).toEqual(headersOf(unacceptable));
  },
);

test('a rejection has the media type that the client prefers', async () => {
  const server = await startOverloaded();
  const accept = 'application/graphql-response+json,application/json;q=0.9';
  const response = await server.post({ accept, origin });
  expect(response.status).toBe(503);
  expect(response.headers.get('content-type')).toBe(
    'application/graphql-response+json; charset=utf-8',
  );
  expect(response.headers.get('access-control-allow-origin')).toBe(origin);
  expect(response.headers.get('vary')).toBe('Accept, Origin');
});

test('rejections are counted, and logged with their caller and together', async () => {
  const server = await startOverloaded();
  for (const id of ['a', 'b', 'c']) await (await server.post({ 'x-request-id': id })).text();
  expect(server.shed()).toBe(3);
  expect(server.statuses).toEqual([503, 503, 503]);
  expect(await server.log.line({ msg: 'requests shed' })).toMatchObject({ level: 40, requests: 3 });
  expect(server.log.lines.filter(({ msg }) => msg === 'request')).toEqual(
    ['a', 'b', 'c'].map((requestId) =>
      expect.objectContaining({ requestId, outcome: 'OVERLOADED', status: 503, caller: 'hash' }),
    ),
  );
});

test('a request waits for a place, and is executed when there is one', async () => {
  const server = await startOverloaded();
  server.recover();
  const response = server.post();
  while (server.requests.waiting === 0) await immediate();
  expect(server.executed()).toBe(0);
  server.requests.leave('another request');
  expect((await response).status).toBe(200);
  expect([server.executed(), server.requests.held]).toEqual([1, 0]);
});

test('a request whose client disconnects while it waits is logged, and not executed', async () => {
  const server = await startOverloaded();
  server.recover();
  const client = new AbortController();
  const lost = expect(server.post({}, client.signal)).rejects.toThrow();
  while (server.requests.waiting === 0) await immediate();
  client.abort();
  await lost;
  await server.log.line({ msg: 'request', outcome: 'CLIENT_DISCONNECTED' });
  expect([server.requests.waiting, server.executed()]).toEqual([0, 0]);
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
