import { expect, test } from '@jest/globals';
import type { Issuer } from '../../src/auth/issuer.ts';
import { keySet } from '../../src/auth/key-set.ts';
import { json, startService } from '../../testkit/service.ts';
import { createTestAuthenticator } from '../support/authenticator.ts';
import { createSigningKey } from '../support/signing-key.ts';

/** The keys of both issuers have the same id. */
const [one, two] = await Promise.all([createSigningKey('key'), createSigningKey('key')]);
const rs256 = await createSigningKey('rsa', 'RS256');

const fileOf = (...keys: { jwk: object }[]) => ({
  path: 'keys.json',
  value: keySet.parse({ keys: keys.map(({ jwk }) => jwk) }),
});

const create = (...issuers: Issuer[]) => createTestAuthenticator(undefined, { issuers });

const A = 'https://a.example';
const B = 'https://b.example';

const createBoth = () =>
  create(
    { issuer: A, audiences: ['ledger'], keys: fileOf(one) },
    { issuer: B, audiences: ['api://ledger'], keys: fileOf(two, rs256), algorithms: ['RS256'] },
  );

const ofA = { iss: A, aud: 'ledger' };
const ofB = { iss: B, aud: 'api://ledger' };

test.each<[string, string, () => Promise<string>]>([
  ['of the first issuer', 'accepted', () => one.sign(ofA)],
  ['of the second issuer', 'accepted', () => rs256.sign(ofB)],
  ['of the second issuer, with the key of the first', 'signature', () => one.sign(ofB)],
  ['of the first issuer, with the key of the second', 'signature', () => two.sign(ofA)],
  ['of the first issuer, with another key of the second', 'unknown_key', () => rs256.sign(ofA)],
  ['of the second issuer, with an algorithm of the first', 'signature', () => two.sign(ofB)],
  [
    'of the first issuer, for the audience of the second',
    'audience',
    () => one.sign({ ...ofA, aud: ofB.aud }),
  ],
  [
    'of the second issuer, for the audience of the first',
    'audience',
    () => rs256.sign({ ...ofB, aud: ofA.aud }),
  ],
  ['that brings its key', 'signature', () => two.sign(ofA, { jwk: two.jwk })],
  ['that names where its key is', 'signature', () => two.sign(ofA, { jku: `${B}/keys` })],
  ...[
    `${A}/`,
    A.toUpperCase(),
    `${A} `,
    ` ${A}`,
    'https://a.example:443',
    'HTTPS://a.example',
    '',
    '__proto__',
    'constructor',
  ].map((iss): [string, string, () => Promise<string>] => [
    `of the issuer "${iss}"`,
    'issuer',
    () => one.sign({ ...ofA, iss }),
  ]),
])('a token %s is %s', async (_, expected, make) => {
  const { resultOf } = createBoth();
  expect(await resultOf(await make())).toBe(expected);
});

test.each([[[A]], [[A, B]], [{ issuer: A }], [1], [null]])(
  'a token whose issuer is %j is rejected',
  async (iss) => {
    const { resultOf } = createBoth();
    // SignJWT would reject most of these, so the claims are replaced by their text.
    const [header, , signature] = (await one.sign(ofA)).split('.');
    const claims = Buffer.from(JSON.stringify({ ...ofA, iss, exp: 9_999_999_999 })).toString(
      'base64url',
    );
    expect(await resultOf(`${header}.${claims}.${signature}`)).toMatch(/^(issuer|malformed)$/);
  },
);

test.each<[claims: object, expected: string]>([
  [{ client_id: 'app' }, 'accepted'],
  [{ client_id: 'second' }, 'accepted'],
  [{ client_id: 'other' }, 'audience'],
  [{}, 'audience'],
  [{ client_id: ['app'] }, 'audience'],
  [{ client_id: { app: 'app' } }, 'audience'],
  [{ azp: 'app' }, 'audience'],
  // A token with `aud` is checked by it alone.
  [{ aud: 'app' }, 'accepted'],
  [{ aud: 'other', client_id: 'app' }, 'audience'],
  [{ aud: [], client_id: 'app' }, 'audience'],
  [{ aud: '', client_id: 'app' }, 'audience'],
  [{ aud: null, client_id: 'app' }, 'audience'],
  // ID tokens of Cognito have the id of the client as their audience.
  [{ aud: 'app', token_use: 'id' }, 'type'],
  [{ client_id: 'app', token_use: 'access' }, 'accepted'],
])('with client_id in place of a missing aud, a token with %j is %s', async (claims, expected) => {
  const pool = { issuer: A, audiences: ['app', 'second'], audienceClaim: 'client_id' };
  const { resultOf } = create({ ...pool, keys: fileOf(one) });
  expect(await resultOf(await one.sign({ iss: A, aud: undefined, ...claims }))).toBe(expected);
});

test('a claim takes the place of aud only for the issuer that says so', async () => {
  const audiences = ['app'];
  const { resultOf } = create(
    { issuer: A, audiences, keys: fileOf(one), audienceClaim: 'client_id' },
    { issuer: B, audiences, keys: fileOf(two) },
  );
  const claims = { aud: undefined, client_id: 'app' };
  expect(await resultOf(await one.sign({ iss: A, ...claims }))).toBe('accepted');
  expect(await resultOf(await two.sign({ iss: B, ...claims }))).toBe('audience');
});

