import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, jest, test } from '@jest/globals';
import type { Execute } from '../../src/request-scope.ts';
import { speedUpTimeouts } from '../../testkit/fast-timeouts.ts';
import { write } from '../../testkit/graphql-operation.ts';
import { success } from '../../testkit/service.ts';
import { authorized, connectTo, exchange, requestOf, requestOnly } from '../support/raw-request.ts';
import { startTestServer } from '../support/server.ts';
import { shareGateway } from '../support/shared-gateway.ts';

// Introspection opens small requests without a token.
const opened = { INTROSPECTION: 'true', EXPLORER: 'sandbox', CORS_ORIGINS: 'https://a.example' };
const share = shareGateway(opened);
const start = () => share(success);

const query = '{"query":"{ __typename }"}';
const writing = JSON.stringify({ query: write });
const jsonType = 'content-type: application/json\n';
const post = (headers: string, body = query) => requestOnly('POST /graphql', headers, body);
const get = (path: string, headers = '') => requestOnly(`GET ${path}`, headers);

// Headers

const longBody = post(jsonType).replace(/content-length: \d+/, 'content-length: 99999999');
const preflight = 'origin: https://a.example\naccess-control-request-method: POST';
const getQuery = get('/graphql?query=%7B__typename%7D', 'apollo-require-preflight: 1');

test.each([
  ['a response', 200, post(jsonType)],
  ['the response to a GET', 200, getQuery],
  ['an invalid document', 400, post(jsonType, '{"query":"{"}')],
  ['a body that is not JSON', 400, post(jsonType, '{')],
  ['an invalid token', 401, post(`${jsonType}authorization: Bearer x`)],
  ['an unknown path', 404, get('/nothing')],
  ['a method that is not allowed', 405, requestOnly('DELETE /graphql')],
  ['a large body without a token', 401, longBody],
  ['another content type', 415, post('content-type: text/plain')],
  ['liveness', 200, get('/livez')],
  ['readiness', 200, get('/readyz')],
  ['metrics', 200, get('/metrics')],
  ['a preflight', 204, requestOnly('OPTIONS /graphql', preflight)],
  ['a page', 200, get('/graphql', 'accept: text/html')],
  ['a path that cannot be decoded', 404, get('/%zz')],
])('%s has the security headers', async (_, status, request) => {
  const { gateway } = start();
  await gateway.graphql('{ __typename }'); // The gateway is ready once it has the keys.
  const response = await exchange(gateway.url, request);
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  const headers = response.slice(0, response.indexOf('\r\n\r\n'));
  for (const header of [
    /^x-content-type-options: nosniff\r?$/im,
    /^content-security-policy: default-src 'none'/im,
    /^referrer-policy: no-referrer\r?$/im,
    /^x-frame-options: (DENY|SAMEORIGIN)\r?$/im,
    /^cache-control: no-store\r?$/im,
  ]) {
    expect(headers).toMatch(header);
  }
  expect(headers).not.toMatch(/^content-security-policy:.*(unsafe-eval|script-src[^;]*\*)/im);
  // TLS ends at the proxy, which knows its hosts.
  const others = /^(strict-transport-security|server|x-powered-by|etag|set-cookie):/im;
  expect(headers).not.toMatch(others);
});

// Slow clients

test('a client has 10 seconds for the headers, and 10 minutes for a body', async () => {
  const { server } = await startTestServer();
  expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 600_000]);
  // Node checks for slow clients only at this interval.
  expect(Reflect.get(server, 'connectionsCheckingInterval')).toBeLessThanOrEqual(5_000);
});

/** Connects to a server with short timeouts, whose requests would be executed. */
async function connectSlowly() {
  speedUpTimeouts();
  const execute = jest.fn<Execute>();
  const { url } = await startTestServer({ execute });
  const socket = connectTo(url);
  socket.allowHalfOpen = true;
  return { socket, url, execute };
}

const slowHead = `POST /graphql HTTP/1.1\r\nhost: a\r\n${jsonType.trim()}\r\n`;

test.each([
  ['never ends its headers', `${slowHead}X-A: `],
  ['sends nothing', ''],
  ['never ends its body', `${slowHead}Content-Length: 100\r\n\r\n{`],
  ['never ends its chunks', `${slowHead}Transfer-Encoding: chunked\r\n\r\n5\r\n{`],
])('a client that %s is disconnected', async (_, sent) => {
  const { socket } = await connectSlowly();
  socket.write(sent);
  const response = await text(socket);
  expect(response).toMatch(/^(HTTP\/1\.1 (401|408) |$)/);
});

test('a request that gets 408 is not executed when the rest of it arrives', async () => {
  const { socket, url, execute } = await connectSlowly();
  socket.write(`${slowHead}Content-Length: ${query.length}\r\n\r\n{`);
  const [response] = await once(socket, 'data');
  socket.on('error', () => {}); // The server may already have closed the connection.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end(query.slice(1));
  socket.resume();
  await closed;
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect(String(response)).toMatch(/^HTTP\/1\.1 408 /);
  expect(execute).not.toHaveBeenCalled();
});

