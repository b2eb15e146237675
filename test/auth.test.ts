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
import { createAuthenticate } from '../src/auth.ts';
import {
  closeAfterTest,
  closedPort,
  exchange,
  json,
  read,
  reply,
  startService,
  startTestGateway,
  write,
} from './helper.ts';

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

/** A token that is good but for what is given. */
function sign(
  claims: Record<string, unknown> = {},
  header: { alg?: string; kid?: string } = {},
  key: CryptoKey | Uint8Array = es256.privateKey,
) {
  return new SignJWT({ iss: 'issuer', aud: 'gateway', sub: 'ada', exp: now() + 600, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
    .sign(key);
}

const fine = json({ status: 0, service_status: { status: 0 }, list: [] });

async function start(variables: Record<string, string> = {}, keysUrl?: string) {
  const service = await startService(fine);
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
    ask: (token: string, query = read) =>
      gateway.graphql(query, undefined, { authorization: `Bearer ${token}` }),
    askAnonymously: (query: string) => askAnonymously(gateway.url, { query }),
  };
}

async function askAnonymously(url: string, body: unknown) {
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
    'that names no key',
    () =>
      new SignJWT({ iss: 'issuer', aud: 'gateway', exp: now() + 600 })
        .setProtectedHeader({ alg: 'ES256' })
        .sign(es256.privateKey),
  ],
  ['for several audiences', () => sign({ aud: ['other', 'gateway'] })],
])('a token %s is good, and goes to the service as it came', async (_, make) => {
  const { service, ask } = await start();
  const token = await make();

  const { status, errors } = await ask(token);

  expect(status).toBe(200);
  expect(errors).toBeUndefined();
  expect(service.received[0]?.headers.authorization).toBe(`Bearer ${token}`);
});

test.each([
  ['that has expired', () => sign({ exp: now() - 60 })],
  ['that is not valid yet', () => sign({ nbf: now() + 60 })],
  ['of another issuer', () => sign({ iss: 'other' })],
  ['without an issuer', () => sign({ iss: undefined })],
  ['for another audience', () => sign({ aud: 'other' })],
  ['without an audience', () => sign({ aud: undefined })],
  ['without an expiry', () => sign({ exp: undefined })],
  [
    'that is not signed',
    async () =>
      new UnsecuredJWT({})
        .setIssuer('issuer')
        .setAudience('gateway')
        .setExpirationTime('1h')
        .encode(),
  ],
  [
    'signed with the public key as a secret',
    async () =>
      sign(
        {},
        { alg: 'HS256', kid: 'two' },
        new TextEncoder().encode(await exportSPKI(rs256.publicKey)),
      ),
  ],
  ['signed with a foreign key', () => sign({}, {}, foreign.privateKey)],
  ['of an unknown key', () => sign({}, { kid: 'three' }, foreign.privateKey)],
  [
    'whose payload was changed',
    async () => {
      const [head, , signature] = (await sign()).split('.');
      const payload = JSON.stringify({ iss: 'issuer', aud: 'gateway', exp: now() + 9999 });
      return `${head}.${Buffer.from(payload).toString('base64url')}.${signature}`;
    },
  ],
  ['over 8 KB', () => sign({ padding: 'x'.repeat(8192) })],
  ['that is no JWT', async () => 'abc'],
  ['of three parts that are none', async () => 'a.b.c'],
])('a token %s is refused', async (_, make) => {
  const { service, gateway, ask } = await start();
  const token = await make();

  const { status, headers, data, errors, text } = await ask(token, '{ __typename }');

  expect(status).toBe(401);
  expect(headers.get('www-authenticate')).toMatch(/^Bearer\b/);
  expect(data ?? null).toBeNull();
  expect(errors).toEqual([
    { message: 'The bearer token is not valid.', extensions: unauthenticated },
  ]);
  expect(service.received).toEqual([]);
  expect(text + gateway.logText()).not.toContain(token.slice(0, 1000));
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
])('an Authorization of "%s" is refused', async (authorization) => {
  const { service, gateway } = await start();
  const answer = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nContent-Type: application/json\nContent-Length: 25\nAuthorization: ${authorization}\n\n{"query":"{ __typename }"}`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 401 /);
  expect(service.received).toEqual([]);
});

test('the scheme may be spelled as one likes', async () => {
  const { service, gateway } = await start();
  const token = await sign();
  const { errors } = await gateway.graphql(read, undefined, { authorization: `bearer ${token}` });
  expect(errors).toBeUndefined();
  expect(service.received[0]?.headers.authorization).toBe(`Bearer ${token}`);
});

test('two Authorization headers are refused, though both are good', async () => {
  const { service, gateway } = await start();
  const token = await sign();
  const body = JSON.stringify({ query: read });

  const answer = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nContent-Type: application/json\nContent-Length: ${body.length}\nAuthorization: Bearer ${token}\nauthorization: Bearer ${token}\n\n${body}`,
  );

  expect(answer).toMatch(/^HTTP\/1.1 401 /);
  expect(answer).toMatch(/^www-authenticate: Bearer/im);
  expect(service.received).toEqual([]);
});

