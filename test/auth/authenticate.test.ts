import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type JWK, UnsecuredJWT } from 'jose';
import type { JwtConfig } from '../../src/auth/verify.ts';
import { read, write } from '../../testkit/graphql-operation.ts';
import { metric } from '../../testkit/metric.ts';
import { json, reply, startService, success } from '../../testkit/service.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';
import { createTestAuthenticator, issuersOf } from '../support/authenticator.ts';
import { createSigningKey } from '../support/signing-key.ts';
import { startStack } from '../support/stack.ts';

const now = () => Math.floor(Date.now() / 1000);
const [es256, rs256, foreign] = [
  await createSigningKey('one'),
  await createSigningKey('two', 'RS256'),
  await createSigningKey('one'),
];
const jwks = { keys: [es256.jwk, rs256.jwk] };
const { sign } = es256;

/** A gateway with the keys of a file. */
async function start(variables: Record<string, string> = {}) {
  const file = await temporaryFile(JSON.stringify(jwks));
  const { service, gateway } = await startStack(success, {
    JWT_JWKS_URL: '',
    JWT_JWKS_FILE: file,
    JWT_ISSUER: 'issuer',
    JWT_AUDIENCE: 'gateway',
    ...variables,
  });
  return {
    service,
    gateway,
    send: (token: string, query = read) =>
      gateway.graphql(query, undefined, { authorization: `Bearer ${token}` }),
  };
}

const unauthenticated = {
  code: 'UNAUTHENTICATED',
  requestId: expect.any(String),
  retryable: false,
};

test('a token that is not valid is a 401, with the reason in the log and a metric only', async () => {
  const { service, gateway, send } = await start({ INTROSPECTION: 'true' });
  const token = await sign({ exp: now() - 60 });

  const { status, headers, data, errors, text } = await send(token, '{ __typename }');

  expect(status).toBe(401);
  expect(headers.get('www-authenticate')).toMatch(/^Bearer\b/);
  expect(data ?? null).toBeNull();
  expect(errors).toEqual([
    { message: 'The bearer token is not valid.', extensions: unauthenticated },
  ]);
  expect(service.received).toEqual([]);
  expect(text + gateway.logText()).not.toContain(token);
  const reason = 'expired';
  expect(await gateway.logLine({ msg: 'request', status: 401 })).toMatchObject({ refusal: reason });
  expect(await metric(gateway, 'ledger_gateway_requests_refused_total', { reason })).toBe(1);
});

test('/readyz is 200 with the keys of one issuer; tokens of an issuer that is down get 503', async () => {
  const fetched = 'ledger_gateway_keys_last_fetch_timestamp_seconds';
  const age = 'ledger_gateway_keys_age_seconds';
  let isDown = true;
  const issuer = await startService((response, received) => {
    const { url } = received;
    if (isDown || url.startsWith('/two')) return reply(500)(response, received);
    return json(url === '/one/keys' ? jwks : { issuer: one, jwks_uri: `${one}/keys` })(
      response,
      received,
    );
  });
  const [one, two] = [`${issuer.url}one`, `${issuer.url}two`];
  const { gateway, service, send } = await start({
    JWT_JWKS_FILE: '',
    JWT_ISSUER: `${one}, ${two}`,
  });
  const state = async () => [
    (await fetch(`${gateway.url}/readyz`)).status,
    await metric(gateway, 'ledger_gateway_ready'),
    (await metric(gateway, fetched, { issuer: one })) > Date.now() / 1000 - 60,
    (await metric(gateway, age, { issuer: one })) < 60,
    await metric(gateway, fetched, { issuer: two }),
    await metric(gateway, age, { issuer: two }),
  ];
  for (const name of [one, two]) await gateway.logLine({ msg: 'cannot fetch keys', issuer: name });
  expect(await state()).toEqual([503, 0, false, false, 0, Infinity]);

  isDown = false;
  await gateway.logLine({ msg: 'keys fetched', issuer: one });
  expect(await state()).toEqual([200, 1, true, true, 0, Infinity]);

  expect((await send(await sign({ iss: one }))).status).toBe(200);
  const { status, headers, errors } = await send(await sign({ iss: two }));
  expect([status, headers.get('www-authenticate')]).toEqual([503, null]);
  expect(errors).toEqual([
    {
      message: 'Tokens cannot be verified at the moment.',
      extensions: { code: 'AUTH_UNAVAILABLE', requestId: expect.any(String), retryable: true },
    },
  ]);
  expect(service.received).toHaveLength(1);
  const reason = 'keys_unavailable';
  expect(await gateway.logLine({ msg: 'request', path: '/graphql', status: 503 })).toMatchObject({
    refusal: reason,
  });
  expect(await metric(gateway, 'ledger_gateway_requests_refused_total', { reason })).toBe(1);
});

