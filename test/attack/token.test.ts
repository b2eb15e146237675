import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CompactEncrypt } from 'jose';
import { read } from '../../testkit/graphql-operation.ts';
import { json, startService } from '../../testkit/service.ts';
import { createTestAuthenticator } from '../support/authenticator.ts';
import { exchange, requestOnly } from '../support/raw-request.ts';
import { startTestServer } from '../support/server.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const foreignRsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const foreignEc = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const jwks = {
  keys: [
    { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256', use: 'sig' },
    { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec', alg: 'ES256', use: 'sig' },
  ],
};

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const claims = () => ({ iss: 'issuer', aud: 'gateway', sub: 'ada', exp: inAnHour() });
const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Computes the signature of a token. */
type Signer = (input: string) => Buffer;

const rsaSigner = (key: KeyObject): Signer => {
  return (input) => sign('sha256', Buffer.from(input), key);
};
const ecSigner = (key: KeyObject): Signer => {
  return (input) => sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
};
const [rs256, es256] = [rsaSigner(rsa.privateKey), ecSigner(ec.privateKey)];

/** A token with any header and payload, which a library would not create. */
function forge(header: unknown, payload: unknown = claims(), signer = es256): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signer(input).toString('base64url')}`;
}

const rsaHeader = { alg: 'RS256', kid: 'rsa', typ: 'JWT' };
const ecHeader = { alg: 'ES256', kid: 'ec', typ: 'JWT' };
const valid = () => forge(ecHeader);

// No test changes what happens in the next one, so all of them share these.
const keys = await startService(json(jwks));
const keysUrl = new URL(`${keys.url}jwks.json`);
const { resultOf, authenticateRequest } = createTestAuthenticator(keysUrl);
/** Hostile headers point to this server. No request may arrive here. */
const trap = await startService(json(jwks));

/** The tokens of requests that were accepted. */
const accepted: unknown[] = [];
const { url } = await startTestServer({
  authenticator: { authenticate: authenticateRequest },
  introspection: false,
  execute: async ({ scope }) => {
    accepted.push(scope?.token);
    return { status: 200, headers: [], body: '{"data":null}' };
  },
});

afterEach(() => {
  accepted.length = 0;
  expect(trap.received).toEqual([]);
  expect(keys.received.filter(({ url }) => url !== '/jwks.json')).toEqual([]);
});

/** A valid token of this length. */
function sized(length: number): string {
  const padded = (padding: number) =>
    forge(ecHeader, { ...claims(), padding: 'x'.repeat(padding) });
  let padding = Math.floor(((length - padded(0).length) * 3) / 4);
  while (padded(padding).length < length) padding += 1;
  return padded(padding);
}

const pem = rsa.publicKey.export({ format: 'pem', type: 'spki' });
const der = rsa.publicKey.export({ format: 'der', type: 'spki' });
const foreignJwk = foreignEc.publicKey.export({ format: 'jwk' });
const hmac = (secret: string | Buffer) => () =>
  forge({ ...rsaHeader, alg: 'HS256' }, claims(), (input) =>
    createHmac('sha256', secret).update(input).digest(),
  );
const withHeader = (header: object) => () => forge({ ...ecHeader, ...header });
const withClaims = (changed: object) => () => forge(ecHeader, { ...claims(), ...changed });
const withForeignKey = (header: object) => () =>
  forge({ ...ecHeader, ...header }, claims(), ecSigner(foreignEc.privateKey));
const withRsa = (header: object) => () => forge({ ...rsaHeader, ...header }, claims(), rs256);
const inName = (value: unknown) => JSON.stringify(value);

test('valid tokens are accepted (otherwise the tests below would prove nothing)', async () => {
  for (const token of [withRsa({})(), valid(), sized(15_000)]) {
    expect(await resultOf(token)).toBe('accepted');
  }
});

const reasons = ['signature', 'unknown_key', 'issuer', 'audience', 'expired', 'malformed'];

test.each<[name: string, make: () => string | Promise<string>]>([
  // Unsigned tokens.
  ...['none', 'None', 'NONE', 'nOnE', '', null, 0, ['none']].map((alg): [string, () => string] => [
    `of the algorithm ${inName(alg)}`,
    () => forge({ ...ecHeader, alg }, claims(), () => Buffer.of()),
  ]),
  ['of the algorithm none with a valid signature', withHeader({ alg: 'none' })],
  ['without an algorithm', () => forge({ kid: 'ec' })],
  [
    'of claims that were changed',
    () => valid().replace(/\..*\./, `.${encode({ ...claims(), sub: 'bob' })}.`),
  ],
  ['without its signature', () => valid().replace(/[^.]*$/, '')],
  ['without its signature and its dot', () => valid().replace(/\.[^.]*$/, '')],
  // The public key as an HMAC secret.
  ['signed with the public key, SPKI PEM', hmac(pem)],
  ['signed with the public key, DER', hmac(der)],
  ['signed with the JSON Web Key', hmac(JSON.stringify(jwks.keys[0]))],
  ['signed with an empty secret', hmac('')],
  // The id of one key with the algorithm of another.
  ['of an RSA signature under the EC key', withRsa({ kid: 'ec' })],
  ['of an algorithm that does not match the key', withRsa({ alg: 'RS512' })],
  ['of an all-zero signature', () => forge(ecHeader, claims(), () => Buffer.alloc(64))],
  // Keys in the token itself, and hostile key ids.
  ['of a foreign RSA key', () => forge(rsaHeader, claims(), rsaSigner(foreignRsa.privateKey))],
  ['with its own key', withForeignKey({ jwk: foreignJwk })],
  ['with its own key and no key id', withForeignKey({ kid: undefined, jwk: foreignJwk })],
  ['with its own key set by jku', withForeignKey({ jku: `${trap.url}jwks.json` })],
  ['with its own certificate by x5u', withForeignKey({ x5u: `${trap.url}a.pem` })],
  ['with its own certificate by x5c', withForeignKey({ x5c: [der.toString('base64')] })],
  ['with a URL as its key id', withForeignKey({ kid: `${trap.url}key` })],
  ['with a key id of 6,000 characters', withForeignKey({ kid: 'k'.repeat(6000) })],
  ...[
    ...['../../../../../../dev/null', 'file:///dev/null', "ec' OR '1'='1", 'ec\u0000', '%00'],
    ...['__proto__', 'toString', '$(id)', 'ec\n', 'EC', ' ec', '', 0, null, true],
    ...[['ec'], { ec: 1 }],
  ].map((kid): [string, () => string] => [
    `with the key id ${inName(kid)}`,
    withForeignKey({ kid }),
  ]),
  // Critical headers (RFC 7515, section 4.1.11).
  ['with an unknown critical header', withHeader({ crit: ['x'], x: 1 })],
  ['with a missing critical header', withHeader({ crit: ['exp'] })],
  ['with an empty list of critical headers', withHeader({ crit: [] })],
  ['with an unencoded payload', withHeader({ b64: false, crit: ['b64'] })],
  // Claims, with a valid signature.
  ['of an issuer in another case', withClaims({ iss: 'Issuer' })],
  ['of an issuer with a slash', withClaims({ iss: 'issuer/' })],
  ['of a list of issuers', withClaims({ iss: ['issuer'] })],
  ['for an audience with the same prefix', withClaims({ aud: 'gateway2' })],
  ['for several audiences in one string', withClaims({ aud: 'gateway other' })],
  ['for a list of other audiences', withClaims({ aud: ['other', ['gateway']] })],
  ['for an audience that is an object', withClaims({ aud: { gateway: true } })],
  ['with an expiry that is a string', withClaims({ exp: '99999999999' })],
  ['with a null expiry', withClaims({ exp: null })],
  ['with a start of validity that is a string', withClaims({ nbf: '0' })],
  ['with claims in __proto__', () => forge(ecHeader, `{"__proto__":${JSON.stringify(claims())}}`)],
  ['of claims that are a list', () => forge(ecHeader, [claims()])],
  ['of claims that are null', () => forge(ecHeader, 'null')],
  ['of claims that are not JSON', () => forge(ecHeader, '{')],
  ['of a header that is not JSON', () => forge('{')],
  ['of a header that is a list', () => forge([ecHeader])],
  ['that is signed twice', () => forge(ecHeader, valid())],
  ['with a fourth part', () => `${valid()}.${encode('x')}`],
  ['of five empty parts', () => '....'],
  [
    'that is encrypted and contains a valid one',
    () =>
      new CompactEncrypt(Buffer.from(valid()))
        .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A256GCM', cty: 'JWT', kid: 'rsa' })
        .encrypt(rsa.publicKey),
  ],
])('a token %s is rejected', async (_, make) => {
  expect(reasons).toContain(await resultOf(await make()));
});

/** A raw HTTP request for a read, with these headers. */
const request = (headers: string) =>
  requestOnly(
    'POST /graphql',
    `content-type: application/json\n${headers}\n`,
    JSON.stringify({ query: read }),
  );

/** 401 for an invalid token, 400 for invalid HTTP, 431 for headers that are too large. */
const rejected = /^HTTP\/1\.1 (400|401|431) /;

const token = valid();
test.each([
  ['two headers, the valid one first', `Authorization: Bearer ${token}\nAuthorization: Bearer x`],
  ['two headers, the valid one last', `Authorization: Bearer x\nAuthorization: Bearer ${token}`],
  ['a valid and an empty one', `Authorization: Bearer ${token}\nauthorization:`],
  ['a valid one and Basic', `AUTHORIZATION: Bearer ${token}\nAuthorization: Basic YTpi`],
  ['three valid ones', `Authorization: Bearer ${token}\n`.repeat(3).trim()],
  ['two in one header', `Authorization: Bearer ${token}, Bearer ${token}`],
  ['a tab instead of the space', `Authorization: Bearer\t${token}`],
  ['a space and a tab', `Authorization: Bearer \t${token}`],
  ['no space', `Authorization: Bearer${token}`],
  ['nothing', 'Authorization: '],
  ['no token', 'Authorization: Bearer'],
  ['a comma in the token', 'Authorization: Bearer a,b'],
  ['no scheme', `Authorization: ${token}`],
  ['another scheme', `Authorization: JWT ${token}`],
  ['the scheme twice', `Authorization: Bearer Bearer ${token}`],
  ['quotes', `Authorization: Bearer "${token}"`],
  ['a parameter', `Authorization: Bearer token=${token}`],
  ['a word after the token', `Authorization: Bearer ${token} x`],
  ['a semicolon after the token', `Authorization: Bearer ${token};`],
  ['a space in the token', `Authorization: Bearer ${token.replace('.', '. ')}`],
  ['a folded line', `Authorization: Bearer\n ${token}`],
  ['a space before the colon', `Authorization : Bearer ${token}`],
  ['a key id of 20 KB', `Authorization: Bearer ${withForeignKey({ kid: 'k'.repeat(20_000) })()}`],
  ...[...'\0\u0001\b\u000b\u001b\u007f\u0080\u00a0é\u{1f511}'].flatMap((character) =>
    [`${token}${character}`, `${character}${token}`, token.replace('.', `.${character}`)].map(
      (text, n): [string, string] => {
        const name = `U+${character.codePointAt(0)?.toString(16)}`;
        return [
          `${name} ${['after', 'before', 'in'][n]} the token`,
          `Authorization: Bearer ${text}`,
        ];
      },
    ),
  ),
])('an Authorization header with %s is rejected', async (_, headers) => {
  expect(await exchange(url, request(headers))).toMatch(rejected);
  expect(accepted).toEqual([]);
});

test.each([
  ['in lower case', `authorization: bearer ${token}`],
  ['in upper case', `AUTHORIZATION: BEARER ${token}`],
  ['after several spaces', `Authorization: Bearer   ${token}`],
  ['before trailing white space', `Authorization: Bearer ${token} \t `],
])('a valid token %s is accepted, and passed on without its scheme', async (_, headers) => {
  expect(await exchange(url, request(headers))).toMatch(/^HTTP\/1\.1 200 /);
  expect(accepted).toEqual([token]);
});

test.each(['X-Authorization: Bearer ', 'Proxy-Authorization: Bearer ', 'Cookie: access_token='])(
  'a valid token in the header "%s" is not accepted',
  async (header) => {
    expect(await exchange(url, request(`${header}${token}`))).toMatch(/^HTTP\/1\.1 401 /);
    expect(accepted).toEqual([]);
  },
);

/** Replaces, removes or inserts a few characters at any place of a token. */
const change = fc
  .tuple(fc.nat(), fc.nat(2), fc.string({ maxLength: 2 }))
  .map(([position, removed, inserted]) => (text: string) => {
    const index = position % (text.length + 1);
    return text.slice(0, index) + inserted + text.slice(index + removed);
  });

test('a randomly changed token is accepted only if its content and signature are the same', async () => {
  const originals = [forge(rsaHeader, claims(), rs256), valid()];
  // From now on their results are cached.
  for (const original of originals) expect(await resultOf(original)).toBe('accepted');
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...originals),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (original, changes) => {
        const changed = changes.reduce((text, apply) => apply(text), original).trim(); // As HTTP does.
        if ((await resultOf(changed)) !== 'accepted') return;

        // The signature covers the encoded header and payload, so these must be identical. The
        // signature itself has several encodings (unused bits, padding) of the same bytes.
        const [header, payload, signature = '', ...others] = changed.split('.');
        const [signedHeader, signedPayload, signed = ''] = original.split('.');
        expect([header, payload, others]).toEqual([signedHeader, signedPayload, []]);
        expect(Buffer.from(signature, 'base64url')).toEqual(Buffer.from(signed, 'base64url'));
      },
    ),
    { numRuns: 400 },
  );
});