test.each([
  ['a read', read],
  ['a write', write],
  [
    'a write with bad input',
    'mutation { result: saveApprovers(approvers: [{ approverId: "x" }]) { __typename } }',
  ],
  [
    'an upload with bad input',
    'mutation { result: uploadWorkflowCsv(input: { fileName: "a", option: 1 }) { __typename } }',
  ],
])('%s without a token is told to bring one', async (_, query) => {
  const { service, askAnonymously } = await start();

  const { status, challenge, body } = await askAnonymously(query);

  expect(status).toBe(401);
  expect(challenge).toBe('Bearer');
  expect(body.data).toEqual({ result: null });
  expect(body.errors).toEqual([
    expect.objectContaining({ path: ['result'], extensions: unauthenticated }),
  ]);
  expect(service.received).toEqual([]);
});

test('a read with bad input and without a token is told to bring one', async () => {
  const { gateway } = await start();
  const { status, body } = await askAnonymously(gateway.url, {
    query: 'query ($p: String!) { result: glCodes(target: EMAIL, project: $p) { __typename } }',
    variables: { p: '\ud800' },
  });
  expect(status).toBe(401);
  expect(body.errors[0].extensions.code).toBe('UNAUTHENTICATED');
});

test('{ __typename } needs no token', async () => {
  const { askAnonymously } = await start();
  expect(await askAnonymously('{ __typename }')).toEqual({
    status: 200,
    challenge: null,
    body: { data: { __typename: 'Query' } },
  });
});

test.each([
  ['{ __schema { queryType { name } } }', 'the schema'],
  ['{ __type(name: "GlCode") { name } }', 'a type'],
  ['{ _service { sdl } }', 'the SDL'],
])('INTROSPECTION decides whether a caller without a token sees it: %s', async (query) => {
  const open = await start({ INTROSPECTION: 'true' });
  const { status, body } = await open.askAnonymously(query);
  expect(status).toBe(200);
  expect(body.errors).toBeUndefined();

  const closed = await start({ INTROSPECTION: 'false' });
  const refused = await closed.askAnonymously(query);
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(refused.body.errors).toHaveLength(1);
  expect(JSON.stringify(refused.body)).not.toContain('GlCodeList');
});

test('INTROSPECTION does not let a bad token through', async () => {
  const { ask } = await start({ INTROSPECTION: 'true' });
  const { status } = await ask(await sign({ exp: 1 }), '{ __schema { queryType { name } } }');
  expect(status).toBe(401);
});

test.each([
  [3, '5', 200],
  [30, '5', 401],
  [3, '0', 401],
  [30, '60', 200],
])('expired %d s ago, with a tolerance of %s s: %d', async (ago, tolerance, expected) => {
  const { ask } = await start({ JWT_CLOCK_TOLERANCE_S: tolerance });
  expect((await ask(await sign({ exp: now() - ago }))).status).toBe(expected);
});

test('an algorithm that is not listed is refused', async () => {
  const { ask } = await start({ JWT_ALGORITHMS: 'RS256' });
  expect((await ask(await sign())).status).toBe(401);
  expect((await ask(await sign({}, { alg: 'RS256', kid: 'two' }, rs256.privateKey))).status).toBe(
    200,
  );
});

test('the keys are fetched once for many requests', async () => {
  const { keys, ask } = await start();
  const tokens = await Promise.all(Array.from({ length: 10 }, (_, n) => sign({ sub: `${n}` })));

  await Promise.all(tokens.map((token) => ask(token)));
  for (const token of tokens) expect((await ask(token)).status).toBe(200);

  expect(keys?.received).toHaveLength(1);
});

test('unknown keys do not make it fetch the keys each time', async () => {
  const { keys, ask } = await start();
  await ask(await sign());
  for (let n = 0; n < 5; n++) await ask(await sign({}, { kid: `unknown-${n}` }));
  expect(keys?.received.length).toBeLessThanOrEqual(2);
});

test('unknown keys do not make it ask a key server that is away each time', async () => {
  let away = false;
  const keys = await startService((response, received) =>
    (away ? reply(500) : json(jwks))(response, received),
  );
  const { ask } = await start({}, keys.url);
  await ask(await sign());
  away = true;
  const fetched = keys.received.length;
  // The keys are older than what jose leaves between two fetches of its own accord.
  const now = Date.now();
  const later = jest.spyOn(Date, 'now').mockImplementation(() => now + 31_000);
  for (let n = 0; n < 5; n++) {
    expect((await ask(await sign({}, { kid: `unknown-${n}` }))).status).toBe(401);
  }
  expect((await ask(await sign({ sub: 'someone-new' }))).status).toBe(200);
  later.mockRestore();
  expect(keys.received).toHaveLength(fetched + 1);
});