const expiredAgo = (seconds: number) => () => sign({ exp: now() - seconds });
const unsigned = new UnsecuredJWT({ iss: 'issuer', aud: 'gateway', exp: now() + 600 }).encode();

test.each<[string, string, () => string | Promise<string>, changed?: Partial<JwtConfig>]>([
  ['of the first key', 'accepted', () => sign()],
  ['of the second key', 'accepted', () => rs256.sign()],
  ['without a key id', 'accepted', () => sign({}, { kid: undefined })],
  ['for several audiences', 'accepted', () => sign({ aud: ['other', 'gateway'] })],
  ['that expired 3 s ago, of 5 permitted', 'accepted', expiredAgo(3), { clockToleranceS: 5 }],
  ['that expired 30 s ago, of 5 permitted', 'expired', expiredAgo(30), { clockToleranceS: 5 }],
  ['that expired 3 s ago, of 0 permitted', 'expired', expiredAgo(3), { clockToleranceS: 0 }],
  ['that expired 30 s ago, of 60 permitted', 'accepted', expiredAgo(30), { clockToleranceS: 60 }],
  ['of another algorithm', 'signature', () => sign(), { algorithms: ['RS256'] }],
  ['of the only algorithm', 'accepted', () => rs256.sign(), { algorithms: ['RS256'] }],
  ['that is not valid yet', 'not_yet_valid', () => sign({ nbf: now() + 60 })],
  ['of another issuer', 'issuer', () => sign({ iss: 'other' })],
  ['without an issuer', 'issuer', () => sign({ iss: undefined })],
  ['for another audience', 'audience', () => sign({ aud: 'other' })],
  ['without an audience', 'audience', () => sign({ aud: undefined })],
  ['without an expiry', 'malformed', () => sign({ exp: undefined })],
  ['that is not signed', 'signature', () => unsigned],
  ['of a foreign key', 'signature', () => foreign.sign()],
  ['of an unknown key id', 'unknown_key', () => foreign.sign({}, { kid: 'three' })],
  ['of any type', 'accepted', () => sign({}, { typ: 'anything' })],
  ...[
    'dpop+jwt',
    'application/DPoP+JWT',
    'logout+jwt',
    'secevent+jwt',
    'token-introspection+jwt',
  ].map((typ): [string, string, () => Promise<string>] => [
    `of type ${typ}, which is no access token`,
    'type',
    () => sign({}, { typ }),
  ]),
  ...['at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/AT+jwt', 'jwt'].map(
    (typ): [string, string, () => Promise<string>, Partial<JwtConfig>] => [
      `of type ${typ}, of at+jwt and jwt`,
      'accepted',
      () => sign({}, { typ }),
      { types: ['at+jwt', 'jwt'] },
    ],
  ),
  ['of another type', 'type', () => sign({}, { typ: 'JWT' }), { types: ['at+jwt'] }],
  ['without a type', 'type', () => sign(), { types: ['at+jwt'] }],
  ['of a type that is no text', 'type', () => sign({}, { typ: ['at+jwt'] }), { types: ['at+jwt'] }],
  [
    'of a type that ends like one',
    'type',
    () => sign({}, { typ: 'text/at+jwt' }),
    { types: ['at+jwt'] },
  ],
  ['of a type, signed by a foreign key', 'signature', () => foreign.sign({}, { typ: 'dpop+jwt' })],
  ['with the hash of an access token', 'type', () => sign({ at_hash: 'a' })],
  ['with the hash of a code', 'type', () => sign({ c_hash: 'a' })],
  // Keycloak writes the kind of a token in this claim, and `Bearer` or `DPoP` in an access token.
  ...['ID', 'Refresh', 'Offline', 'Logout'].map((typ): [string, string, () => Promise<string>] => [
    `with the claim typ: ${typ}`,
    'type',
    () => sign({ typ }),
  ]),
  ['with the claim typ: Bearer', 'accepted', () => sign({ typ: 'Bearer' })],
  ['with the claim typ, which is no text', 'accepted', () => sign({ typ: ['ID'] })],
  ['with a nonce', 'accepted', () => sign({ nonce: 'a' })],
  ['bound to a key', 'bound', () => sign({ cnf: { jkt: 'a' } })],
  ['bound to a certificate', 'bound', () => sign({ cnf: { 'x5t#S256': 'a' } })],
  ['bound to nothing', 'bound', () => sign({ cnf: null })],
  [
    'bound to a key that a proxy checks',
    'accepted',
    () => sign({ cnf: {} }),
    { isBindingChecked: true },
  ],
  // As one of Entra ID with 200 groups.
  ['of 14 KB', 'accepted', () => sign({ groups: Array(200).fill('g'.repeat(50)) })],
  ['that is not a JWT', 'malformed', () => 'abc'],
  ['of three parts that are not JSON', 'malformed', () => 'a.b.c'],
])('the result for a token %s is %s', async (_, expected, make, changed = {}) => {
  const { resultOf } = createTestAuthenticator(jwks, changed);
  expect(await resultOf(await make())).toBe(expected);
});

