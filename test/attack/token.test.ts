import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CompactEncrypt } from 'jose';
import { exchange, json, read, startService, startTestGateway } from '../helper.ts';

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

/** How the signature of a token is made of what is signed. */
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

/** A token of whatever header and payload: no library would write most of these. */
function forge(header: unknown, payload: unknown, signer: Signer): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signer(input).toString('base64url')}`;
}

const rsaHeader = { alg: 'RS256', kid: 'rsa', typ: 'JWT' };
const ecHeader = { alg: 'ES256', kid: 'ec', typ: 'JWT' };
const good = () => forge(ecHeader, claims(), es256(ec.privateKey));

async function start() {
  const service = await startService(json({ service_status: { status: 0 }, list: [] }));
  const keys = await startService(json(jwks));
  // Where hostile headers point to: whoever asks here believed one of them.
  const trap = await startService(json(jwks));
  const gateway = await startTestGateway(service, {
    JWT_JWKS_URL: `${keys.url}jwks.json`,
    JWT_ISSUER: 'issuer',
    JWT_AUDIENCE: 'gateway',
  });
  return { service, keys, trap, gateway };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Nothing was asked of anyone but the keys of the configured address, once and once again at most. */
function expectNothingAsked({ service, keys, trap }: Started) {
  expect(service.received).toEqual([]);
  expect(trap.received).toEqual([]);
  expect(new Set(keys.received.map(({ url }) => url))).toEqual(new Set(['/jwks.json']));
  // jose fetches the keys anew for an unknown kid, with a cooldown of 30 s.
  expect(keys.received.length).toBeLessThanOrEqual(2);
}

test.each([
  ['of an RSA key', () => forge(rsaHeader, claims(), rs256(rsa.privateKey))],
  ['of an EC key', good],
])('a token made here %s is good, or nothing below would mean anything', async (_, make) => {
  const { service, gateway } = await start();
  const token = make();
  const { status } = await gateway.graphql(read, {}, { authorization: `Bearer ${token}` });
  expect(status).toBe(200);
  expect(service.received[0]?.headers.authorization).toBe(`Bearer ${token}`);
});

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

const forgeries: [what: string, make: (trap: string) => string][] = [
  // Not signed.
  ...['none', 'None', 'NONE', 'nOnE', '', null, 0, ['none']].map((alg): [string, () => string] => [
    `of the algorithm ${JSON.stringify(alg)}`,
    () => forge({ ...ecHeader, alg }, claims(), () => Buffer.of()),
  ]),
  [
    'of the algorithm none with a good signature',
    () => forge({ ...ecHeader, alg: 'none' }, claims(), es256(ec.privateKey)),
  ],
  ['of no algorithm', () => forge({ kid: 'ec' }, claims(), es256(ec.privateKey))],
  ['without its signature', () => good().replace(/[^.]*$/, '')],
  ['without its signature and its dot', () => good().replace(/\.[^.]*$/, '')],
  // The public key as a secret.
  ['signed with the public key, SPKI PEM', hmac(pem)],
  ['signed with the public key, SPKI PEM in one line', hmac(pem.toString().replaceAll('\n', ''))],
  ['signed with the public key, PKCS #1 PEM', hmac(pkcs1)],
  ['signed with the public key, DER', hmac(der)],
  ['signed with the modulus', hmac(Buffer.from(modulus, 'base64url'))],
  ['signed with the key as it is published', hmac(JSON.stringify(jwks.keys[0]))],
  ['signed with the key set as it is published', hmac(JSON.stringify(jwks))],
  ['signed with nothing', hmac('')],
  // One key's name with the other's algorithm.
  [
    'of an RSA signature under the EC key',
    () => forge({ ...rsaHeader, kid: 'ec' }, claims(), rs256(rsa.privateKey)),
  ],
  [
    'of an algorithm that the key is not for',
    () => forge({ ...rsaHeader, alg: 'RS512' }, claims(), rs256(rsa.privateKey)),
  ],
  ['of an all-zero signature', () => forge(ecHeader, claims(), () => Buffer.alloc(64))],
  // Keys that the token brings itself.
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
  // Key ids that are more than names.
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
    'with a key id that is an address',
    (trap) => forge({ ...ecHeader, kid: `${trap}key` }, claims(), es256(foreignEc.privateKey)),
  ],
  // Extensions that must be understood.
  ['with a critical header that nobody knows', withHeader({ crit: ['x'], x: 1 })],
  ['with a critical header that is not there', withHeader({ crit: ['exp'] })],
  ['with an empty list of critical headers', withHeader({ crit: [] })],
  ['with critical headers that are no list', withHeader({ crit: 'b64' })],
  ['with an unencoded payload', withHeader({ b64: false, crit: ['b64'] })],
  [
    'with an unencoded payload in fact',
    () => {
      const head = encode({ ...ecHeader, b64: false, crit: ['b64'] });
      const payload = JSON.stringify(claims()).replaceAll(/[^\w]/g, '_');
      const signature = es256(ec.privateKey)(`${head}.${payload}`);
      return `${head}.${payload}.${signature.toString('base64url')}`;
    },
  ],
  // Claims, all of them well signed.
  ['of an issuer in another case', withClaims({ iss: 'Issuer' })],
  ['of an issuer with a slash', withClaims({ iss: 'issuer/' })],
  ['of a list of issuers', withClaims({ iss: ['issuer'] })],
  ['of a null issuer', withClaims({ iss: null })],
  ['for an audience that begins alike', withClaims({ aud: 'gateway2' })],
  ['for audiences in one text', withClaims({ aud: 'gateway other' })],
  ['for a list of other audiences', withClaims({ aud: ['other', ['gateway']] })],
  ['for an empty list of audiences', withClaims({ aud: [] })],
  ['for an audience that is an object', withClaims({ aud: { gateway: true } })],
  ['with an expiry in text', withClaims({ exp: '99999999999' })],
  ['with a null expiry', withClaims({ exp: null })],
  ['with a negative expiry', withClaims({ exp: -1 })],
  ['with a list for an expiry', withClaims({ exp: [99_999_999_999] })],
  ['with a beginning in text', withClaims({ nbf: '0' })],
  [
    'with a prototype for claims',
    () => forge(ecHeader, `{"__proto__":${JSON.stringify(claims())}}`, es256(ec.privateKey)),
  ],
  ['of claims that are a list', () => forge(ecHeader, [claims()], es256(ec.privateKey))],
  ['of claims that are null', () => forge(ecHeader, 'null', es256(ec.privateKey))],
  ['of claims that are no JSON', () => forge(ecHeader, '{', es256(ec.privateKey))],
  ['of a header that is no JSON', () => forge('{', claims(), es256(ec.privateKey))],
  ['of a header that is a list', () => forge([ecHeader], claims(), es256(ec.privateKey))],
  ['that is signed twice', () => forge(ecHeader, good(), es256(ec.privateKey))],
  ['with a fourth part', () => `${good()}.${encode('x')}`],
  ['of five empty parts', () => '....'],
  [
    'of one character more than 8 KB',
    () => {
      const [head, payload] = good().split('.');
      return `${head}.${payload}.`.padEnd(8193, 'A');
    },
  ],
];

test.each(forgeries)('a token %s is refused', async (_, make) => {
  const started = await start();
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
  expectNothingAsked(started);
});

test('an encrypted token is refused, though it holds a good one', async () => {
  const started = await start();
  const token = await new CompactEncrypt(Buffer.from(good()))
    .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A256GCM', cty: 'JWT', kid: 'rsa' })
    .encrypt(rsa.publicKey);
  const { status } = await started.gateway.graphql(read, {}, { authorization: `Bearer ${token}` });
  expect(status).toBe(401);
  expectNothingAsked(started);
});

test('a token of exactly 8 KB is read, so the limit is where it is said to be', async () => {
  const { gateway } = await start();
  const sized = (padding: number) =>
    forge(ecHeader, { ...claims(), padding: 'x'.repeat(padding) }, es256(ec.privateKey));
  const short = 8192 - sized(0).length;
  // Three bytes are four characters: one of the four paddings around meets the length.
  const token = [0, 1, 2, 3]
    .map((less) => sized(Math.floor((short * 3) / 4) - less + 2))
    .find(({ length }) => length === 8192 || length === 8191);
  if (token === undefined) throw new Error('no token of that length');
  const { status } = await gateway.graphql(read, {}, { authorization: `Bearer ${token}` });
  expect(status).toBe(200);
});

/** A read with headers as they are on the wire. */
function request(headers: string): string {
  const body = JSON.stringify({ query: read });
  return `POST /graphql HTTP/1.1\nHost: a\nConnection: close\nContent-Type: application/json\nContent-Length: ${body.length}\n${headers}\n\n${body}`;
}

/** A bad one is 401; what is no HTTP at all is 400, or 431 where it is too large. */
const refused = /^HTTP\/1\.1 (400|401|431) /;

const token = good();
test.each([
  ['two headers, the good one first', `Authorization: Bearer ${token}\nAuthorization: Bearer x`],
  ['two headers, the good one last', `Authorization: Bearer x\nAuthorization: Bearer ${token}`],
  ['a good one and an empty one', `Authorization: Bearer ${token}\nauthorization:`],
  ['a good one and Basic', `AUTHORIZATION: Bearer ${token}\nAuthorization: Basic YTpi`],
  ['three good ones', `Authorization: Bearer ${token}\n`.repeat(3).trim()],
  ['two in one header', `Authorization: Bearer ${token}, Bearer ${token}`],
  ['a tab for the space', `Authorization: Bearer\t${token}`],
  ['a space and a tab', `Authorization: Bearer \t${token}`],
  ['no space', `Authorization: Bearer${token}`],
  ['no scheme', `Authorization: ${token}`],
  ['another scheme', `Authorization: JWT ${token}`],
  ['the scheme twice', `Authorization: Bearer Bearer ${token}`],
  ['quotes', `Authorization: Bearer "${token}"`],
  ['a parameter', `Authorization: Bearer token=${token}`],
  ['a word after it', `Authorization: Bearer ${token} x`],
  ['a semicolon after it', `Authorization: Bearer ${token};`],
  ['a space within', `Authorization: Bearer ${token.replace('.', '. ')}`],
  ['a line folded', `Authorization: Bearer\n ${token}`],
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
      [`${name} after it`, `Authorization: Bearer ${token}${character}`],
      [`${name} before it`, `Authorization: Bearer ${character}${token}`],
      [`${name} within`, `Authorization: Bearer ${token.replace('.', `.${character}`)}`],
    ];
  }),
])('an Authorization with %s is refused', async (_, headers) => {
  const started = await start();
  expect(await exchange(started.gateway.url, request(headers))).toMatch(refused);
  expectNothingAsked(started);
});

test('a key id of 1 MB is not even listened to', async () => {
  const started = await start();
  const headers = `Authorization: Bearer ${withKid('k'.repeat(1_000_000))()}`;
  // The gateway hangs up amid it, so the answer may be lost to a reset.
  const answer = await exchange(started.gateway.url, request(headers)).catch(() => 'HTTP/1.1 431 ');
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  expectNothingAsked(started);
});

test.each([
  ['in small letters', `authorization: bearer ${token}`],
  ['in capitals', `AUTHORIZATION: BEARER ${token}`],
  ['after several spaces', `Authorization: Bearer   ${token}`],
  ['before white space that HTTP drops', `Authorization: Bearer ${token} \t `],
])('a good token %s is good, and goes on as it should be spelled', async (_, headers) => {
  const { service, gateway } = await start();
  expect(await exchange(gateway.url, request(headers))).toMatch(/^HTTP\/1\.1 200 /);
  expect(service.received.map((it) => it.headers.authorization)).toEqual([`Bearer ${token}`]);
});

test.each([
  'X-Authorization: Bearer TOKEN',
  'Proxy-Authorization: Bearer TOKEN',
  'Authorisation: Bearer TOKEN',
  'X-Forwarded-Authorization: Bearer TOKEN',
  'Cookie: access_token=TOKEN; Authorization=Bearer TOKEN',
  'X-Access-Token: TOKEN',
])('a good token elsewhere is none: %s', async (headers) => {
  const started = await start();
  const answer = await exchange(started.gateway.url, request(headers.replaceAll('TOKEN', token)));
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expectNothingAsked(started);
});

// Tokens that are bent at random

/** A change to the three parts of a token. */
type Bend = (parts: string[]) => string[];

const printable = fc.constantFrom(
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)),
);
const base64url = fc.constantFrom(
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
);
const anyCharacter = fc.oneof({ weight: 3, arbitrary: base64url }, printable);
const place = fc.record({ part: fc.nat(2), at: fc.nat() });

/** Changes one part, if there is one at that place. */
const inPart = (part: number, change: (text: string) => string): Bend => {
  return (parts) => parts.map((text, index) => (index === part ? change(text) : text));
};
const spliced = (text: string, at: number, remove: number, insert: string) => {
  const index = at % (text.length + 1);
  return text.slice(0, index) + insert + text.slice(index + remove);
};

/** Decodes a part as JSON, changes a field of it, and encodes it again. */
function rewritten(part: number, field: string, value: unknown): Bend {
  return inPart(part, (text) => {
    try {
      return encode({ ...JSON.parse(Buffer.from(text, 'base64url').toString()), [field]: value });
    } catch {
      return text;
    }
  });
}

const bend: fc.Arbitrary<Bend> = fc.oneof(
  // Another character, one more, one less: at any place, the last of a part more often.
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
  // The other spellings of the same bytes.
  fc
    .tuple(fc.nat(2), fc.constantFrom('=', '==', '==='))
    .map(([part, padding]) => inPart(part, (text) => text + padding)),
  fc.nat(2).map((part) => inPart(part, (text) => text.replaceAll('-', '+').replaceAll('_', '/'))),
  fc
    .nat(2)
    .map((part) => inPart(part, (text) => Buffer.from(text, 'base64url').toString('base64'))),
  // The parts themselves.
  fc.tuple(fc.nat(2), fc.nat(2)).map(
    ([from, to]): Bend =>
      (parts) =>
        parts.with(from % parts.length, parts[to] ?? '').with(to % parts.length, parts[from] ?? ''),
  ),
  fc.nat(2).map(
    (part): Bend =>
      (parts) =>
        parts.toSpliced(part, 1),
  ),
  fc.nat(2).map(
    (part): Bend =>
      (parts) =>
        parts.toSpliced(part, 0, parts[part] ?? ''),
  ),
  fc.nat(2).map((part) => inPart(part, () => '')),
  fc.nat(2).map((part) => inPart(part, (text) => text.toLowerCase())),
  // What header and payload say.
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

test('a token that is bent at random is good only where it says and proves the same', async () => {
  const started = await start();
  const { service, keys, gateway } = started;
  const originals = [forge(rsaHeader, claims(), rs256(rsa.privateKey)), good()];
  let accepted = 0;

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...originals),
      fc.array(bend, { minLength: 1, maxLength: 3 }),
      async (original, bends) => {
        const bent = bends
          .reduce((parts, apply) => apply(parts), original.split('.'))
          .join('.')
          .trim(); // HTTP drops white space around a header.

        const { status } = await gateway.post({ query: read }, { authorization: `Bearer ${bent}` });

        if (status === 200) {
          accepted += 1;
          // Header and payload are signed as they are spelled, so not a letter of them may differ.
          // The signature itself is bytes, which base64url can spell in several ways (the unused
          // bits of the last character, padding): what counts is that they are the same bytes.
          const [header, payload, signature, ...others] = bent.split('.');
          const [signedHeader, signedPayload, signed = ''] = original.split('.');
          expect([header, payload, others]).toEqual([signedHeader, signedPayload, []]);
          expect(Buffer.from(signature ?? '', 'base64url')).toEqual(
            Buffer.from(signed, 'base64url'),
          );
          expect(service.received.at(-1)?.headers.authorization).toBe(`Bearer ${bent}`);
        } else {
          // An empty value after the scheme leaves "Bearer", which is no token either.
          expect(status).toBe(401);
        }
        expect(service.received).toHaveLength(accepted);
      },
    ),
    { numRuns: 1000 },
  );

  expect(started.trap.received).toEqual([]);
  expect(keys.received.length).toBeLessThanOrEqual(2);
}, 60_000);
