import { expect, test } from '@jest/globals';
import { read, write } from '../../testkit/graphql-operation.ts';
import { metric } from '../../testkit/metric.ts';
import { success } from '../../testkit/service.ts';
import { exchange, requestOnly } from '../support/raw-request.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startStack } from '../support/stack.ts';

const share = shareGateway();
const shareOpen = shareGateway({ INTROSPECTION: 'true' });

function start(shareOne = share) {
  const { service, gateway } = shareOne(success);
  /** Sends a request, with a token unless `init` has headers. */
  async function send(path: string, init: RequestInit = {}) {
    const headers = { authorization: `Bearer ${gateway.token}` };
    const response = await fetch(gateway.url + path, { headers, ...init });
    const { status } = response;
    return { status, headers: response.headers, body: await response.text() };
  }
  return { service, gateway, send };
}

const pathOf = (query: string) => `/graphql?query=${encodeURIComponent(query)}`;

const bodyOf = (response: string) => response.slice(response.indexOf('\r\n\r\n') + 4);

/** Expects the body of every error outside GraphQL. */
function expectError(body: string, code: unknown = expect.any(String)) {
  const extensions = { code, requestId: expect.any(String), retryable: false };
  expect(JSON.parse(body)).toEqual({ errors: [{ message: expect.any(String), extensions }] });
}

test.each(['/livez', '/readyz'])('%s responds with ok, without a token', async (path) => {
  const { status, headers, body } = await start().send(path, { headers: {} });
  expect([status, body]).toEqual([200, '{"status":"ok"}']);
  expect(headers.get('content-type')).toMatch(/^application\/json/);
});

test('with ADMIN_PORT, metrics are only on that port, which also has the health checks', async () => {
  const { gateway } = await startStack(success, { ADMIN_PORT: '0' });
  const { address } = await gateway.logLine({ msg: 'admin server listens' });
  const paths = ['/metrics', '/livez', '/readyz', '/graphql'];
  const statuses = (url: unknown) =>
    Promise.all(paths.map(async (path) => (await fetch(`${url}${path}`)).status));
  expect(await statuses(gateway.url)).toEqual([404, 200, 200, 401]);
  expect(await statuses(address)).toEqual([200, 200, 200, 404]);
  await gateway.graphql(read);
  const text = await (await fetch(`${address}/metrics`)).text();
  expect(text).toContain('ledger_gateway_operations_total{');
  await gateway.close();
  await expect(fetch(`${address}/livez`)).rejects.toThrow('fetch failed');
});

const noPaths = [
  '/ /nothing /graphql/ /graphql/x /livez/x //graphql /GRAPHQL /graphql.json /graphql;a=b /./graphql',
  '/graphql%2f /graphql%00 /graphql%20 /%67raphql /%2567raphql /livez%2f /livez/../graphql /\\graphql',
  '/livez/..%2fgraphql /livez%2f..%2fgraphql /:a( /*x /graphql:a( /graphql:a /graphql* /:a(^.*)',
  `/%zz /graphql%zz * http://a/:a( /${'x'.repeat(15_000)}`,
];

test.each(noPaths.flatMap((line) => line.split(' ')).map((path) => [path.slice(0, 20), path]))(
  '%s is not found with any method, and is no error of the gateway',
  async (_, target) => {
    const { gateway } = start();
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'TRACE', 'OPTIONS', 'PROPFIND']) {
      const response = await exchange(gateway.url, requestOnly(`${method} ${target}`));
      expect(response).toMatch(/^HTTP\/1\.1 404 /);
      if (method !== 'HEAD') expectError(bodyOf(response), 'NOT_FOUND');
    }
    expect(gateway.logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    const status = { status: '500' };
    expect(await metric(gateway, 'ledger_gateway_http_requests_total', status)).toBe(0);
  },
);

test.each(['http://a/graphql', 'HTTP://a:80/graphql?query=x', 'https://a/graphql'])(
  'an absolute URL such as %s names a path',
  async (target) => {
    const { gateway } = start();
    expect(await exchange(gateway.url, requestOnly(`GET ${target}`))).toMatch(/^HTTP\/1\.1 401 /);
  },
);

test.each([
  ['PUT', '/graphql', ['GET', 'POST']],
  ['DELETE', '/graphql', ['GET', 'POST']],
  ['PATCH', '/graphql?query=x', ['GET', 'POST']],
  ['POST', '/livez', ['GET']],
  ['DELETE', '/readyz', ['GET']],
])('%s %s is not allowed', async (method, path, allowed) => {
  const { status, headers, body } = await start().send(path, { method });
  const allow = (headers.get('allow') ?? '').split(/, */);
  expect(allow.filter((name) => name !== 'HEAD' && name !== 'OPTIONS')).toEqual(allowed);
  expect(status).toBe(405);
  expectError(body, 'METHOD_NOT_ALLOWED');
});