const introspection = [
  '{ __typename }',
  '{ __schema { queryType { name } } }',
  '{ _service { sdl } }',
];

test('Ed25519 is accepted by default, by both of its names', async () => {
  for (const alg of ['EdDSA', 'Ed25519']) {
    const key = await createSigningKey('ed', alg);
    const file = await temporaryFile(JSON.stringify({ keys: [key.jwk] }));
    const { send } = await start({ JWT_JWKS_FILE: file });
    expect([alg, (await send(await key.sign())).status]).toEqual([alg, 200]);
  }
});

test('without a token, every request is UNAUTHENTICATED', async () => {
  const { service, gateway } = await start();
  const queries = [read, write, ...introspection];
  for (const query of queries) {
    const { status, headers, data, errors } = await gateway.graphqlWithoutToken(query);
    expect([status, headers.get('www-authenticate'), data]).toEqual([401, 'Bearer', undefined]);
    const message = 'A bearer token is required.';
    expect(errors).toEqual([{ message, extensions: unauthenticated }]);
  }
  expect(service.received).toEqual([]);
  const reason = 'missing';
  expect(await gateway.logLine({ msg: 'request' })).toMatchObject({ refusal: reason });
  expect(await metric(gateway, 'ledger_gateway_requests_refused_total', { reason })).toBe(
    queries.length,
  );
});