test('issuers share the keys of a URL that they both name, and those of others stay their own', async () => {
  const [shared, own] = await Promise.all([
    startService(json({ keys: [one.jwk] })),
    startService(json({ keys: [two.jwk] })),
  ]);
  const audiences = ['gateway'];
  const { resultOf, logs } = create(
    { issuer: 'first', audiences, keys: new URL(shared.url) },
    { issuer: 'second', audiences, keys: new URL(shared.url) },
    { issuer: 'third', audiences, keys: new URL(own.url) },
  );
  const results: unknown[] = [];
  for (const key of [one, two]) {
    for (const iss of ['first', 'second', 'third'])
      results.push(await resultOf(await key.sign({ iss })));
  }
  expect(results).toEqual([
    'accepted',
    'accepted',
    'signature',
    'signature',
    'signature',
    'accepted',
  ]);
  expect([shared.received.length, own.received.length]).toEqual([1, 1]);
  expect(logs).toEqual([]);
});

const template = 'https://login.example/{tenantid}/v2.0';
const tenantOf = (id: string, keys: Issuer['keys']): Issuer => ({
  issuer: template.replace('{tenantid}', id),
  tenant: { id, template },
  audiences: ['gateway'],
  keys,
});

test.each<[string, string, claims: Record<string, unknown>]>([
  ['of a tenant', 'accepted', { iss: 'https://login.example/t1/v2.0', tid: 't1' }],
  ['of another tenant', 'accepted', { iss: 'https://login.example/t2/v2.0', tid: 't2' }],
  ['of a tenant that is not listed', 'issuer', { iss: 'https://login.example/t3/v2.0', tid: 't3' }],
  ['whose tid is another tenant', 'issuer', { iss: 'https://login.example/t1/v2.0', tid: 't2' }],
  ['without tid', 'issuer', { iss: 'https://login.example/t1/v2.0' }],
  ['whose tid is a list', 'issuer', { iss: 'https://login.example/t1/v2.0', tid: ['t1'] }],
  ['of the text for all tenants', 'issuer', { iss: template, tid: 't1' }],
  [
    'of a tenant with a longer path',
    'issuer',
    { iss: 'https://login.example/t1/x/v2.0', tid: 't1' },
  ],
])('with several tenants, a token %s is %s', async (_, expected, claims) => {
  const keys = fileOf(one);
  const { resultOf } = create(tenantOf('t1', keys), tenantOf('t2', keys));
  expect(await resultOf(await one.sign(claims))).toBe(expected);
});

test.each(['file', 'server'])(
  'a key in the shared set of a %s that names a tenant is used for this tenant only',
  async (source) => {
    const named = (issuer: string, { jwk }: typeof one, kid: string) => ({ ...jwk, kid, issuer });
    const set = {
      keys: [
        named(template, one, 'all'),
        named('https://login.example/t2/v2.0', two, 'own'),
        { ...rs256.jwk, kid: 'nobody' },
      ],
    };
    const { url } = await startService(json(set));
    const keys = source === 'file' ? { path: 'keys.json', value: keySet.parse(set) } : new URL(url);
    const { resultOf } = create(tenantOf('t1', keys), tenantOf('t2', keys));
    const result = async (key: typeof one, kid: string, tid: string) =>
      resultOf(await key.sign({ iss: `https://login.example/${tid}/v2.0`, tid }, { kid }));
    expect(await result(one, 'all', 't1')).toBe('accepted');
    expect(await result(one, 'all', 't2')).toBe('accepted');
    expect(await result(two, 'own', 't1')).toBe('unknown_key');
    expect(await result(two, 'own', 't2')).toBe('accepted');
    expect(await result(rs256, 'nobody', 't1')).toBe('accepted');
  },
);

test('an issuer that is removed is rejected at once, and one that is added is accepted', async () => {
  const servers = await Promise.all([
    startService(json({ keys: [one.jwk] })),
    startService(json({ keys: [two.jwk] })),
  ]);
  const [a, b] = [A, B].map((issuer, index) => ({
    issuer,
    audiences: ['gateway'],
    keys: new URL(servers[index]?.url ?? ''),
  }));
  if (!a || !b) throw new Error('no issuers');
  const { resultOf, useIssuers, isReady, lastFetches } = create(a);
  const [tokenA, tokenB] = await Promise.all([one.sign({ iss: A }), two.sign({ iss: B })]);
  const results = async () => [await resultOf(tokenA), await resultOf(tokenB)];
  expect(await results()).toEqual(['accepted', 'issuer']);
  useIssuers([a, b]);
  expect(await results()).toEqual(['accepted', 'accepted']);
  useIssuers([b]);
  expect(await results()).toEqual(['issuer', 'accepted']);
  expect([isReady(), lastFetches()]).toEqual([true, [[{ issuer: B }, expect.any(Number)]]]);
  expect(servers.map(({ received }) => received.length)).toEqual([1, 1]);
});

test('if a file of keys is not valid, the issuers before the change remain in use', async () => {
  const { resultOf, useIssuers } = create({ issuer: A, audiences: ['gateway'], keys: fileOf(one) });
  const invalid = {
    path: 'keys.json',
    get value(): never {
      throw new Error('keys.json is not valid');
    },
  };
  const audiences = ['gateway'];
  const server = await startService(json({ keys: [two.jwk] }));
  const fetched = { issuer: 'fetched', audiences, keys: new URL(server.url) };
  expect(() => useIssuers([fetched, { issuer: B, audiences, keys: invalid }])).toThrow('keys.json');
  expect(await resultOf(await two.sign({ iss: 'fetched' }))).toBe('issuer');
  expect(server.received).toEqual([]);
  expect(await resultOf(await one.sign({ iss: A }))).toBe('accepted');
});