test.each(['application/json; charset=utf-8', 'Application/JSON'])(
  'a POST with content type %s is accepted, and its query string ignored',
  async (contentType) => {
    const { service, gateway, send } = start();
    const headers = { authorization: `Bearer ${gateway.token}`, 'content-type': contentType };
    const post = (body: string) => send(pathOf(write), { method: 'POST', headers, body });
    expect((await post('{"query":"{ __typename }"}')).body).toBe('{"data":{"__typename":"Query"}}');
    expect((await post('{}')).status).toBe(400);
    expect(service.received).toEqual([]);
  },
);

test.each([
  [401, 'UNAUTHENTICATED', 'false', share],
  [400, 'BAD_REQUEST', 'true', shareOpen],
])(
  'a GET that a page could send without a preflight gets %i %s if INTROSPECTION is %s',
  async (expected, code, _, shareOne) => {
    const { service, send } = start(shareOne);
    const { status, body } = await send(pathOf('{ __typename }'), { headers: {} });
    expect(status).toBe(expected);
    expectError(body, code);
    expect(service.received).toEqual([]);
  },
);

test('a GET with a mutation is told to use POST', async () => {
  const { status, headers, body } = await start().send(pathOf(write));
  expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  expectError(body, 'BAD_REQUEST');
});

const newId = /^[0-9a-f-]{36}$/;

test.each<[string, unknown]>([
  ...['a', 'req-1', '00-4bf92f3577b34da6a3ce929d0e0e4736-01', 'a.b_c:d', 'x'.repeat(128)].map(
    (id): [string, unknown] => [id, id],
  ),
  ...['', 'a b', 'a,b', 'a","level":60,"x":"', '{"a":1}', '<script>', '../..', 'x'.repeat(129)].map(
    (id): [string, unknown] => [id, expect.stringMatching(newId)],
  ),
])('the request id "%s" becomes %s', async (sent, id) => {
  const { service, gateway } = start();
  const { headers } = await gateway.graphql(read, {}, { 'x-request-id': sent });
  expect(headers.get('x-request-id')).toEqual(id);
  expect(service.received[0]?.headers['x-request-id']).toBe(headers.get('x-request-id'));
});

test('each request with no id or two gets a new one, even if it fails', async () => {
  const { gateway, send } = start();
  const ids = new Set<string>();
  for (const path of ['/livez', '/nothing', '/graphql', '/livez']) {
    const { status, headers, body } = await send(path, { headers: {} });
    const id = headers.get('x-request-id') ?? '';
    expect(id).toMatch(newId);
    if (status !== 200) expect(JSON.parse(body).errors[0].extensions.requestId).toBe(id);
    ids.add(id);
  }
  expect(ids.size).toBe(4);
  const twice = requestOnly('GET /livez', 'x-request-id: a\nx-request-id: b');
  expect(await exchange(gateway.url, twice)).toMatch(/^x-request-id: [0-9a-f-]{36}\r$/im);
});

test('a token that is too long for the headers gets a message that names the limit', async () => {
  const { gateway } = start();
  const request = requestOnly('POST /graphql', `authorization: Bearer ${'x'.repeat(17_000)}`);
  const response = await exchange(gateway.url, request);
  expect(response).toMatch(/^HTTP\/1.1 431 /);
  const [{ message, extensions }] = JSON.parse(bodyOf(response)).errors;
  expect(message).toBe(
    'The headers of the request are larger than 16384 bytes. The token may be too long.',
  );
  expect(extensions).toMatchObject({ code: 'BAD_REQUEST', retryable: false });
  const line = await gateway.logLine({ msg: 'request', status: 431 });
  expect(line).toMatchObject({ fault: 'HPE_HEADER_OVERFLOW' });
});

const notHttp = { fault: expect.stringMatching(/^HPE_/), address: '127.0.0.1' };
test.each<[string, string, number, own: object]>([
  ['a request that is not HTTP', 'hello\n\n', 400, notHttp],
  ['headers that are too large', requestOnly('GET /livez', `x: ${'x'.repeat(20_000)}`), 431, {}],
  ['an unknown method', requestOnly('BREW /graphql'), 400, {}],
])('%s gets an error in the usual format, and is logged', async (_, request, status, own) => {
  const { gateway } = start();
  const response = await exchange(gateway.url, request);
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(response).toMatch(/^content-type: application\/json/im);
  expect(response).toMatch(/^content-length: \d+\r$/im);
  const body = bodyOf(response);
  expectError(body);
  const { requestId } = JSON.parse(body).errors[0].extensions;
  const line = { status, outcome: expect.stringMatching(/^[A-Z_]+$/), ...own };
  expect(await gateway.logLine({ msg: 'request', requestId })).toMatchObject(line);
});