test('with INTROSPECTION, introspection needs no token, and everything else needs one', async () => {
  const { service, gateway } = await start({ INTROSPECTION: 'true' });
  for (const query of introspection) {
    const { status, headers } = await gateway.graphqlWithoutToken(query);
    expect([status, headers.get('www-authenticate')]).toEqual([200, null]);
  }
  for (const query of [
    read,
    write,
    'mutation { result: settleWrites(idempotencyKey: "a") { isComplete } }',
    'mutation { result: saveApprovers(approvers: [{ approverId: "x" }]) { __typename } }',
    'mutation { result: uploadWorkflowCsv(input: { fileName: "a", option: 1 }) { __typename } }',
  ]) {
    const { status, headers, data, errors } = await gateway.graphqlWithoutToken(query);
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(data).toEqual({ result: null });
    const error = { path: ['result'], extensions: unauthenticated };
    expect(errors).toEqual([expect.objectContaining(error)]);
  }
  expect(service.received).toEqual([]);
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

  test('has the same caller as another token of the same issuer and subject', async () => {
    const { authenticate } = createTestAuthenticator(jwks, {
      issuers: issuersOf(jwks, 'issuer', 'second'),
    });
    const first = await authenticate(await sign());
    expect(await authenticate(await sign({ exp: now() + 900 }))).toEqual(first);
    for (const claims of [{ sub: 'grace' }, { iss: 'second' }]) {
      const other = await authenticate(await sign(claims));
      expect(other?.hash).not.toBe(first?.hash);
      expect(other?.admissionKey).not.toBe(first?.admissionKey);
    }
  });

  test.each([
    ['missing', undefined],
    ['a number', 9_007_199_254_740_992],
    ['an object', { id: 1 }],
    ['empty', ''],
  ])('whose subject is %s has a hash of its own, and is admitted as its issuer', async (_, sub) => {
    const { authenticate } = createTestAuthenticator(jwks, {
      issuers: issuersOf(jwks, 'issuer', 'second'),
    });
    const first = await authenticate(await sign({ sub }));
    const second = await authenticate(await sign({ sub: undefined, exp: now() + 900 }));
    const elsewhere = await authenticate(await sign({ sub, iss: 'second' }));
    expect([first?.subject, second?.subject]).toEqual([null, null]);
    expect(second?.hash).not.toBe(first?.hash);
    expect(second?.admissionKey).toBe(first?.admissionKey);
    expect(elsewhere?.admissionKey).not.toBe(first?.admissionKey);
  });

  test('is cached for a minute at most, so that its signature is checked once', async () => {
    const { authenticate } = createTestAuthenticator(jwks);
    const token = await sign();
    const hash = expect.stringMatching(/^[\w+/]{43}=$/);
    const caller = { issuer: 'issuer', subject: 'ada', admissionKey: hash, hash };
    for (const [ms, checks] of [
      [0, 1],
      [59_000, 1],
      [2_000, 2],
    ] as const) {
      advance(ms);
      expect(await authenticate(token)).toEqual(caller);
      expect(verify).toHaveBeenCalledTimes(checks);
    }
  });

  test('is not cached beyond its expiry, nor during the clock tolerance after it', async () => {
    for (const clockToleranceS of [0, 30]) {
      const { resultOf } = createTestAuthenticator(jwks, { clockToleranceS });
      const token = await sign({ exp: now() + 10 });
      expect(await resultOf(token)).toBe('accepted');
      advance(11_000);
      verify.mockClear();
      for (const _ of [1, 2]) {
        expect(await resultOf(token)).toBe(clockToleranceS === 0 ? 'expired' : 'accepted');
      }
      expect(verify).toHaveBeenCalledTimes(2);
      advance(30_000);
      expect(await resultOf(token)).toBe('expired');
    }
  });
});

/** Public keys without ids. */
const withoutIds = (...keys: { jwk: JWK }[]) => ({
  keys: keys.map(({ jwk: { kid, ...jwk } }) => jwk),
});

test.each(['file', 'server'])(
  'keys of a %s without ids verify tokens with an id, if they fit',
  async (source) => {
    const keys = withoutIds(es256, rs256, foreign);
    const server = await startService(json(keys));
    const { resultOf } = createTestAuthenticator(source === 'file' ? keys : new URL(server.url));
    for (const key of [rs256, es256, foreign])
      expect(await resultOf(await key.sign())).toBe('accepted');
    const other = await createSigningKey('one');
    expect(await resultOf(await other.sign())).toBe('signature');
    const third = await createSigningKey('three', 'PS256');
    expect(await resultOf(await third.sign())).toBe('signature'); // The algorithm is not accepted.
    expect(server.received).toHaveLength(source === 'file' ? 0 : 1);
  },
);

