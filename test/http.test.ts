import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, jest, test } from '@jest/globals';
import { exchange, json, read, startService, startTestGateway, write } from './helper.ts';
import { startHeldService } from './upstream/held.ts';

async function start(variables: Record<string, string> = {}) {
  const service = await startService(json({ status: 0, service_status: { status: 0 }, list: [] }));
  const gateway = await startTestGateway(service, variables);
  return {
    service,
    gateway,
    async ask(path: string, init: RequestInit = {}) {
      const response = await fetch(gateway.url + path, init);
      return { response, body: (await response.text()) || undefined };
    },
  };
}

/** The shape of every error that HTTP itself gives rise to. */
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

test.each(['/livez', '/readyz'])('%s tells that all is well, to anyone', async (path) => {
  const { ask } = await start();
  const { response, body } = await ask(path);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  expect(body).toBe('{"status":"ok"}');
});

test('/readyz tells that it drains, while requests are still answered', async () => {
  const { gateway, ask } = await start({ SHUTDOWN_DELAY_MS: '500' });

  const closed = gateway.close();

  expect((await ask('/readyz')).response.status).toBe(503);
  expect((await ask('/livez')).response.status).toBe(200);
  expect((await gateway.graphql(read)).data.result.__typename).toBe('GlCodeList');
  await closed;
  await expect(ask('/livez')).rejects.toThrow();
});

test.each(['/', '/nothing', '/graphql/', '/graphql/x', '/livez/x'])(
  '%s is not found',
  async (path) => {
    const { ask } = await start();
    const { response, body } = await ask(path);
    expect(response.status).toBe(404);
    expect(JSON.parse(body ?? '')).toEqual(errorBody('NOT_FOUND'));
  },
);

test.each([
  ['PUT', '/graphql', ['GET', 'POST']],
  ['DELETE', '/graphql', ['GET', 'POST']],
  ['PATCH', '/graphql?query=x', ['GET', 'POST']],
  ['POST', '/livez', ['GET']],
  ['DELETE', '/readyz', ['GET']],
])('%s %s is not allowed', async (method, path, allowed) => {
  const { ask } = await start();
  const { response, body } = await ask(path, { method });
  expect(response.status).toBe(405);
  const allow = (response.headers.get('allow') ?? '').split(/, */);
  expect(allow.filter((name) => name !== 'HEAD' && name !== 'OPTIONS')).toEqual(allowed);
  expect(JSON.parse(body ?? '')).toEqual(errorBody('METHOD_NOT_ALLOWED'));
});

const query = '{"query":"{ __typename }"}';

