import { expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { type Issuer, type IssuerOptions, startIssuer } from '../../dev/issuer.ts';
import { scenarios } from '../../dev/service.ts';
import { discoverKeysUrl } from '../../src/auth/discovery.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';

async function start(options?: IssuerOptions): Promise<Issuer> {
  const issuer = await startIssuer(options);
  closeAfterTest(() => issuer.close());
  return issuer;
}

test('a token verifies with the served keys', async () => {
  const { url, jwksUrl, issuer, audience, jwks, token } = await start();
  expect(issuer).toBe(url);
  expect((await discoverKeysUrl(issuer, AbortSignal.timeout(5000))).href).toBe(jwksUrl);
  const keys = createRemoteJWKSet(new URL(jwksUrl));
  const { payload, protectedHeader } = await jwtVerify(await token(), keys, { issuer, audience });
  expect(protectedHeader).toEqual({ alg: 'ES256', kid: jwks.keys[0]?.kid, typ: 'JWT' });
  expect(payload).toEqual({
    iss: url,
    aud: 'ledger-gateway',
    sub: 'dev-user',
    iat: expect.any(Number),
    exp: (payload.iat ?? 0) + 12 * 60 * 60,
  });
});

test('a page on any port of localhost may get a token, and other pages may not', async () => {
  const { url } = await start();
  for (const [origin, allowed] of [
    ['http://localhost:5173', true],
    ['http://localhost:61234', true],
    ['http://localhost.evil.example', false],
    ['https://app.example.com', false],
  ] as const) {
    const { headers } = await fetch(`${url}token`, { headers: { origin } });
    expect(headers.get('access-control-allow-origin')).toBe(allowed ? origin : null);
  }
});

test('the names of the scenarios and the public keys are served, and no private key', async () => {
  const { url, jwksUrl, jwks } = await start();
  const text = await (await fetch(`${url}scenarios`)).text();
  expect(text.split('\n')).toEqual(scenarios.map(({ name }) => name));
  expect(await (await fetch(jwksUrl)).json()).toEqual(jwks);
  const members = Object.keys(jwks.keys[0] ?? {}).sort();
  expect(members.join(' ')).toBe('alg crv kid kty use x y');
  // Each issuer has its own.
  expect((await start()).jwks.keys[0]?.x).not.toBe(jwks.keys[0]?.x);
});

test('GET /token returns a token for each scenario, and of a user that expires in so many seconds', async () => {
  const expected = { iss: 'https://issuer.example', aud: 'ledger' };
  const { url } = await start({ issuer: expected.iss, audience: expected.aud });
  for (const { name } of scenarios) {
    const response = await fetch(`${url}token?scenario=${name}`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(decodeJwt(await response.text())).toMatchObject({ ...expected, scenario: name });
  }
  for (const expiresIn of [60, -60]) {
    const response = await fetch(`${url}token?sub=ada&expiresIn=${expiresIn}`);
    const { sub, exp = 0, iat = 0 } = decodeJwt(await response.text());
    expect([sub, exp - iat]).toEqual(['ada', expiresIn]);
  }
});

test('GET /token returns a token with further claims, such as those that a policy requires', async () => {
  const { url } = await start();
  const claims = { scope: 'a b', realm_access: { roles: ['operator'] } };
  const response = await fetch(`${url}token?claims=${encodeURIComponent(JSON.stringify(claims))}`);
  expect(decodeJwt(await response.text())).toMatchObject({ sub: 'dev-user', ...claims });
});

test.each(['scenario=unknown', 'expiresIn=1h', 'sub=', 'user=ada', 'claims={', 'claims=[]'])(
  'GET /token explains its parameters after %s',
  async (query) => {
    const { url } = await start();
    const response = await fetch(`${url}token?${query}`);
    expect(response.status).toBe(400);
    const text = await response.text();
    for (const { name } of scenarios) expect(text).toContain(`\n${name}: `);
  },
);
