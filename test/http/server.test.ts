import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { read, write } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { metric } from '../support/metric.ts';
import { connectTo, exchange, requestOf } from '../support/raw-request.ts';
import { json, startService } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const success = json({ status: 0, service_status: { status: 0 }, list: [] });
const share = shareGateway();
const start = () => withSend(share(success));
const shareWithCors = shareGateway({ CORS_ORIGINS: 'https://a.example' });
const startWithCors = () => withSend(shareWithCors(success));

/** Starts a gateway for one test. */
async function startWith(variables: Record<string, string>) {
  const service = await startService(success);
  return withSend({ service, gateway: await startTestGateway(service, variables) });
}

function withSend(started: ReturnType<typeof share>) {
  return {
    ...started,
    async send(path: string, init: RequestInit = {}) {
      const response = await fetch(started.gateway.url + path, init);
      return { response, body: (await response.text()) || undefined };
    },
  };
}

/** The body of every error outside GraphQL. */
function errorBody(code: unknown = expect.any(String)) {
  return {
    errors: [
      {
        message: expect.any(String),
        extensions: { code, requestId: expect.any(String), retryable: false },
      },
    ],
  };
}

test.each(['/livez', '/readyz'])('%s responds with ok, without a token', async (path) => {
  const { response, body } = await start().send(path);
  expect([response.status, body]).toEqual([200, '{"status":"ok"}']);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
});

test.each(['/', '/nothing', '/graphql/', '/graphql/x', '/livez/x'])(
  '%s is not found',
  async (path) => {
    const { response, body } = await start().send(path);
    expect([response.status, JSON.parse(body ?? '')]).toEqual([404, errorBody('NOT_FOUND')]);
  },
);

test.each([
  ['PUT', '/graphql', ['GET', 'POST']],
  ['DELETE', '/graphql', ['GET', 'POST']],
  ['PATCH', '/graphql?query=x', ['GET', 'POST']],
  ['POST', '/livez', ['GET']],
  ['DELETE', '/readyz', ['GET']],
])('%s %s is not allowed', async (method, path, allowed) => {
  const { response, body } = await start().send(path, { method });
  const allow = (response.headers.get('allow') ?? '').split(/, */);
  expect(allow.filter((name) => name !== 'HEAD' && name !== 'OPTIONS')).toEqual(allowed);
  const error = errorBody('METHOD_NOT_ALLOWED');
  expect([response.status, JSON.parse(body ?? '')]).toEqual([405, error]);
});

const query = '{"query":"{ __typename }"}';

