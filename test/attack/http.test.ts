import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createServer } from '../../src/http.ts';
import {
  closeAfterTest,
  exchange,
  json,
  portOf,
  read,
  startService,
  startTestGateway,
  write,
} from '../helper.ts';

async function start(variables: Record<string, string> = {}) {
  const service = await startService(json({ status: 0, service_status: { status: 0 }, list: [] }));
  return { service, gateway: await startTestGateway(service, variables) };
}

const query = '{"query":"{ __typename }"}';
const post = (headers: string, body = query) =>
  `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nContent-Length: ${body.length}\n${headers}\n${body}`;
const get = (path: string, headers = '') =>
  `GET ${path} HTTP/1.1\nHost: a\nConnection: close\n${headers}\n`;

/** The headers of an answer as it came over the wire, by their names in small letters. */
function headersOf(answer: string): Map<string, string> {
  const [, ...lines] = answer.slice(0, answer.indexOf('\r\n\r\n')).split('\r\n');
  return new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
}

// Headers

const jsonType = 'Content-Type: application/json\n';

test.each([
  ['an answer', 200, post(jsonType)],
  [
    'an answer to a GET',
    200,
    get('/graphql?query=%7B__typename%7D', 'Apollo-Require-Preflight: 1\n'),
  ],
  ['a refused operation', 400, post(jsonType, '{"query":"{"}')],
  ['a body that is no JSON', 400, post(jsonType, '{')],
  ['a refused token', 401, post(`${jsonType}Authorization: Bearer x\n`)],
  ['a path that is not there', 404, get('/nothing')],
  ['a method that is not served', 405, `DELETE /graphql HTTP/1.1\nHost: a\nConnection: close\n\n`],
  [
    'a large body of a caller without a token',
    401,
    post(jsonType).replace(/Content-Length: \d+/, 'Content-Length: 99999999'),
  ],
  ['another content type', 415, post('Content-Type: text/plain\n')],
  ['liveness', 200, get('/livez')],
  ['readiness', 200, get('/readyz')],
  ['metrics', 200, get('/metrics')],
  [
    'a preflight',
    204,
    'OPTIONS /graphql HTTP/1.1\nHost: a\nConnection: close\nOrigin: https://a.example\nAccess-Control-Request-Method: POST\n\n',
  ],
  ['a page', 200, get('/graphql', 'Accept: text/html\n')],
  ['a path that cannot be decoded', 400, get('/%zz')],
])('%s carries the security headers', async (_, status, request) => {
  const { gateway } = await start({ EXPLORER: 'sandbox', CORS_ORIGINS: 'https://a.example' });
  const answer = await exchange(gateway.url, request);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  const headers = headersOf(answer);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
  expect(headers.get('content-security-policy')).not.toMatch(/unsafe-eval|script-src[^;]*\*/);
  expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d{7,}/);
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('x-frame-options')).toMatch(/^(DENY|SAMEORIGIN)$/);
  for (const telling of ['server', 'x-powered-by', 'etag', 'set-cookie']) {
    expect(headers.has(telling)).toBe(false);
  }
});

