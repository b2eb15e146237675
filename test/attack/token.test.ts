import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CompactEncrypt } from 'jose';
import { startTestGateway } from '../support/gateway.ts';
import { read } from '../support/graphql-operation.ts';
import { exchange } from '../support/raw-request.ts';
import { json, startService } from '../support/service.ts';

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

const rs256 =
  (key: KeyObject): Signer =>
  (input) =>
    sign('sha256', Buffer.from(input), key);
const es256 =
  (key: KeyObject): Signer =>
  (input) =>
    sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
const hs256 =
  (secret: string | Buffer): Signer =>
  (input) =>
    createHmac('sha256', secret).update(input).digest();

/** A token with any header and payload, which a library would not create. */
function forge(header: unknown, payload: unknown, signer: Signer): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signer(input).toString('base64url')}`;
}

const rsaHeader = { alg: 'RS256', kid: 'rsa', typ: 'JWT' };
const ecHeader = { alg: 'ES256', kid: 'ec', typ: 'JWT' };
const valid = () => forge(ecHeader, claims(), es256(ec.privateKey));

async function start() {
  const service = await startService(json({ service_status: { status: 0 }, list: [] }));
  const keys = await startService(json(jwks));
  // Hostile headers point to this server. No request may arrive here.
  const trap = await startService(json(jwks));
  const gateway = await startTestGateway(service, {
    JWT_JWKS_URL: `${keys.url}jwks.json`,
    JWT_ISSUER: 'issuer',
    JWT_AUDIENCE: 'gateway',
  });
  return { service, keys, trap, gateway };
}

// No test changes what the gateway does in the next one, so all of them share it.
let started: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  started = await start();
});
beforeEach(() => {
  for (const { received } of [started.service, started.keys, started.trap]) received.length = 0;
});

/** Expects that the gateway has sent no request, except to the configured key server, at most twice. */
function expectNoRequests() {
  const { service, keys, trap } = started;
  expect(service.received).toEqual([]);
  expect(trap.received).toEqual([]);
  for (const { url } of keys.received) expect(url).toBe('/jwks.json');
  // jose fetches the keys again for an unknown key id, with a cooldown of 30 s.
  expect(keys.received.length).toBeLessThanOrEqual(2);
}

test.each([
  ['of an RSA key', () => forge(rsaHeader, claims(), rs256(rsa.privateKey))],
  ['of an EC key', valid],
])(
  'a valid token %s is accepted (otherwise the tests below would prove nothing)',
  async (_, make) => {
    const { service, gateway } = started;
    const token = make();
    const { status } = await gateway.graphql(read, {}, { authorization: `Bearer ${token}` });
    expect(status).toBe(200);
    expect(service.received[0]?.headers.authorization).toBe(`Bearer ${token}`);
  },
);

const pem = rsa.publicKey.export({ format: 'pem', type: 'spki' });
const pkcs1 = rsa.publicKey.export({ format: 'pem', type: 'pkcs1' });
const der = rsa.publicKey.export({ format: 'der', type: 'spki' });
const modulus = rsa.publicKey.export({ format: 'jwk' }).n ?? '';
const foreignJwk = foreignEc.publicKey.export({ format: 'jwk' });
const hmac = (secret: string | Buffer) => () =>
  forge({ ...rsaHeader, alg: 'HS256' }, claims(), hs256(secret));
const withHeader = (header: object) => () =>
  forge({ ...ecHeader, ...header }, claims(), es256(ec.privateKey));
const withClaims = (changed: object) => () =>
  forge(ecHeader, { ...claims(), ...changed }, es256(ec.privateKey));
const withKid = (kid: unknown) => () =>
  forge({ ...ecHeader, kid }, claims(), es256(foreignEc.privateKey));

const forgeries: [name: string, make: (trap: string) => string][] = [
  // Unsigned tokens.
  ...['none', 'None', 'NONE', 'nOnE', '', null, 0, ['none']].map((alg): [string, () => string] => [
    `of the algorithm ${JSON.stringify(alg)}`,
    () => forge({ ...ecHeader, alg }, claims(), () => Buffer.of()),
  ]),
  [
    'of the algorithm none with a valid signature',
    () => forge({ ...ecHeader, alg: 'none' }, claims(), es256(ec.privateKey)),
  ],
  ['without an algorithm', () => forge({ kid: 'ec' }, claims(), es256(ec.privateKey))],
  ['without its signature', () => valid().replace(/[^.]*$/, '')],
  ['without its signature and its dot', () => valid().replace(/\.[^.]*$/, '')],
  // The public key as an HMAC secret.
  ['signed with the public key, SPKI PEM', hmac(pem)],
  ['signed with the public key, SPKI PEM in one line', hmac(pem.toString().replaceAll('\n', ''))],
  ['signed with the public key, PKCS #1 PEM', hmac(pkcs1)],
  ['signed with the public key, DER', hmac(der)],
  ['signed with the modulus', hmac(Buffer.from(modulus, 'base64url'))],
  ['signed with the JSON Web Key', hmac(JSON.stringify(jwks.keys[0]))],
  ['signed with the JSON Web Key Set', hmac(JSON.stringify(jwks))],
  ['signed with an empty secret', hmac('')],
  // The id of one key with the algorithm of another.
  [
    'of an RSA signature under the EC key',
    () => forge({ ...rsaHeader, kid: 'ec' }, claims(), rs256(rsa.privateKey)),
  ],
  [
    'of an algorithm that does not match the key',
    () => forge({ ...rsaHeader, alg: 'RS512' }, claims(), rs256(rsa.privateKey)),
  ],
  ['of an all-zero signature', () => forge(ecHeader, claims(), () => Buffer.alloc(64))],
  // Keys in the token itself.
  [
    'with its own key',
    () => forge({ ...ecHeader, jwk: foreignJwk }, claims(), es256(foreignEc.privateKey)),
  ],
  [
    'with its own key and no key id',
    () => forge({ alg: 'ES256', jwk: foreignJwk }, claims(), es256(foreignEc.privateKey)),
  ],
  [
    'with its own key set by jku',
    (trap) =>
      forge({ ...ecHeader, jku: `${trap}jwks.json` }, claims(), es256(foreignEc.privateKey)),
  ],
  [
    'with its own certificate by x5u',
    (trap) => forge({ ...ecHeader, x5u: `${trap}a.pem` }, claims(), es256(foreignEc.privateKey)),
  ],
  [
    'with its own certificate by x5c',
    () =>
      forge({ ...ecHeader, x5c: [der.toString('base64')] }, claims(), es256(foreignEc.privateKey)),
  ],
  ['of a foreign RSA key', () => forge(rsaHeader, claims(), rs256(foreignRsa.privateKey))],
  // Hostile key ids.
  ...[
    '../../../../../../dev/null',
    '/dev/null',
    'file:///dev/null',
    "ec' OR '1'='1",
    "x' UNION SELECT 'secret'; --",
    'ec\u0000',
    '\u0000',
    '%00',
    '__proto__',
    'constructor',
    'toString',
    '$(id)',
    'ec\n',
    'EC',
    ' ec',
    '',
    'k'.repeat(6000),
    0,
    null,
    true,
    ['ec'],
    { ec: 1 },
  ].map((kid): [string, () => string] => [
    `with the key id ${JSON.stringify(kid).slice(0, 40)}`,
    withKid(kid),
  ]),
  [
    'with a URL as its key id',
    (trap) => forge({ ...ecHeader, kid: `${trap}key` }, claims(), es256(foreignEc.privateKey)),
  ],
  // Critical headers (RFC 7515, section 4.1.11).
  ['with an unknown critical header', withHeader({ crit: ['x'], x: 1 })],
  ['with a missing critical header', withHeader({ crit: ['exp'] })],
  ['with an empty list of critical headers', withHeader({ crit: [] })],
  ['with critical headers that are not a list', withHeader({ crit: 'b64' })],
  ['with an unencoded payload', withHeader({ b64: false, crit: ['b64'] })],
  [
    'with a payload that is really unencoded',
    () => {
      const head = encode({ ...ecHeader, b64: false, crit: ['b64'] });
      const payload = JSON.stringify(claims()).replaceAll(/[^\w]/g, '_');
      const signature = es256(ec.privateKey)(`${head}.${payload}`);
      return `${head}.${payload}.${signature.toString('base64url')}`;
    },
  ],
  // Claims, with a valid signature.
  ['of an issuer in another case', withClaims({ iss: 'Issuer' })],
  ['of an issuer with a slash', withClaims({ iss: 'issuer/' })],
  ['of a list of issuers', withClaims({ iss: ['issuer'] })],
  ['of a null issuer', withClaims({ iss: null })],
  ['for an audience with the same prefix', withClaims({ aud: 'gateway2' })],
  ['for several audiences in one string', withClaims({ aud: 'gateway other' })],
  ['for a list of other audiences', withClaims({ aud: ['other', ['gateway']] })],
  ['for an empty list of audiences', withClaims({ aud: [] })],
  ['for an audience that is an object', withClaims({ aud: { gateway: true } })],
  ['with an expiry that is a string', withClaims({ exp: '99999999999' })],
  ['with a null expiry', withClaims({ exp: null })],
  ['with a negative expiry', withClaims({ exp: -1 })],
  ['with an expiry that is a list', withClaims({ exp: [99_999_999_999] })],
  ['with a start of validity that is a string', withClaims({ nbf: '0' })],
  [
    'with claims in __proto__',
    () => forge(ecHeader, `{"__proto__":${JSON.stringify(claims())}}`, es256(ec.privateKey)),
  ],
  ['of claims that are a list', () => forge(ecHeader, [claims()], es256(ec.privateKey))],
  ['of claims that are null', () => forge(ecHeader, 'null', es256(ec.privateKey))],
  ['of claims that are not JSON', () => forge(ecHeader, '{', es256(ec.privateKey))],
  ['of a header that is not JSON', () => forge('{', claims(), es256(ec.privateKey))],
  ['of a header that is a list', () => forge([ecHeader], claims(), es256(ec.privateKey))],
  ['that is signed twice', () => forge(ecHeader, valid(), es256(ec.privateKey))],
  ['with a fourth part', () => `${valid()}.${encode('x')}`],
  ['of five empty parts', () => '....'],
  [
    'of 8 KiB and one character',
    () => {
      const [head, payload] = valid().split('.');
      return `${head}.${payload}.`.padEnd(8193, 'A');
    },
  ],
];

test.each(forgeries)('a token %s is rejected', async (_, make) => {
  const { gateway, trap } = started;
  const token = make(trap.url);

  const { status, headers, data, errors } = await gateway.graphql(
    read,
    {},
    { authorization: `Bearer ${token}` },
  );

  expect(status).toBe(401);
  expect(headers.get('www-authenticate')).toMatch(/^Bearer\b/);
  expect(data ?? null).toBeNull();
  expect(errors?.map(({ extensions: { code } }) => code)).toEqual(['UNAUTHENTICATED']);
  expectNoRequests();
});

test('an encrypted token is rejected, even if it contains a valid one', async () => {
  const token = await new CompactEncrypt(Buffer.from(valid()))
    .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A256GCM', cty: 'JWT', kid: 'rsa' })
    .encrypt(rsa.publicKey);
  const { status } = await started.gateway.graphql(read, {}, { authorization: `Bearer ${token}` });
  expect(status).toBe(401);
  expectNoRequests();
});

test('a token of 8 KiB is accepted', async () => {
  const { gateway } = started;
  const sized = (padding: number) =>
    forge(ecHeader, { ...claims(), padding: 'x'.repeat(padding) }, es256(ec.privateKey));
  const short = 8192 - sized(0).length;
  // Three bytes become four characters, so one of four paddings has the length.
  const token = [0, 1, 2, 3]
    .map((less) => sized(Math.floor((short * 3) / 4) - less + 2))
    .find(({ length }) => length === 8192 || length === 8191);
  if (token === undefined) throw new Error('no token of that length');
  const { status } = await gateway.graphql(read, {}, { authorization: `Bearer ${token}` });
  expect(status).toBe(200);
});

/** A raw HTTP request for a read, with these headers. */
function request(headers: string): string {
  const body = JSON.stringify({ query: read });
  return `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nContent-Type: application/json\nContent-Length: ${body.length}\n${headers}\n\n${body}`;
}

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
  ['a key id of 20 KB', `Authorization: Bearer ${withKid('k'.repeat(20_000))()}`],
  ...[
    '\0',
    '\u0001',
    '\b',
    '\u000b',
    '\u001b',
    '\u007f',
    '\u0080',
    '\u00a0',
    'é',
    '\u{1f511}',
  ].flatMap((character): [string, string][] => {
    const name = `U+${character.codePointAt(0)?.toString(16).padStart(4, '0')}`;
    return [
      [`${name} after the token`, `Authorization: Bearer ${token}${character}`],
      [`${name} before the token`, `Authorization: Bearer ${character}${token}`],
      [`${name} in the token`, `Authorization: Bearer ${token.replace('.', `.${character}`)}`],
    ];
  }),
])('an Authorization header with %s is rejected', async (_, headers) => {
  expect(await exchange(started.gateway.url, request(headers))).toMatch(rejected);
  expectNoRequests();
});

test('a key id of 1 MB is rejected as headers that are too large', async () => {
  const headers = `Authorization: Bearer ${withKid('k'.repeat(1_000_000))()}`;
  // The gateway closes the connection while it reads, so a reset may overtake the response.
  const response = await exchange(started.gateway.url, request(headers)).catch(
    () => 'HTTP/1.1 431 ',
  );
  expect(response).toMatch(/^HTTP\/1\.1 431 /);
  expectNoRequests();
});

test.each([
  ['in lower case', `authorization: bearer ${token}`],
  ['in upper case', `AUTHORIZATION: BEARER ${token}`],
  ['after several spaces', `Authorization: Bearer   ${token}`],
  ['before trailing white space', `Authorization: Bearer ${token} \t `],
])('a valid token %s is accepted, and forwarded in the standard spelling', async (_, headers) => {
  const { service, gateway } = started;
  expect(await exchange(gateway.url, request(headers))).toMatch(/^HTTP\/1\.1 200 /);
  expect(service.received.map(({ headers: sent }) => sent.authorization)).toEqual([
    `Bearer ${token}`,
  ]);
});

test.each([
  'X-Authorization: Bearer TOKEN',
  'Proxy-Authorization: Bearer TOKEN',
  'Authorisation: Bearer TOKEN',
  'X-Forwarded-Authorization: Bearer TOKEN',
  'Cookie: access_token=TOKEN; Authorization=Bearer TOKEN',
  'X-Access-Token: TOKEN',
])('a valid token in another header is not accepted: %s', async (headers) => {
  const response = await exchange(started.gateway.url, request(headers.replaceAll('TOKEN', token)));
  expect(response).toMatch(/^HTTP\/1\.1 401 /);
  expectNoRequests();
});

// Random changes to valid tokens

/** A change to the three parts of a token. */
type Change = (parts: string[]) => string[];

const printable = fc.constantFrom(
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)),
);
const base64url = fc.constantFrom(
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
);
const anyCharacter = fc.oneof({ weight: 3, arbitrary: base64url }, printable);
const place = fc.record({ part: fc.nat(2), at: fc.nat() });

/** Changes one part, if there is one at that place. */
const inPart = (part: number, change: (text: string) => string): Change => {
  return (parts) => parts.map((text, index) => (index === part ? change(text) : text));
};
const spliced = (text: string, at: number, remove: number, insert: string) => {
  const index = at % (text.length + 1);
  return text.slice(0, index) + insert + text.slice(index + remove);
};

/** Decodes a part as JSON, changes a field of it, and encodes it again. */
function rewritten(part: number, field: string, value: unknown): Change {
  return inPart(part, (text) => {
    try {
      return encode({ ...JSON.parse(Buffer.from(text, 'base64url').toString()), [field]: value });
    } catch {
      return text;
    }
  });
}

const change: fc.Arbitrary<Change> = fc.oneof(
  // A character is replaced, added or removed, at any position and often at the end of a part.
  fc
    .tuple(place, anyCharacter)
    .map(([{ part, at }, character]) => inPart(part, (text) => spliced(text, at, 1, character))),
  fc
    .tuple(place, anyCharacter)
    .map(([{ part, at }, character]) => inPart(part, (text) => spliced(text, at, 0, character))),
  place.map(({ part, at }) => inPart(part, (text) => spliced(text, at, 1, ''))),
  fc
    .tuple(fc.nat(2), anyCharacter)
    .map(([part, character]) => inPart(part, (text) => text.slice(0, -1) + character)),
  // Other encodings of the same bytes.
  fc
    .tuple(fc.nat(2), fc.constantFrom('=', '==', '==='))
    .map(([part, padding]) => inPart(part, (text) => text + padding)),
  fc.nat(2).map((part) => inPart(part, (text) => text.replaceAll('-', '+').replaceAll('_', '/'))),
  fc
    .nat(2)
    .map((part) => inPart(part, (text) => Buffer.from(text, 'base64url').toString('base64'))),
  // Parts are swapped, removed, repeated, emptied, or in lower case.
  fc.tuple(fc.nat(2), fc.nat(2)).map(
    ([from, to]): Change =>
      (parts) =>
        parts.with(from % parts.length, parts[to] ?? '').with(to % parts.length, parts[from] ?? ''),
  ),
  fc.nat(2).map(
    (part): Change =>
      (parts) =>
        parts.toSpliced(part, 1),
  ),
  fc.nat(2).map(
    (part): Change =>
      (parts) =>
        parts.toSpliced(part, 0, parts[part] ?? ''),
  ),
  fc.nat(2).map((part) => inPart(part, () => '')),
  fc.nat(2).map((part) => inPart(part, (text) => text.toLowerCase())),
  // Fields of the header and of the payload.
  fc
    .tuple(
      fc.constantFrom('alg', 'kid', 'typ', 'cty', 'crit', 'b64', 'jwk', 'jku', 'x5u', 'zip'),
      fc.oneof(fc.constantFrom('none', 'HS256', 'RS256', 'ES256', 'ec', 'rsa'), fc.jsonValue()),
    )
    .map(([field, value]) => rewritten(0, field, value)),
  fc
    .tuple(
      fc.constantFrom('iss', 'aud', 'sub', 'exp', 'nbf', 'iat', 'scope'),
      fc.oneof(fc.constantFrom('issuer', 'gateway', 'admin', 99_999_999_999), fc.jsonValue()),
    )
    .map(([field, value]) => rewritten(1, field, value)),
  fc
    .nat(1)
    .map((part) => inPart(part, (text) => encode(` ${Buffer.from(text, 'base64url').toString()}`))),
);

test('a randomly changed token is accepted only if its content and signature are the same', async () => {
  const { service, keys, gateway } = started;
  const originals = [forge(rsaHeader, claims(), rs256(rsa.privateKey)), valid()];
  let accepted = 0;

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...originals),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (original, changes) => {
        const changed = changes
          .reduce((parts, apply) => apply(parts), original.split('.'))
          .join('.')
          .trim(); // HTTP drops white space around a header.

        const { status } = await gateway.post(
          { query: read },
          { authorization: `Bearer ${changed}` },
        );

        if (status === 200) {
          accepted += 1;
          // The signature covers the encoded header and payload, so these must be identical. The
          // signature itself has several encodings (unused bits, padding) of the same bytes.
          const [header, payload, signature, ...others] = changed.split('.');
          const [signedHeader, signedPayload, signed = ''] = original.split('.');
          expect([header, payload, others]).toEqual([signedHeader, signedPayload, []]);
          expect(Buffer.from(signature ?? '', 'base64url')).toEqual(
            Buffer.from(signed, 'base64url'),
          );
          expect(service.received.at(-1)?.headers.authorization).toBe(`Bearer ${changed}`);
        } else {
          // Also if the token is empty.
          expect(status).toBe(401);
        }
        expect(service.received).toHaveLength(accepted);
      },
    ),
    { numRuns: 400 },
  );

  expect(started.trap.received).toEqual([]);
  expect(keys.received.length).toBeLessThanOrEqual(2);
});