test.each([
  ['invalid JSON', '{', 'application/json', 400, 'BAD_REQUEST'],
  ['no body', '', 'application/json', 400, 'BAD_REQUEST'],
  ['a JSON text', '"x"', 'application/json', 400, 'BAD_REQUEST'],
  ['a JSON null', 'null', 'application/json', 400, 'BAD_REQUEST'],
  ['no query', '{}', 'application/json', 400, 'BAD_REQUEST'],
  ['a query that is no text', '{"query":1}', 'application/json', 400, 'BAD_REQUEST'],
  [
    'variables that are no object',
    '{"query":"{ a }","variables":"x"}',
    'application/json',
    400,
    'BAD_REQUEST',
  ],
  ['a batch', `[${query}]`, 'application/json', 400, 'BAD_REQUEST'],
  ['an empty batch', '[]', 'application/json', 400, 'BAD_REQUEST'],
  ['plain text', query, 'text/plain', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['a form', 'query=x', 'application/x-www-form-urlencoded', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['a multipart form', '--a--', 'multipart/form-data; boundary=a', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  [
    'a body that is too large',
    ' '.repeat(16_777_217),
    'application/json',
    413,
    'PAYLOAD_TOO_LARGE',
  ],
])('a POST with %s is refused', async (_, body, contentType, status, code) => {
  const { service, gateway } = await start();

  const answer = await gateway.post(body, { 'content-type': contentType });

  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(JSON.parse(answer.text)).toEqual(errorBody(code));
  expect(service.received).toEqual([]);
});

test('a POST without a content type is refused', async () => {
  const { gateway } = await start();
  const answer = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nContent-Length: ${query.length}\n\n${query}`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 415 /);
  expect(JSON.parse(bodyOf(answer))).toEqual(errorBody('UNSUPPORTED_MEDIA_TYPE'));
});

test.each(['application/json; charset=utf-8', 'Application/JSON'])(
  'a POST of %s is read',
  async (contentType) => {
    const { gateway } = await start();
    const { data } = await gateway.graphql('{ __typename }', {}, { 'content-type': contentType });
    expect(data).toEqual({ __typename: 'Query' });
  },
);

test('a batch of writes sends nothing', async () => {
  const { service, gateway } = await start();
  const { status } = await gateway.post([{ query: write }, { query: write }]);
  expect(status).toBe(400);
  expect(service.received).toEqual([]);
});

test('a GET asks a query, where the caller is no plain page', async () => {
  const { gateway, ask } = await start();
  const { response, body } = await ask(`/graphql?query=${encodeURIComponent(read)}`, {
    headers: { authorization: `Bearer ${gateway.token}`, 'apollo-require-preflight': '1' },
  });
  expect(response.status).toBe(200);
  expect(JSON.parse(body ?? '').data.result.__typename).toBe('GlCodeList');
});

test('a GET that any page could send is refused', async () => {
  const { service, gateway, ask } = await start();
  const { response, body } = await ask(`/graphql?query=${encodeURIComponent(read)}`, {
    headers: { authorization: `Bearer ${gateway.token}` },
  });
  expect(response.status).toBe(400);
  expect(JSON.parse(body ?? '')).toEqual(errorBody('BAD_REQUEST'));
  expect(service.received).toEqual([]);
});

test.each(['GET', 'HEAD'])('a %s never writes', async (method) => {
  const { service, gateway, ask } = await start();
  const { response, body } = await ask(`/graphql?query=${encodeURIComponent(write)}`, {
    method,
    headers: { authorization: `Bearer ${gateway.token}`, 'apollo-require-preflight': '1' },
  });
  expect(response.status).toBe(405);
  if (method === 'GET') {
    expect(response.headers.get('allow')).toBe('POST');
    expect(JSON.parse(body ?? '')).toEqual(errorBody('BAD_REQUEST'));
  }
  expect(service.received).toEqual([]);
});

test('a query in the address of a POST is not looked at', async () => {
  const { service, gateway } = await start();
  const response = await fetch(`${gateway.url}/graphql?query=${encodeURIComponent(write)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(response.status).toBe(400);
  expect(service.received).toEqual([]);
});

test('only the origins that are configured may read from a page', async () => {
  const { ask } = await start({ CORS_ORIGINS: 'https://a.example,http://localhost:3000' });
  const preflight = (origin: string) =>
    ask('/graphql', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });

  for (const origin of ['https://a.example', 'http://localhost:3000']) {
    const { response } = await preflight(origin);
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('vary')).toMatch(/\borigin\b/i);
    expect(response.headers.get('access-control-allow-headers')).toMatch(/authorization/);
    expect(response.headers.get('access-control-allow-methods')).toBe('GET, POST');
  }
  for (const origin of [
    'https://b.example',
    'http://a.example',
    'https://a.example.evil.example',
    'https://evila.example',
    'https://a.example:8443',
    'null',
  ]) {
    const { response } = await preflight(origin);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('errors can be read from a page, too', async () => {
  const { ask } = await start({ CORS_ORIGINS: 'https://a.example' });
  const { response } = await ask('/graphql', {
    method: 'POST',
    headers: {
      origin: 'https://a.example',
      'content-type': 'application/json',
      authorization: 'Bearer x',
    },
    body: query,
  });
  expect(response.status).toBe(401);
  expect(response.headers.get('access-control-allow-origin')).toBe('https://a.example');
  expect(response.headers.get('access-control-expose-headers')).toMatch(/x-request-id/);
});

test('without CORS_ORIGINS no page may read anything', async () => {
  const { ask } = await start();
  const { response } = await ask('/livez', { headers: { origin: 'https://a.example' } });
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
});

test.each(['a', 'req-1', '00-4bf92f3577b34da6a3ce929d0e0e4736-01', 'a.b_c:d', 'x'.repeat(128)])(
  'the request id %s is taken over',
  async (id) => {
    const { service, gateway } = await start();
    const { headers } = await gateway.graphql(read, {}, { 'x-request-id': id });
    expect(headers.get('x-request-id')).toBe(id);
    expect(service.received[0]?.headers['x-request-id']).toBe(id);
  },
);

test.each(['', 'a b', 'a,b', 'a"b', '{"a":1}', '<script>', '../..', 'x'.repeat(129)])(
  'the request id "%s" is replaced',
  async (id) => {
    const { service, gateway } = await start();
    const { headers } = await gateway.graphql(read, {}, { 'x-request-id': id });
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(service.received[0]?.headers['x-request-id']).toBe(headers.get('x-request-id'));
  },
);

test('each request without an id gets one of its own, also where it fails', async () => {
  const { ask } = await start();
  const ids = new Set<string | undefined>();
  for (const path of ['/livez', '/nothing', '/graphql', '/livez']) {
    const { response, body } = await ask(path);
    const id = response.headers.get('x-request-id') ?? undefined;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    if (!response.ok) expect(JSON.parse(body ?? '').errors[0].extensions.requestId).toBe(id);
    ids.add(id);
  }
  expect(ids.size).toBe(4);
});

test('two x-request-id headers are none', async () => {
  const { gateway } = await start();
  const answer = await exchange(
    gateway.url,
    'GET /livez HTTP/1.1\nHost: a\nConnection: close\nX-Request-Id: a\nX-Request-Id: b\n\n',
  );
  expect(answer).toMatch(/^x-request-id: [0-9a-f-]{36}\r$/im);
});

test.each([
  ['a path that cannot be decoded', 'GET /%zz HTTP/1.1\nHost: a\nConnection: close\n\n', 400],
  ['no HTTP', 'hello\n\n', 400],
  ['headers that are too large', `GET /livez HTTP/1.1\nHost: a\nX: ${'x'.repeat(20_000)}\n\n`, 431],
  ['a method that nobody knows', 'BREW /graphql HTTP/1.1\nHost: a\nConnection: close\n\n', 400],
])('%s is answered in the shape of all errors', async (_, request, status) => {
  const { gateway } = await start({ CORS_ORIGINS: 'https://a.example' });
  const answer = await exchange(gateway.url, request);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(answer).toMatch(/^content-type: application\/json/im);
  expect(JSON.parse(bodyOf(answer))).toEqual(errorBody());
});

test('an OPTIONS that is no preflight is not answered in plain text', async () => {
  const { gateway } = await start({ CORS_ORIGINS: 'https://a.example' });
  const answer = await exchange(
    gateway.url,
    'OPTIONS /graphql HTTP/1.1\nHost: a\nOrigin: https://a.example\nConnection: close\n\n',
  );
  expect(answer).not.toMatch(/^content-type: text\/plain/im);
});

test('a body is not read from a caller with a bad token', async () => {
  const { gateway } = await start();
  // The body is announced and never comes: only a gateway that does not wait for it answers.
  const answer = await exchange(
    gateway.url,
    'POST /graphql HTTP/1.1\nHost: a\nConnection: close\nAuthorization: Bearer x\nContent-Type: application/json\nContent-Length: 1000000\n\n',
  );
  expect(answer).toMatch(/^HTTP\/1.1 401 /);
});

test('answers carry what keeps a browser from guessing', async () => {
  const { gateway } = await start();
  const { headers } = await gateway.graphql('{ __typename }');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toMatch(/default-src 'none'/);
  expect(headers.get('x-powered-by')).toBeNull();
});

test('nothing is said of the schema to a caller who guesses, without introspection', async () => {
  const { gateway } = await start();
  const { status, text } = await gateway.graphql('{ glCode }');
  expect(status).toBe(400);
  expect(text).not.toContain('glCodes');
});

test('a request after the gateway closed is refused by its port', async () => {
  const { gateway, ask } = await start();
  await gateway.close();
  await expect(ask('/livez')).rejects.toThrow();
});

/** The body of an answer as it came over the wire. */
function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}

test('requests in line on one connection all end when their caller goes', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  for (const n of [1, 2, 3]) {
    const body = JSON.stringify({ query: read.replace('north', `p${n}`) });
    socket.write(
      [
        'POST /graphql HTTP/1.1',
        'host: a',
        'content-type: application/json',
        `authorization: Bearer ${gateway.token}`,
        `x-request-id: line-${n}`,
        `content-length: ${body.length}`,
        '',
        body,
      ].join('\r\n'),
    );
  }
  await service.arrived(3);
  socket.destroy();
  for (const n of [1, 2, 3]) {
    await gateway.logLine({ msg: 'request', requestId: `line-${n}`, outcome: 'CLIENT_GONE' });
  }
  await service.idle();
});

test('a path that is none is logged and counted like any other request', async () => {
  const { gateway } = await start();
  const answer = await exchange(gateway.url, 'GET /%zz HTTP/1.1\nHost: a\nConnection: close\n\n');
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  await gateway.logLine({ msg: 'request', outcome: 'BAD_REQUEST', status: 400 });
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toContain('ledger_gateway_http_requests_total{status="400"} 1');
});

/** A long list, and a caller on a bare connection who asks for it and does not read on. */
async function askWithoutReading() {
  const list = Array(20_000).fill({ Code: '4711', Name: 'x'.repeat(200), Value: 'y', Hide: 0 });
  const service = await startService(json({ service_status: { status: 0 }, list }));
  const gateway = await startTestGateway(service);
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  const body = JSON.stringify({ query: read.replace('{ code }', '{ code name }') });
  socket.write(
    [
      'POST /graphql HTTP/1.1',
      'host: a',
      'connection: close',
      'content-type: application/json',
      `authorization: Bearer ${gateway.token}`,
      `content-length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  );
  await once(socket, 'readable');
  return { gateway, socket };
}

test('an answer that its caller is still reading is not cut by a close', async () => {
  const { gateway, socket } = await askWithoutReading();
  const closed = gateway.close();
  const answer = await text(socket);
  const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
  expect(length).toBeGreaterThan(4_000_000);
  expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toHaveLength(length);
  await closed;
});

test('a caller who does not take an answer in is hung up on', async () => {
  const later = globalThis.setTimeout;
  const minutes = jest
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((run, ms) => later(run, ms === 60_000 ? 50 : ms));
  const { gateway, socket } = await askWithoutReading();
  await gateway.logLine({ msg: 'request', outcome: 'CLIENT_GONE' });
  minutes.mockRestore();
  socket.destroy();
});