test('the last good keys serve while the key server is away', async () => {
  const { keys, ask } = await start();
  await ask(await sign());
  keys?.server.close();
  keys?.server.closeAllConnections();

  expect((await ask(await sign({ sub: 'someone-new' }))).status).toBe(200);
});

test('a key server that is away from the start is told, and comes back', async () => {
  let away = true;
  const keys = await startService((response, received) =>
    (away ? reply(500) : json(jwks))(response, received),
  );
  const { service, ask, askAnonymously } = await start({}, keys.url);
  const token = await sign();

  const { status, headers, errors } = await ask(token);
  expect(status).toBe(503);
  expect(headers.get('www-authenticate')).toBeNull();
  expect(errors).toEqual([
    {
      message: 'Tokens cannot be verified at the moment.',
      extensions: { code: 'AUTH_UNAVAILABLE', requestId: expect.any(String), retryable: true },
    },
  ]);
  expect((await askAnonymously('{ __typename }')).status).toBe(200);
  expect(service.received).toEqual([]);

  away = false;
  expect((await ask(token)).status).toBe(200);
});

test.each([
  ['cannot be reached', async () => `http://127.0.0.1:${await closedPort()}/`],
  ['answers with no JSON', async () => (await startService(reply(200, 'no keys'))).url],
  ['answers with no keys', async () => (await startService(json({}))).url],
  [
    'redirects',
    async () =>
      (await startService(reply(302, '', { location: (await startService(json(jwks))).url }))).url,
  ],
])('a key server that %s is no reason to let anyone in', async (_, makeUrl) => {
  const { service, ask } = await start({}, await makeUrl());
  const { status, errors } = await ask(await sign());
  expect(status).toBe(503);
  expect(errors?.[0]?.extensions.code).toBe('AUTH_UNAVAILABLE');
  expect(service.received).toEqual([]);
});

test('the keys may come from a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const file = join(folder, 'jwks.json');
  await writeFile(file, JSON.stringify(jwks));

  const { ask } = await start({ JWT_JWKS_URL: '', JWT_JWKS_FILE: file });

  expect((await ask(await sign())).status).toBe(200);
  expect((await ask(await sign({}, {}, foreign.privateKey))).status).toBe(401);
  expect((await ask(await sign({}, { kid: 'unknown' }))).status).toBe(401);
});

describe('a verified token is remembered', () => {
  const verify = jest.spyOn(crypto.subtle, 'verify');
  const monotonic = performance.now.bind(performance);
  let passed = 0;

  /** Time is the subject here: the wall clock, the monotonic one and timers move on together. */
  function wait(ms: number) {
    passed += ms;
    jest.advanceTimersByTime(ms);
  }

  beforeEach(() => {
    verify.mockClear();
    passed = 0;
    jest.useFakeTimers({
      doNotFake: ['performance', 'nextTick', 'setImmediate', 'queueMicrotask'],
    });
    jest.spyOn(performance, 'now').mockImplementation(() => monotonic() + passed);
  });
  afterEach(() => {
    jest.mocked(performance.now).mockRestore();
    jest.useRealTimers();
  });

  function create(clockToleranceS = 0) {
    const { authenticate } = createAuthenticate(
      { keys: jwks, issuer: 'issuer', audience: 'gateway', algorithms: ['ES256'], clockToleranceS },
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

  test('so that its signature is checked once', async () => {
    const authenticate = create();
    const token = await sign();
    expect(await authenticate(token)).toEqual({ token });
    expect(await authenticate(token)).toEqual({ token });
    expect(verify).toHaveBeenCalledTimes(1);
  });

  test('for a minute at most', async () => {
    const authenticate = create();
    const token = await sign();
    await authenticate(token);
    wait(59_000);
    await authenticate(token);
    expect(verify).toHaveBeenCalledTimes(1);
    wait(2_000);
    await authenticate(token);
    expect(verify).toHaveBeenCalledTimes(2);
  });

  test('not beyond its expiry', async () => {
    const authenticate = create();
    const token = await sign({ exp: now() + 10 });
    await authenticate(token);
    wait(11_000);
    await expect(authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('not within the clock tolerance after its expiry', async () => {
    const authenticate = create(30);
    const token = await sign({ exp: now() - 10 });
    await authenticate(token);
    await authenticate(token);
    expect(verify).toHaveBeenCalledTimes(2);
    wait(30_000);
    await expect(authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('and a bad one is not', async () => {
    const authenticate = create();
    const token = await sign({}, {}, foreign.privateKey);
    for (const _ of [1, 2]) {
      await expect(authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    }
    expect(verify).toHaveBeenCalledTimes(2);
  });
});
