import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JSONWebKeySet,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { pino } from 'pino';
import { createAuthenticator } from '../../src/auth/authenticate.ts';
import { closeAfterTest } from '../support/cleanup.ts';
import { startTestGateway } from '../support/gateway.ts';
import { read, write } from '../support/graphql-operation.ts';
import { metric } from '../support/metric.ts';
import { freePort } from '../support/port.ts';
import { exchange } from '../support/raw-request.ts';
import { json, reply, startService } from '../support/service.ts';

const now = () => Math.floor(Date.now() / 1000);
const es256 = await generateKeyPair('ES256', { extractable: true });
const rs256 = await generateKeyPair('RS256', { extractable: true });
const foreign = await generateKeyPair('ES256');
const jwks: JSONWebKeySet = {
  keys: [
    { ...(await exportJWK(es256.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' },
    { ...(await exportJWK(rs256.publicKey)), kid: 'two', alg: 'RS256', use: 'sig' },
  ],
};

/** A valid token, except for the given claims, header and key. */
function sign(
  claims: Record<string, unknown> = {},
  header: { alg?: string; kid?: string } = {},
  key: CryptoKey | Uint8Array = es256.privateKey,
) {
  return new SignJWT({ iss: 'issuer', aud: 'gateway', sub: 'ada', exp: now() + 600, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
    .sign(key);
}

const success = json({ status: 0, service_status: { status: 0 }, list: [] });

async function start(variables: Record<string, string> = {}, keysUrl?: string) {
  const service = await startService(success);
  const keys = keysUrl ? undefined : await startService(json(jwks));
  const gateway = await startTestGateway(service, {
    JWT_JWKS_URL: keysUrl ?? `${keys?.url}jwks.json`,
    JWT_ISSUER: 'issuer',
    JWT_AUDIENCE: 'gateway',
    ...variables,
  });
  return {
    service,
    keys,
    gateway,
    send: (token: string, query = read) =>
      gateway.graphql(query, undefined, { authorization: `Bearer ${token}` }),
    sendWithoutToken: (query: string) => sendWithoutToken(gateway.url, { query }),
  };
}

async function sendWithoutToken(url: string, body: unknown) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    body: JSON.parse(await response.text()),
  };
}

const unauthenticated = {
  code: 'UNAUTHENTICATED',
  requestId: expect.any(String),
  retryable: false,
};

test.each([
  ['with the first key', () => sign()],
  ['with the second key', () => sign({}, { alg: 'RS256', kid: 'two' }, rs256.privateKey)],
  [
    'without a key id',
    () =>
      new SignJWT({ iss: 'issuer', aud: 'gateway', exp: now() + 600 })
        .setProtectedHeader({ alg: 'ES256' })
        .sign(es256.privateKey),
  ],
  ['for several audiences', () => sign({ aud: ['other', 'gateway'] })],
])('a token %s is accepted and forwarded unchanged', async (_, make) => {
  const { service, send } = await start();
  const token = await make();

  const { status, errors } = await send(token);

  expect(status).toBe(200);
  expect(errors).toBeUndefined();
  expect(service.received[0]?.headers.authorization).toBe(`Bearer ${token}`);
});

test.each([
  ['that has expired', 'expired', () => sign({ exp: now() - 60 })],
  ['that is not valid yet', 'expired', () => sign({ nbf: now() + 60 })],
  ['of another issuer', 'issuer', () => sign({ iss: 'other' })],
  ['without an issuer', 'issuer', () => sign({ iss: undefined })],
  ['for another audience', 'audience', () => sign({ aud: 'other' })],
  ['without an audience', 'audience', () => sign({ aud: undefined })],
  ['without an expiry', 'malformed', () => sign({ exp: undefined })],
  [
    'that is not signed',
    'signature',
    async () =>
      new UnsecuredJWT({})
        .setIssuer('issuer')
        .setAudience('gateway')
        .setExpirationTime('1h')
        .encode(),
  ],
  [
    'signed with the public key as a secret',
    'signature',
    async () =>
      sign(
        {},
        { alg: 'HS256', kid: 'two' },
        new TextEncoder().encode(await exportSPKI(rs256.publicKey)),
      ),
  ],
  ['signed with a foreign key', 'signature', () => sign({}, {}, foreign.privateKey)],
  ['with an unknown key id', 'unknown_key', () => sign({}, { kid: 'three' }, foreign.privateKey)],
  [
    'with a changed payload',
    'signature',
    async () => {
      const [head, , signature] = (await sign()).split('.');
      const payload = JSON.stringify({ iss: 'issuer', aud: 'gateway', exp: now() + 9999 });
      return `${head}.${Buffer.from(payload).toString('base64url')}.${signature}`;
    },
  ],
  ['over 8 KB', 'malformed', () => sign({ padding: 'x'.repeat(8192) })],
  ['that is not a JWT', 'malformed', async () => 'abc'],
  ['of three parts that are not JSON', 'malformed', async () => 'a.b.c'],
])('a token %s is rejected, for the reason %s in the log and a metric', async (_, reason, make) => {
  const { service, gateway, send } = await start();
  const token = await make();

  const { status, headers, data, errors, text } = await send(token, '{ __typename }');

  expect(status).toBe(401);
  expect(headers.get('www-authenticate')).toMatch(/^Bearer\b/);
  expect(data ?? null).toBeNull();
  expect(errors).toEqual([
    { message: 'The bearer token is not valid.', extensions: unauthenticated },
  ]);
  expect(service.received).toEqual([]);
  expect(text + gateway.logText()).not.toContain(token.slice(0, 1000));
  expect(await gateway.logLine({ msg: 'request', status: 401 })).toMatchObject({ refusal: reason });
  expect(await metric(gateway, 'ledger_gateway_requests_refused_total', { reason })).toBe(1);
});

test.each([
  'Basic YTpi',
  'Bearer',
  'Bearer ',
  'Bearer a b',
  'Bearer a,b',
  'Bearer ü',
  'bearer',
  '',
])('an Authorization header of "%s" is rejected', async (authorization) => {
  const { service, gateway } = await start();
  const response = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nContent-Type: application/json\nContent-Length: 25\nAuthorization: ${authorization}\n\n{"query":"{ __typename }"}`,
  );
  expect(response).toMatch(/^HTTP\/1.1 401 /);
  expect(service.received).toEqual([]);
});

test('the scheme is case-insensitive', async () => {
  const { service, gateway } = await start();
  const token = await sign();
  const { errors } = await gateway.graphql(read, undefined, { authorization: `bearer ${token}` });
  expect(errors).toBeUndefined();
  expect(service.received[0]?.headers.authorization).toBe(`Bearer ${token}`);
});

test('two Authorization headers are rejected, even if both are valid', async () => {
  const { service, gateway } = await start();
  const token = await sign();
  const body = JSON.stringify({ query: read });

  const response = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nContent-Type: application/json\nContent-Length: ${body.length}\nAuthorization: Bearer ${token}\nauthorization: Bearer ${token}\n\n${body}`,
  );

  expect(response).toMatch(/^HTTP\/1.1 401 /);
  expect(response).toMatch(/^www-authenticate: Bearer/im);
  expect(service.received).toEqual([]);
});

test.each([
  ['a read', read],
  ['a write', write],
  [
    'a write with invalid input',
    'mutation { result: saveApprovers(approvers: [{ approverId: "x" }]) { __typename } }',
  ],
  [
    'an upload with invalid input',
    'mutation { result: uploadWorkflowCsv(input: { fileName: "a", option: 1 }) { __typename } }',
  ],
])('%s without a token is UNAUTHENTICATED', async (_, query) => {
  const { service, gateway, sendWithoutToken } = await start();

  const { status, challenge, body } = await sendWithoutToken(query);

  expect(status).toBe(401);
  expect(challenge).toBe('Bearer');
  expect(body).toEqual({ errors: [{ message: expect.any(String), extensions: unauthenticated }] });
  expect(service.received).toEqual([]);
  expect(await gateway.logLine({ msg: 'request' })).toMatchObject({ refusal: 'missing' });
  expect(
    await metric(gateway, 'ledger_gateway_requests_refused_total', { reason: 'missing' }),
  ).toBe(1);
});

test('a read with invalid input and without a token is UNAUTHENTICATED', async () => {
  const { gateway } = await start();
  const { status, body } = await sendWithoutToken(gateway.url, {
    query: 'query ($p: String!) { result: glCodes(target: EMAIL, project: $p) { __typename } }',
    variables: { p: '\ud800' },
  });
  expect(status).toBe(401);
  expect(body.errors[0].extensions.code).toBe('UNAUTHENTICATED');
});

test('a request without a token is rejected before its body has arrived', async () => {
  const { gateway } = await start();
  const head = 'POST /graphql HTTP/1.1\nhost: a\nconnection: close\ncontent-length: 65536\n\n';
  expect(await exchange(gateway.url, head)).toMatch(/^HTTP\/1\.1 401 /);
});

test.each([
  ['{ __schema { queryType { name } } }', 'the schema'],
  ['{ __type(name: "GlCode") { name } }', 'a type'],
  ['{ _service { sdl } }', 'the SDL'],
])('without a token, %s needs INTROSPECTION', async (query) => {
  const open = await start({ INTROSPECTION: 'true' });
  const { status, body } = await open.sendWithoutToken(query);
  expect(status).toBe(200);
  expect(body.errors).toBeUndefined();

  const closed = await start({ INTROSPECTION: 'false' });
  const rejected = await closed.sendWithoutToken(query);
  expect(rejected.status).toBeGreaterThanOrEqual(400);
  expect(rejected.body.errors).toHaveLength(1);
  expect(JSON.stringify(rejected.body)).not.toContain('GlCodeList');
});

test('with INTROSPECTION, an invalid token is still rejected', async () => {
  const { send } = await start({ INTROSPECTION: 'true' });
  const { status } = await send(await sign({ exp: 1 }), '{ __schema { queryType { name } } }');
  expect(status).toBe(401);
});

test.each([
  [3, '5', 200],
  [30, '5', 401],
  [3, '0', 401],
  [30, '60', 200],
])(
  'a token that expired %d s ago, with a clock tolerance of %s s, gets HTTP %d',
  async (ago, tolerance, expected) => {
    const { send } = await start({ JWT_CLOCK_TOLERANCE_S: tolerance });
    expect((await send(await sign({ exp: now() - ago }))).status).toBe(expected);
  },
);

test('an algorithm that is not listed is rejected', async () => {
  const { send } = await start({ JWT_ALGORITHMS: 'RS256' });
  expect((await send(await sign())).status).toBe(401);
  expect((await send(await sign({}, { alg: 'RS256', kid: 'two' }, rs256.privateKey))).status).toBe(
    200,
  );
});

test('the keys are fetched once for many requests', async () => {
  const { keys, send } = await start();
  const tokens = await Promise.all(Array.from({ length: 10 }, (_, n) => sign({ sub: `${n}` })));

  await Promise.all(tokens.map((token) => send(token)));
  for (const token of tokens) expect((await send(token)).status).toBe(200);

  expect(keys?.received).toHaveLength(1);
});

test('unknown key ids do not cause a request to the key server each time', async () => {
  const { keys, send } = await start();
  await send(await sign());
  for (let n = 0; n < 5; n++) await send(await sign({}, { kid: `unknown-${n}` }));
  expect(keys?.received.length).toBeLessThanOrEqual(2);
});

test('unknown key ids do not cause a request to a failing key server each time', async () => {
  let failing = false;
  const keys = await startService((response, received) =>
    (failing ? reply(500) : json(jwks))(response, received),
  );
  const { send } = await start({}, keys.url);
  await send(await sign());
  failing = true;
  const fetched = keys.received.length;
  // Later than the interval that jose itself keeps between two requests.
  const now = Date.now();
  const later = jest.spyOn(Date, 'now').mockImplementation(() => now + 31_000);
  for (let n = 0; n < 5; n++) {
    expect((await send(await sign({}, { kid: `unknown-${n}` }))).status).toBe(401);
  }
  expect((await send(await sign({ sub: 'new-user' }))).status).toBe(200);
  later.mockRestore();
  expect(keys.received).toHaveLength(fetched + 1);
});

test('the last known keys are used while the key server is unreachable', async () => {
  const { keys, send } = await start();
  await send(await sign());
  keys?.server.close();
  keys?.server.closeAllConnections();

  expect((await send(await sign({ sub: 'new-user' }))).status).toBe(200);
});

test('if the key server fails from the start, requests get AUTH_UNAVAILABLE until it recovers', async () => {
  let failing = true;
  const keys = await startService((response, received) =>
    (failing ? reply(500) : json(jwks))(response, received),
  );
  const { service, send } = await start({}, keys.url);
  const token = await sign();

  const { status, headers, errors } = await send(token);
  expect(status).toBe(503);
  expect(headers.get('www-authenticate')).toBeNull();
  expect(errors).toEqual([
    {
      message: 'Tokens cannot be verified at the moment.',
      extensions: { code: 'AUTH_UNAVAILABLE', requestId: expect.any(String), retryable: true },
    },
  ]);
  expect(service.received).toEqual([]);

  failing = false;
  expect((await send(token)).status).toBe(200);
});

test.each([
  ['cannot be reached', async () => `http://127.0.0.1:${await freePort()}/`],
  ['responds with invalid JSON', async () => (await startService(reply(200, 'not JSON'))).url],
  ['responds without keys', async () => (await startService(json({}))).url],
  [
    'redirects',
    async () =>
      (await startService(reply(302, '', { location: (await startService(json(jwks))).url }))).url,
  ],
])('no token is accepted if the key server %s', async (_, makeUrl) => {
  const { service, send } = await start({}, await makeUrl());
  const { status, errors } = await send(await sign());
  expect(status).toBe(503);
  expect(errors?.[0]?.extensions.code).toBe('AUTH_UNAVAILABLE');
  expect(service.received).toEqual([]);
});

test('the keys can be read from a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const file = join(folder, 'jwks.json');
  await writeFile(file, JSON.stringify(jwks));

  const { send } = await start({ JWT_JWKS_URL: '', JWT_JWKS_FILE: file });

  expect((await send(await sign())).status).toBe(200);
  expect((await send(await sign({}, {}, foreign.privateKey))).status).toBe(401);
  expect((await send(await sign({}, { kid: 'unknown' }))).status).toBe(401);
});

describe('a verified token', () => {
  const verify = jest.spyOn(crypto.subtle, 'verify');
  const monotonic = performance.now.bind(performance);
  let advancedMs = 0;

  /** Advances the wall clock, the monotonic clock and the timers together. */
  function advance(ms: number) {
    advancedMs += ms;
    jest.advanceTimersByTime(ms);
  }

  beforeEach(() => {
    verify.mockClear();
    advancedMs = 0;
    jest.useFakeTimers({
      doNotFake: ['performance', 'nextTick', 'setImmediate', 'queueMicrotask'],
    });
    jest.spyOn(performance, 'now').mockImplementation(() => monotonic() + advancedMs);
  });
  afterEach(() => {
    jest.mocked(performance.now).mockRestore();
    jest.useRealTimers();
  });

  function create(clockToleranceS = 0) {
    const { authenticate } = createAuthenticator(
      {
        keys: jwks,
        issuers: ['issuer'],
        audiences: ['gateway'],
        algorithms: ['ES256'],
        clockToleranceS,
      },
      pino({ level: 'silent' }),
      () => {},
    );
    return (token: string) => {
      const request = new IncomingMessage(new Socket());
      request.headers = { authorization: `Bearer ${token}` };
      request.rawHeaders = ['Authorization', `Bearer ${token}`];
      return authenticate(request);
    };
  }

  test('is cached, so that its signature is checked once', async () => {
    const authenticate = create();
    const token = await sign();
    const credentials = {
      token,
      caller: {
        issuer: 'issuer',
        subject: 'ada',
        hash: expect.any(String),
        account: expect.any(String),
      },
    };
    expect(await authenticate(token)).toEqual(credentials);
    expect(await authenticate(token)).toEqual(credentials);
    expect(verify).toHaveBeenCalledTimes(1);
  });

  test('has the same caller as another token of the same issuer and subject', async () => {
    const authenticate = create();
    const [first, refreshed, other] = [
      await authenticate(await sign()),
      await authenticate(await sign({ exp: now() + 900 })),
      await authenticate(await sign({ sub: 'grace' })),
    ];
    expect(refreshed?.token).not.toBe(first?.token);
    expect(refreshed?.caller).toEqual(first?.caller);
    expect(other?.caller.hash).not.toBe(first?.caller.hash);
  });

  test.each([
    ['a number', 9_007_199_254_740_992],
    ['an object', { id: 1 }],
    ['empty', ''],
  ])('with a subject that is %s counts as without one', async (_, sub) => {
    const result = await create()(await sign({ sub }));
    expect(result?.caller.subject).toBeNull();
  });

  test('without a subject has a caller of its own', async () => {
    const authenticate = create();
    const [first, second] = [
      await authenticate(await sign({ sub: undefined })),
      await authenticate(await sign({ sub: undefined, exp: now() + 900 })),
    ];
    expect(first?.caller).toMatchObject({ issuer: 'issuer', subject: null });
    expect(second?.caller.hash).not.toBe(first?.caller.hash);
    expect(second?.caller.account).toBe(first?.caller.account);
  });

  test('is cached for a minute at most', async () => {
    const authenticate = create();
    const token = await sign();
    await authenticate(token);
    advance(59_000);
    await authenticate(token);
    expect(verify).toHaveBeenCalledTimes(1);
    advance(2_000);
    await authenticate(token);
    expect(verify).toHaveBeenCalledTimes(2);
  });

  test('is not cached beyond its expiry', async () => {
    const authenticate = create();
    const token = await sign({ exp: now() + 10 });
    await authenticate(token);
    advance(11_000);
    await expect(authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('is not cached during the clock tolerance after its expiry', async () => {
    const authenticate = create(30);
    const token = await sign({ exp: now() - 10 });
    await authenticate(token);
    await authenticate(token);
    expect(verify).toHaveBeenCalledTimes(2);
    advance(30_000);
    await expect(authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('is cached, but a rejected one is not', async () => {
    const authenticate = create();
    const token = await sign({}, {}, foreign.privateKey);
    for (const _ of [1, 2]) {
      await expect(authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    }
    expect(verify).toHaveBeenCalledTimes(2);
  });
});