test('an answer to a GET is kept by nobody on its way', async () => {
  const { gateway } = await start();
  const response = await fetch(`${gateway.url}/graphql?query=${encodeURIComponent(read)}`, {
    headers: { authorization: `Bearer ${gateway.token}`, 'apollo-require-preflight': '1' },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toMatch(/\bno-store\b/);
});

// Slow clients

function startServer(graphql = async () => ({ data: null })) {
  return createServer({
    authenticate: async () => null,
    checkOperation() {},
    graphql,
    corsOrigins: [],
    explorer: undefined,
    isReady: () => true,
    isOverloaded: () => false,
    metrics: { text: async () => '', contentType: 'text/plain', answered() {}, shed() {} },
    log: pino({ level: 'silent' }),
  });
}

test('a client has ten seconds for its headers and thirty for its request', async () => {
  const { server } = await startServer();
  expect(server.headersTimeout).toBe(10_000);
  expect(server.requestTimeout).toBe(30_000);
  // Node looks for those who are late only this often.
  expect(Reflect.get(server, 'connectionsCheckingInterval')).toBeLessThanOrEqual(5_000);
});

test.each([
  ['never ends its headers', 'POST /graphql HTTP/1.1\r\nHost: a\r\nX-A: '],
  ['never sends anything', ''],
  [
    'never ends its body',
    `POST /graphql HTTP/1.1\r\nHost: a\r\n${jsonType.trim()}\r\nContent-Length: 100\r\n\r\n{`,
  ],
  [
    'never ends its chunks',
    `POST /graphql HTTP/1.1\r\nHost: a\r\n${jsonType.trim()}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{`,
  ],
])('a client that %s is hung up on', async (_, sent) => {
  const app = await startServer();
  closeAfterTest(async () => app.close());
  // The same server with less patience, so that the test need not wait as long as a client may.
  app.server.headersTimeout = 100;
  app.server.requestTimeout = 200;
  Reflect.set(app.server, 'connectionsCheckingInterval', 20);
  await app.listen({ host: '127.0.0.1', port: 0 });

  const socket = connect(portOf(app.server.address()), '127.0.0.1');
  closeAfterTest(async () => socket.destroy());
  socket.write(sent);

  expect(await text(socket)).toMatch(/^(HTTP\/1\.1 (401|408) |$)/);
});

test('a request that was told 408 is not executed once the rest of it comes', async () => {
  let executed = 0;
  const app = await startServer(async () => {
    executed += 1;
    return { data: null };
  });
  closeAfterTest(async () => app.close());
  app.server.headersTimeout = 100;
  app.server.requestTimeout = 200;
  Reflect.set(app.server, 'connectionsCheckingInterval', 20);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect({
    port: portOf(app.server.address()),
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  closeAfterTest(async () => socket.destroy());
  socket.on('error', () => {});
  const body = '{"query":"{ __typename }"}';
  socket.write(
    `POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n{`,
  );

  const ended = once(socket, 'end');
  const [answer] = await once(socket, 'data');
  socket.write(body.slice(1));
  socket.resume();
  await ended;
  const port = portOf(app.server.address());
  expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);

  expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /);
  expect(executed).toBe(0);
});

// Bodies

test('a body that is too large is refused before it is sent', async () => {
  const { gateway } = await start();
  // Announced and never sent: only who does not wait for it answers.
  const answer = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\nConnection: close\n${jsonType}Authorization: Bearer ${gateway.token}\nContent-Length: 16777217\n\n`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
});

test('a body that does not say how large it is is refused when it is too large', async () => {
  const { service, gateway } = await start();
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  closeAfterTest(async () => socket.destroy());
  // The gateway hangs up before all is sent.
  socket.on('error', () => {});
  const head = `POST /graphql HTTP/1.1\r\nHost: a\r\n${jsonType.trim()}\r\nAuthorization: Bearer ${gateway.token}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const chunk = `100000\r\n${' '.repeat(0x10_0000)}\r\n`;
  socket.write(head);
  let sent = 0;
  const sending = (async () => {
    while (!socket.destroyed && sent < 64) {
      sent += 1;
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
    }
  })().catch(() => {}); // Writing fails where it hangs up.
  // A reset overtakes the answer at times; what counts is that the rest is not listened to.
  const answer = await new Promise((resolve) => {
    socket.once('data', resolve).once('close', () => resolve('HTTP/1.1 413 lost'));
  });
  expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
  expect(sent).toBeLessThan(64);
  socket.destroy();
  await sending;
  expect(service.received).toEqual([]);
});

test('a caller without a token is not listened to for megabytes', async () => {
  const { gateway } = await start();
  // All that such a caller may ask is a short document; the large bodies are uploads.
  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ __typename }', variables: { a: 'x'.repeat(8_000_000) } }),
  });
  expect([401, 413]).toContain(response.status);
});

test('a compressed body is not unpacked', async () => {
  const { service, gateway } = await start();
  const { status } = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      authorization: `Bearer ${gateway.token}`,
    },
    body: gzipSync(JSON.stringify({ query: write })),
  });
  expect([400, 415]).toContain(status);
  expect(service.received).toEqual([]);
});

// Two requests where a proxy sees one

const smuggled = (token: string) => {
  const body = JSON.stringify({ query: write });
  return `POST /graphql HTTP/1.1\nHost: a\n${jsonType}Authorization: Bearer ${token}\nContent-Length: ${body.length}\n\n${body}`;
};

test.each([
  ['two lengths', 'Content-Length: 2\nContent-Length: 30\n\n{}'],
  ['two lengths in one', 'Content-Length: 2, 30\n\n{}'],
  ['a length with a sign', 'Content-Length: +2\n\n{}'],
  ['a length in hexadecimal', 'Content-Length: 0x2\n\n{}'],
  ['a negative length', 'Content-Length: -2\n\n{}'],
  ['a length and chunks', 'Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n'],
  ['chunks and a length', 'Transfer-Encoding: chunked\nContent-Length: 5\n\n0\n\n'],
  ['chunks by another name', 'Transfer-Encoding: xchunked\n\n0\n\n'],
  ['chunks that are not last', 'Transfer-Encoding: chunked, identity\n\n0\n\n'],
  ['chunks twice', 'Transfer-Encoding: chunked\nTransfer-Encoding: identity\n\n0\n\n'],
  ['a space before the colon', 'Transfer-Encoding : chunked\n\n0\n\n'],
  ['a folded header', 'Transfer-Encoding:\n chunked\n\n0\n\n'],
  ['a control character in the name', 'Transfer-\u000bEncoding: chunked\n\n0\n\n'],
  ['a chunk size that is none', 'Transfer-Encoding: chunked\n\nzz\n{}\n0\n\n'],
  ['a chunk size beyond counting', 'Transfer-Encoding: chunked\n\nfffffffffffffffff\n{}\n0\n\n'],
])('a request with %s takes none with it', async (_, rest) => {
  const { service, gateway } = await start();
  const answer = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\n${jsonType}${rest}${smuggled(gateway.token)}`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  expect(service.received).toEqual([]);
});

test('a header that ends in a bare line feed is none', async () => {
  const { service, gateway } = await start();
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  closeAfterTest(async () => socket.destroy());
  socket.write(`GET /livez HTTP/1.1\nHost: a\n\n${smuggled(gateway.token)}`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect(service.received).toEqual([]);
});

// GET asks, and never does

const mutation = encodeURIComponent(write);
test.each([
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
])('GET %s does nothing', async (path) => {
  const { service, gateway } = await start();
  for (const method of ['GET', 'HEAD']) {
    const answer = await exchange(
      gateway.url,
      `${method} ${path} HTTP/1.1\nHost: a\nConnection: close\n${jsonType}Apollo-Require-Preflight: 1\nAuthorization: Bearer ${gateway.token}\n\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 (400|405) /);
  }
  expect(service.received).toEqual([]);
});