test('a POST without a content type is rejected', async () => {
  const { gateway } = start();
  const response = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nAuthorization: Bearer ${gateway.token}\nContent-Length: ${query.length}\n\n${query}`,
  );
  expect(response).toMatch(/^HTTP\/1.1 415 /);
  expect(JSON.parse(bodyOf(response))).toEqual(errorBody('UNSUPPORTED_MEDIA_TYPE'));
});

test.each(['application/json; charset=utf-8', 'Application/JSON'])(
  'a POST with content type %s is accepted',
  async (contentType) => {
    const { gateway } = start();
    const { data } = await gateway.graphql('{ __typename }', {}, { 'content-type': contentType });
    expect(data).toEqual({ __typename: 'Query' });
  },
);

test('a GET with a bearer token, which forces a preflight, executes a query', async () => {
  const { gateway, send } = start();
  const { response, body } = await send(`/graphql?query=${encodeURIComponent(read)}`, {
    headers: { authorization: `Bearer ${gateway.token}` },
  });
  expect(response.status).toBe(200);
  expect(JSON.parse(body ?? '').data.result.__typename).toBe('GlCodeList');
});

test.each([
  [401, 'UNAUTHENTICATED', 'false'],
  [400, 'BAD_REQUEST', 'true'],
])(
  'a GET that a page could send without a preflight gets %i %s if INTROSPECTION is %s',
  async (status, code, INTROSPECTION) => {
    const { service, send } = await startWith({ INTROSPECTION });
    const { response, body } = await send(`/graphql?query=${encodeURIComponent('{ __typename }')}`);
    expect(response.status).toBe(status);
    expect(JSON.parse(body ?? '')).toEqual(errorBody(code));
    expect(service.received).toEqual([]);
  },
);

test('a GET with a mutation is told to use POST', async () => {
  const { gateway, send } = start();
  const headers = { authorization: `Bearer ${gateway.token}` };
  const path = `/graphql?query=${encodeURIComponent(write)}`;
  const { response, body } = await send(path, { headers });
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  expect(JSON.parse(body ?? '')).toEqual(errorBody('BAD_REQUEST'));
});

test('the query string of a POST is ignored', async () => {
  const { service, gateway } = start();
  const response = await fetch(`${gateway.url}/graphql?query=${encodeURIComponent(write)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(response.status).toBe(400);
  expect(service.received).toEqual([]);
});

test.each<[string, unknown]>([
  ...['a', 'req-1', '00-4bf92f3577b34da6a3ce929d0e0e4736-01', 'a.b_c:d', 'x'.repeat(128)].map(
    (id): [string, unknown] => [id, id],
  ),
  ...['', 'a b', 'a,b', 'a","level":60,"x":"', '{"a":1}', '<script>', '../..', 'x'.repeat(129)].map(
    (id): [string, unknown] => [id, expect.stringMatching(/^[0-9a-f-]{36}$/)],
  ),
])('the request id "%s" becomes %s', async (sent, id) => {
  const { service, gateway } = start();
  const { headers } = await gateway.graphql(read, {}, { 'x-request-id': sent });
  expect(headers.get('x-request-id')).toEqual(id);
  expect(service.received[0]?.headers['x-request-id']).toBe(headers.get('x-request-id'));
});

test('each request without an id gets a new one, even if it fails', async () => {
  const { send } = start();
  const ids = new Set<string | undefined>();
  for (const path of ['/livez', '/nothing', '/graphql', '/livez']) {
    const { response, body } = await send(path);
    const id = response.headers.get('x-request-id') ?? undefined;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    if (!response.ok) expect(JSON.parse(body ?? '').errors[0].extensions.requestId).toBe(id);
    ids.add(id);
  }
  expect(ids.size).toBe(4);
});

test('two x-request-id headers are replaced by a new id', async () => {
  const { gateway } = start();
  const response = await exchange(
    gateway.url,
    'GET /livez HTTP/1.1\nHost: a\nConnection: close\nX-Request-Id: a\nX-Request-Id: b\n\n',
  );
  expect(response).toMatch(/^x-request-id: [0-9a-f-]{36}\r$/im);
});

test.each([
  ['a path that cannot be decoded', 'GET /%zz HTTP/1.1\nHost: a\nConnection: close\n\n', 400],
  ['a request that is not HTTP', 'hello\n\n', 400],
  ['headers that are too large', `GET /livez HTTP/1.1\nHost: a\nX: ${'x'.repeat(20_000)}\n\n`, 431],
  ['an unknown method', 'BREW /graphql HTTP/1.1\nHost: a\nConnection: close\n\n', 400],
])('%s gets an error in the usual format', async (_, request, status) => {
  const { gateway } = startWithCors();
  const response = await exchange(gateway.url, request);
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(response).toMatch(/^content-type: application\/json/im);
  expect(JSON.parse(bodyOf(response))).toEqual(errorBody());
});

test('the response to an OPTIONS that is not a preflight is not plain text', async () => {
  const { gateway } = startWithCors();
  const response = await exchange(
    gateway.url,
    'OPTIONS /graphql HTTP/1.1\nHost: a\nOrigin: https://a.example\nConnection: close\n\n',
  );
  expect(response).not.toMatch(/^content-type: text\/plain/im);
});

/** The body of a raw HTTP response. */
function bodyOf(response: string): string {
  return response.slice(response.indexOf('\r\n\r\n') + 4);
}

test('requests on one connection are executed one after another, and reads are cancelled after it has closed', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const ids = [1, 2, 3].map((n) => `pipelined-${n}`);
  for (const id of ids) socket.write(requestOf(gateway, read, [`x-request-id: ${id}`]));
  const { respond } = await service.arrived(1);
  expect(service.requests).toHaveLength(1);
  respond();
  await service.arrived(2);
  socket.destroy();
  await gateway.logLine({ requestId: 'pipelined-2', outcome: 'CLIENT_DISCONNECTED' });
  await service.idle();
  expect(service.requests).toHaveLength(2);
});

test('a request with an invalid path is logged and counted like any other', async () => {
  const { gateway } = await startWith({});
  const response = await exchange(gateway.url, 'GET /%zz HTTP/1.1\nHost: a\nConnection: close\n\n');
  expect(response).toMatch(/^HTTP\/1.1 400 /);
  await gateway.logLine({ msg: 'request', outcome: 'BAD_REQUEST', status: 400 });
  expect(await metric(gateway, 'ledger_gateway_http_requests_total', { status: '400' })).toBe(1);
});