// Bodies

test.each(['', 'expect: 100-continue\n'])(
  'a body that is too large is rejected before it is sent, with no 100 Continue: "%s"',
  async (expectation) => {
    const { gateway } = start();
    // The body is announced and never sent, so a gateway that waits for it does not respond.
    const headers = `${expectation}${authorized(gateway)}content-length: 17825793`;
    const response = await exchange(gateway.url, requestOnly('POST /graphql', headers));
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
  },
);

const tooLong = ' '.repeat(25_000_000);
test.each([
  ['a declared length', `content-length: ${tooLong.length}`, tooLong],
  [
    'no declared length',
    'transfer-encoding: chunked',
    `${tooLong.length.toString(16)}\n${tooLong}`,
  ],
])('a client that sends a body that is too large, with %s, learns it', async (_, header, body) => {
  const { service, gateway } = start();
  const head = requestOnly('POST /graphql', `${authorized(gateway)}${header}`);
  const socket = connectTo(gateway.url);
  // Reads only after it has sent everything, as browsers do.
  await new Promise((resolve) => socket.write((head + body).replaceAll('\n', '\r\n'), resolve));
  const [response] = await once(socket, 'data');
  expect(String(response)).toMatch(/^HTTP\/1\.1 413 /);
  expect(service.received).toEqual([]);
});

