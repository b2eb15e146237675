import { expect, test } from '@jest/globals';
import { json, reply, startService } from '../../testkit/service.ts';
import { createTestAuthenticator, issuersOf } from '../support/authenticator.ts';
import { createSigningKey } from '../support/signing-key.ts';

const path = '/tenant/.well-known/openid-configuration';

/** An identity provider with its own key. `document` changes its discovery document, or is the status without one. */
async function startProvider(document: Record<string, unknown> | number = {}) {
  const { jwk, sign } = await createSigningKey('key');
  const server = await startService((response, received) => {
    if (received.url === '/tenant/keys') return json({ keys: [jwk] })(response, received);
    if (received.url !== path) return reply(404)(response, received);
    if (typeof document === 'number') return reply(document)(response, received);
    return json({ issuer, jwks_uri: `${issuer}/keys`, ...document })(response, received);
  });
  const issuer = `${server.url}tenant`;
  return { issuer, received: server.received, token: (iss = issuer) => sign({ iss }) };
}

const create = (...issuers: string[]) =>
  createTestAuthenticator(undefined, { issuers: issuersOf(undefined, ...issuers) });

test('without JWT_JWKS_URL and JWT_JWKS_FILE, the keys are those that the issuer publishes', async () => {
  const provider = await startProvider();
  const { resultOf, lastFetches } = create(provider.issuer);
  expect(await resultOf(await provider.token())).toBe('accepted');
  expect(await resultOf(await provider.token('https://elsewhere.example'))).toBe('issuer');
  expect(provider.received.map(({ url }) => url)).toEqual([path, '/tenant/keys']);
  expect(lastFetches()).toEqual([[{ issuer: provider.issuer }, expect.any(Number)]]);
});

test('a token is verified with the keys of its own issuer only', async () => {
  const [one, two] = [await startProvider(), await startProvider()];
  const { resultOf } = create(one.issuer, two.issuer);
  expect(await resultOf(await one.token())).toBe('accepted');
  expect(await resultOf(await two.token())).toBe('accepted');
  expect(await resultOf(await one.token(two.issuer))).toBe('signature');
  expect(await resultOf(await two.token(one.issuer))).toBe('signature');
});

test('with JWT_JWKS_URL, its keys are those of every issuer of the list', async () => {
  const provider = await startProvider();
  const url = new URL(`${provider.issuer}/keys`);
  const { resultOf, lastFetches } = createTestAuthenticator(url, {
    issuers: issuersOf(url, 'first', 'second'),
  });
  expect(await resultOf(await provider.token('first'))).toBe('accepted');
  expect(await resultOf(await provider.token('second'))).toBe('accepted');
  expect(await resultOf(await provider.token('third'))).toBe('issuer');
  expect(lastFetches().map(([{ issuer }]) => issuer)).toEqual(['first', 'second']);
  expect(provider.received).toHaveLength(1);
});

test.each<[string, Parameters<typeof startProvider>[0]]>([
  ['status 404; ORIGIN/.well-known/oauth-authorization-server/tenant: status 404', 404],
  ['names the issuer https://elsewhere.example', { issuer: 'https://elsewhere.example' }],
  ['no jwks_uri', { jwks_uri: undefined }],
  ['no acceptable https jwks_uri', { jwks_uri: 'keys' }],
  ['no acceptable https jwks_uri', { jwks_uri: 'file:///keys.json' }],
  ['no acceptable https jwks_uri', { jwks_uri: 'https://user:secret@issuer.example/keys' }],
  ['no acceptable https jwks_uri', { jwks_uri: 'https://:secret@issuer.example/keys' }],
])(
  'no token is accepted with a discovery document that has a fault: %s (%j)',
  async (fault, document) => {
    const provider = await startProvider(document);
    const { resultOf, isReady, logs } = create(provider.issuer);
    expect(await resultOf(await provider.token())).toBe('keys_unavailable');
    expect(isReady()).toBe(false);
    const { origin } = new URL(provider.issuer);
    expect(logs).toEqual([
      expect.objectContaining({
        issuer: provider.issuer,
        keysAvailable: false,
        fault: `${origin}${path}: ${fault.replace('ORIGIN', origin)}`,
      }),
    ]);
  },
);

test('an issuer that differs from the discovery document by its final slash is not accepted', async () => {
  const provider = await startProvider();
  const { resultOf } = create(`${provider.issuer}/`);
  expect(await resultOf(await provider.token(`${provider.issuer}/`))).toBe('keys_unavailable');
});

test.each([404, 302, 401])(
  'an issuer whose document for OpenID Connect has the status %d may publish metadata of RFC 8414',
  async (status) => {
    const { jwk, sign } = await createSigningKey('key');
    const server = await startService((response, received) => {
      const issuer = `${server.url}tenant`;
      const documents: Record<string, object> = {
        '/.well-known/oauth-authorization-server/tenant': { issuer, jwks_uri: `${issuer}/keys` },
        '/tenant/keys': { keys: [jwk] },
      };
      const document = documents[received.url];
      return (document ? json(document) : reply(status))(response, received);
    });
    const { resultOf } = create(`${server.url}tenant`);
    expect(await resultOf(await sign({ iss: `${server.url}tenant` }))).toBe('accepted');
  },
);

test('metadata of RFC 8414 does not take the place of a document that names another issuer', async () => {
  const { jwk, sign } = await createSigningKey('key');
  const server = await startService((response, received) => {
    if (received.url === '/keys') return json({ keys: [jwk] })(response, received);
    const isOpenid = received.url === '/.well-known/openid-configuration';
    const issuer = isOpenid ? 'https://elsewhere.example' : server.url;
    return json({ issuer, jwks_uri: `${server.url}keys` })(response, received);
  });
  const { resultOf } = create(server.url);
  expect(await resultOf(await sign({ iss: server.url }))).toBe('keys_unavailable');
  expect(server.received).toHaveLength(1);
});