test('keys without ids beside keys of other algorithms with ids verify tokens with an id', async () => {
  const keys = { keys: [...withoutIds(rs256).keys, es256.jwk] };
  const { resultOf } = createTestAuthenticator(keys);
  expect(await resultOf(await rs256.sign({}, { kid: 'other' }))).toBe('accepted');
  expect(await resultOf(await es256.sign())).toBe('accepted');
  expect(await resultOf(await es256.sign({}, { kid: 'other' }))).toBe('unknown_key');
});

test('a byte order mark before the keys of a file or a server is skipped', async () => {
  const text = `\ufeff${JSON.stringify(jwks)}`;
  const server = await startService(reply(200, text));
  for (const source of [
    { JWT_JWKS_FILE: await temporaryFile(text) },
    { JWT_JWKS_FILE: '', JWT_JWKS_URL: server.url },
  ]) {
    expect((await (await start(source)).send(await sign())).status).toBe(200);
  }
});

test.each(['file', 'server'])(
  'a key of a %s that cannot be used is logged once',
  async (source) => {
    const small = { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'small' };
    const other = { kty: 'other', kid: 1 };
    const encryption = { ...es256.jwk, use: 'enc' };
    const set = (...keys: object[]) => ({ keys: [es256.jwk, ...keys] });
    const server = await startService(json(set(small, other)));
    const { resultOf, logs, useKeys } = createTestAuthenticator(
      source === 'file' ? set(small, other) : new URL(server.url),
    );
    expect(await resultOf(await sign())).toBe('accepted');
    const leftOut = [
      { kid: 'small', fault: 'an RSA key with fewer than 2048 or more than 8192 bits' },
      { kid: undefined, fault: 'no valid public key of a supported type' },
    ];
    expect(logs).toMatchObject([
      { level: 40, msg: 'keys left out', keys: JSON.parse(JSON.stringify(leftOut)) },
    ]);
    if (source === 'server') return;
    useKeys(set());
    useKeys(set(other));
    expect(logs).toHaveLength(2);
    useKeys(set(encryption));
    expect(logs[2]).toMatchObject({ level: 30, keys: [{ fault: 'not for signatures' }] });
  },
);

test.each<[string, (string | undefined)[]]>([
  ['azp', ['azp', 'client_id', 'cid', 'appid']],
  ['client_id', ['client_id', 'cid', 'appid']],
  ['cid', ['cid', 'appid']],
  ['appid', ['appid']],
])('the application of a token is found in %s', async (expected, names) => {
  const { authenticate } = createTestAuthenticator(jwks);
  const claims = Object.fromEntries(names.map((name) => [name, `from ${name}`]));
  const caller = await authenticate(await sign({ azp: 1, client_id: '', ...claims }));
  expect(caller?.application).toBe(`from ${expected}`);
});

test('a token in the scheme DPoP is accepted only if a proxy checks the key to which it is bound', async () => {
  const { service, gateway } = await start({ JWT_CNF: 'proxy' });
  const token = await sign({ cnf: { jkt: 'a' } });
  for (const scheme of ['DPoP', 'dpop', 'Bearer']) {
    const { status } = await gateway.graphql(read, undefined, {
      authorization: `${scheme} ${token}`,
    });
    expect([scheme, status]).toEqual([scheme, 200]);
  }
  expect(service.received.map(({ headers }) => headers.authorization)).toEqual(
    Array(3).fill(`Bearer ${token}`),
  );
  const rejecting = await start();
  const authorization = `DPoP ${token}`;
  expect((await rejecting.gateway.graphql(read, undefined, { authorization })).status).toBe(401);
  expect(await rejecting.gateway.logLine({ msg: 'request', status: 401 })).toMatchObject({
    refusal: 'bound',
  });
});

test('a token that is being verified when the keys are replaced is verified again', async () => {
  const { resultOf, useKeys } = createTestAuthenticator(jwks);
  const token = await sign();
  const verifying = resultOf(token);
  useKeys({ keys: [foreign.jwk] });
  expect([await verifying, await resultOf(token)]).toEqual(['accepted', 'signature']);
});