test.each([
  ['Host: a\nHost: b', 400, 'exactly one valid Host'],
  ...['Host:', 'Host: a\nHost:', 'Host: [', 'Host: a b', 'Host: a:99999', 'Host: %'].map(
    (host) => [host, 400, 'valid Host'] as const,
  ),
  ['Host: a\nContent-Encoding: gzip', 415, 'compressed'],
  ['Host: a\nContent-Encoding: x', 415, 'compressed'],
])('a request with the header "%s" gets %i', async (headers, status, reason) => {
  const { service, gateway } = start();
  const request = post(authorized(gateway), writing).replace('host: a', headers);
  const response = await exchange(gateway.url, request);
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*${reason}`, 's'));
  expect(service.received).toEqual([]);
});

test('without a Host header, HTTP/1.0 reaches the health checks only', async () => {
  const { gateway } = start();
  for (const [path, response] of [
    ['/livez', /^HTTP\/1\.1 200 /],
    ['/readyz', /^HTTP\/1\.1 200 /],
    ['/graphql', /^HTTP\/1\.1 400 .*valid Host/s],
  ] as const) {
    expect(await exchange(gateway.url, `GET ${path} HTTP/1.0\n\n`)).toMatch(response);
  }
});

test('a chunked body of HTTP/1.0 is rejected, and its connection closed', async () => {
  const { service, gateway } = start();
  const headers = `host: a\nconnection: keep-alive\n${authorized(gateway)}transfer-encoding: chunked`;
  const body = `${writing.length.toString(16)}\n${writing}\n0\n\n`;
  const request = `POST /graphql HTTP/1.0\n${headers}\n\n${body}`;
  const reason = /^HTTP\/1\.1 400 .*HTTP\/1\.0 has no transfer codings/s;
  expect(await exchange(gateway.url, request)).toMatch(reason);
  expect(service.received).toEqual([]);
});

test('100 Continue is sent only after the token is verified', async () => {
  const { gateway } = start();
  const head = (token: string) =>
    post(`expect: 100-continue\n${authorized({ token })}`).slice(0, -query.length);
  expect(await exchange(gateway.url, head('x'))).toMatch(/^HTTP\/1\.1 401 /);

  const socket = connectTo(gateway.url);
  socket.write(head(gateway.token).replaceAll('\n', '\r\n'));
  const [interim] = await once(socket, 'data');
  expect(String(interim)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write(query);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /);
});

// Request smuggling: two requests where a proxy sees one

test.each([
  ['two lengths', 'Content-Length: 2\nContent-Length: 30\n\n{}'],
  ['two lengths in one header', 'Content-Length: 2, 30\n\n{}'],
  ['a length in hexadecimal', 'Content-Length: 0x2\n\n{}'],
  ['a length and chunks', 'Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n'],
  ['chunks and a length', 'Transfer-Encoding: chunked\nContent-Length: 5\n\n0\n\n'],
  ['a compressed transfer coding', 'Transfer-Encoding: gzip, chunked\n\n0\n\n'],
  ['an unknown transfer coding', 'Transfer-Encoding: xchunked\n\n0\n\n'],
  ['chunks that are not the last coding', 'Transfer-Encoding: chunked, identity\n\n0\n\n'],
  ['two transfer codings', 'Transfer-Encoding: chunked\nTransfer-Encoding: identity\n\n0\n\n'],
  ['a space before the colon', 'Transfer-Encoding : chunked\n\n0\n\n'],
  ['a folded header', 'Transfer-Encoding:\n chunked\n\n0\n\n'],
  ['a control character in the name', 'Transfer-\u000bEncoding: chunked\n\n0\n\n'],
  ['an invalid chunk size', 'Transfer-Encoding: chunked\n\nzz\n{}\n0\n\n'],
  ['a chunk size that overflows', 'Transfer-Encoding: chunked\n\nfffffffffffffffff\n{}\n0\n\n'],
])('a request with %s cannot smuggle another', async (_, rest) => {
  const { service, gateway } = start();
  const request = `POST /graphql HTTP/1.1\nHost: a\n${jsonType}${rest}${requestOf(gateway, write)}`;
  const response = await exchange(gateway.url, request);
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(response.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  expect(service.received).toEqual([]);
});

// A GET never writes

const mutation = encodeURIComponent(write);
const withToken = (gateway: { token: string }) =>
  `apollo-require-preflight: 1\n${authorized(gateway)}`;

test.each([
  '/graphql',
  `/graphql?query=${mutation}`,
  `/graphql?query=${encodeURIComponent(`\ufeff # comment\n,,${write}`)}`,
  `/graphql?query=${encodeURIComponent(`query A { __typename } ${write.replace('mutation', 'mutation B')}`)}&operationName=B`,
  `/graphql?query=${encodeURIComponent('mutation($a: WorkflowAction!) { workflowAction(action: $a) { __typename } }')}&variables=${encodeURIComponent('{"a":"RESTART"}')}`,
  `/graphql?query=%7B__typename%7D&query=${mutation}`,
  `/graphql?query=${mutation}&query=%7B__typename%7D`,
  `/graphql?query[]=${mutation}`,
  `/graphql?query%00=${mutation}`,
  `/graphql?%71uery=${mutation}`,
  `/%67raphql?query=${mutation}`,
  `/graphql?method=POST&_method=POST&query=${mutation}`,
])('GET %s has no effect, with or without a body and the name of another method', async (path) => {
  const { service, gateway } = start();
  const names = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'];
  const override = names.map((name) => `${name}: POST\n`).join('');
  for (const method of ['GET', 'HEAD']) {
    for (const more of [[withToken(gateway)], [`${override}${withToken(gateway)}`, writing]]) {
      const response = await exchange(gateway.url, requestOnly(`${method} ${path}`, ...more));
      expect(response).toMatch(/^HTTP\/1\.1 (400|404|405) /);
    }
  }
  expect(service.received).toEqual([]);
});

// Cross-site requests without a preflight

test.each([
  ...['text/plain', 'text/plain; charset=utf-8', 'text/plain; application/json', 'Text/Plain'],
  ...['text/plain;a=application/json', 'application/x-www-form-urlencoded'],
  'application/x-www-form-urlencoded; application/json',
  'multipart/form-data; boundary=application/json',
  ...['', undefined],
])('a cross-site POST of "%s" has no effect', async (type) => {
  const { service, gateway } = start();
  const authorization = `authorization: Bearer ${gateway.token}`;
  const contentType = type === undefined ? '' : `content-type: ${type}\n`;
  const headers = `origin: https://evil.example\n${contentType}${authorization}`;
  const response = await exchange(gateway.url, post(headers, writing));
  expect(response).toMatch(/^HTTP\/1\.1 (400|415) /);
  expect(response).not.toMatch(/^access-control-allow-origin:/im);
  expect(service.received).toEqual([]);
});

// Methods and paths

test('TRACE does not echo the request', async () => {
  const { gateway } = start();
  const request = requestOnly('TRACE /graphql', `${authorized(gateway)}x-canary: canary`);
  const response = await exchange(gateway.url, request);
  expect(response).toMatch(/^HTTP\/1\.1 405 /);
  for (const part of ['canary', gateway.token]) expect(response).not.toContain(part);
});

test('neither CONNECT nor an absolute URL turns the gateway into a proxy', async () => {
  const { service, gateway } = start();
  const { host } = new URL(service.url);
  const tunnel = `CONNECT ${host} HTTP/1.1\nHost: ${host}\n\n${get('/upgradeToHQ')}`;
  expect(await exchange(gateway.url, tunnel)).not.toMatch(/^HTTP\/1\.1 2/);
  const absolute = await exchange(gateway.url, get(`${service.url}upgradeToHQ`));
  expect(absolute).toMatch(/^HTTP\/1\.1 404 /);
  expect(service.received).toEqual([]);
});

test.each(['X-Forwarded-Host', 'X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix'])(
  '%s does not change the path',
  async (header) => {
    const { gateway } = start();
    const response = await exchange(gateway.url, get('/livez', `${header}: /metrics`));
    expect(response).toMatch(/\{"status":"ok"\}$/);
  },
);