test('a GET with a body does not do what the body says', async () => {
  const { service, gateway } = await start();
  const answer = await exchange(
    gateway.url,
    smuggled(gateway.token).replace('POST', 'GET').replace('Host: a', 'Host: a\nConnection: close'),
  );
  expect(answer).toMatch(/^HTTP\/1\.1 (400|405) /);
  expect(service.received).toEqual([]);
});

test.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])(
  '%s changes no method',
  async (header) => {
    const { service, gateway } = await start();
    const headers = `${header}: POST\n${jsonType}Apollo-Require-Preflight: 1\nAuthorization: Bearer ${gateway.token}\n`;
    const asked = await exchange(gateway.url, get(`/graphql?query=${mutation}`, headers));
    expect(asked).toMatch(/^HTTP\/1\.1 405 /);
    const posted = await exchange(
      gateway.url,
      post(`${header}: DELETE\n${jsonType}Authorization: Bearer ${gateway.token}\n`),
    );
    expect(posted).toMatch(/^HTTP\/1\.1 200 /);
    expect(service.received).toEqual([]);
  },
);

// What a page of another origin could send without asking

test.each([
  'text/plain',
  'text/plain; charset=utf-8',
  'text/plain; application/json',
  'text/plain;a=application/json',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; application/json',
  'multipart/form-data; boundary=application/json',
  'Text/Plain',
  '',
])('a POST of "%s" from a page does nothing', async (contentType) => {
  const { service, gateway } = await start();
  const body = JSON.stringify({ query: write });
  const answer = await exchange(
    gateway.url,
    post(
      `Origin: https://evil.example\nContent-Type: ${contentType}\nAuthorization: Bearer ${gateway.token}\n`,
      body,
    ),
  );
  expect(answer).toMatch(/^HTTP\/1\.1 (400|415) /);
  expect(headersOf(answer).has('access-control-allow-origin')).toBe(false);
  expect(service.received).toEqual([]);
});

// Methods and paths

test('TRACE gives nothing back of what it was sent', async () => {
  const { gateway } = await start();
  const answer = await exchange(
    gateway.url,
    `TRACE /graphql HTTP/1.1\nHost: a\nConnection: close\nAuthorization: Bearer ${gateway.token}\nX-Canary: canary\n\n`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 405 /);
  expect(answer).not.toContain('canary');
  expect(answer).not.toContain(gateway.token);
});

test('CONNECT makes it no proxy', async () => {
  const { service, gateway } = await start();
  const { host } = new URL(service.url);
  const answer = await exchange(
    gateway.url,
    `CONNECT ${host} HTTP/1.1\nHost: ${host}\n\n${get('/upgradeToHQ')}`,
  );
  expect(answer).not.toMatch(/^HTTP\/1\.1 2/);
  expect(service.received).toEqual([]);
});

test('an absolute address makes it no proxy', async () => {
  const { service, gateway } = await start();
  const answer = await exchange(gateway.url, get(`${service.url}upgradeToHQ`));
  expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  expect(service.received).toEqual([]);
});

test.each([
  '/graphql/',
  '//graphql',
  '/GRAPHQL',
  '/graphql%2f',
  '/graphql%00',
  '/graphql;a=b',
  '/graphql.json',
  '/./graphql',
  '/livez/../graphql',
  '/livez/..%2fgraphql',
  '/livez%2f..%2fgraphql',
  '/%2567raphql',
  '/graphql%20',
  '/\\graphql',
])('%s is no way around the token', async (path) => {
  const { service, gateway } = await start();
  const body = JSON.stringify({ query: write });
  const answer = await exchange(
    gateway.url,
    post(`${jsonType}Authorization: Bearer x\n`, body).replace('/graphql', path),
  );
  expect(answer).toMatch(/^HTTP\/1\.1 (400|401|404|405) /);
  expect(service.received).toEqual([]);
});

test.each(['X-Forwarded-Host', 'X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix'])(
  '%s leads nowhere else',
  async (header) => {
    const { gateway } = await start();
    const answer = await exchange(gateway.url, get('/livez', `${header}: /metrics\n`));
    expect(answer).toMatch(/\{"status":"ok"\}$/);
  },
);
