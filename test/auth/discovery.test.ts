import { expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { startTestGateway } from '../support/gateway.ts';
import { read } from '../support/graphql-operation.ts';
import { metric } from '../support/metric.ts';
import { freePort } from '../support/port.ts';
import { json, type Reply, reply, startService } from '../support/service.ts';

const success = json({ status: 0, service_status: { status: 0 }, list: [] });

/** An identity provider with its own key. `document` changes its discovery document. */
async function startProvider(document: Record<string, unknown> = {}) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'key', alg: 'ES256' };
  let respond: Reply | undefined;
  const server = await startService((response, received) => {
    if (respond) return respond(response, received);
    if (received.url === '/tenant/keys') return json({ keys: [jwk] })(response, received);
    if (received.url !== '/tenant/.well-known/openid-configuration') {
      return reply(404)(response, received);
    }
    const issuer = `${server.url}tenant`;
    return json({ issuer, jwks_uri: `${issuer}/keys`, ...document })(response, received);
  });
  const issuer = `${server.url}tenant`;
  return {
    issuer,
    received: server.received,
    /** Responds like this to every request, or as an identity provider again. */
    respondWith(handler: Reply | undefined) {
      respond = handler;
    },
    token: (iss = issuer) =>
      new SignJWT({ iss, aud: 'gateway', sub: 'ada', exp: Math.floor(Date.now() / 1000) + 600 })
        .setProtectedHeader({ alg: 'ES256', kid: 'key' })
        .sign(privateKey),
  };
}

async function start(issuers: string[], variables: Record<string, string> = {}) {
  const gateway = await startTestGateway(await startService(success), {
    JWT_JWKS_URL: '',
    JWT_ISSUER: issuers.join(', '),
    JWT_AUDIENCE: 'other, gateway',
    ...variables,
  });
  return {
    ...gateway,
    send: async (token: string) =>
      (await gateway.graphql(read, undefined, { authorization: `Bearer ${token}` })).status,
    readiness: async () => (await fetch(`${gateway.url}/readyz`)).status,
  };
}

test('without JWT_JWKS_URL and JWT_JWKS_FILE, the keys are those that the issuer publishes', async () => {
  const provider = await startProvider();
  const { send } = await start([provider.issuer]);

  expect(await send(await provider.token())).toBe(200);
  expect(await send(await provider.token('https://elsewhere.example'))).toBe(401);
  expect(provider.received.map(({ url }) => url)).toEqual([
    '/tenant/.well-known/openid-configuration',
    '/tenant/keys',
  ]);
});

test('a token is verified with the keys of its own issuer only', async () => {
  const [one, two] = [await startProvider(), await startProvider()];
  const { send } = await start([one.issuer, two.issuer]);

  expect(await send(await one.token())).toBe(200);
  expect(await send(await two.token())).toBe(200);
  expect(await send(await one.token(two.issuer))).toBe(401);
  expect(await send(await two.token(one.issuer))).toBe(401);
});

test('with JWT_JWKS_URL, its keys are those of every issuer of the list', async () => {
  const provider = await startProvider();
  const { send } = await start(['first', 'second'], { JWT_JWKS_URL: `${provider.issuer}/keys` });

  expect(await send(await provider.token('first'))).toBe(200);
  expect(await send(await provider.token('second'))).toBe(200);
  expect(await send(await provider.token('third'))).toBe(401);
});

test.each([
  ['names another issuer', { issuer: 'https://elsewhere.example' }, 'elsewhere.example'],
  ['has no jwks_uri', { jwks_uri: undefined }, 'jwks_uri'],
  ['has a jwks_uri that is no URL', { jwks_uri: 'keys' }, 'jwks_uri'],
  ['has a jwks_uri of another scheme', { jwks_uri: 'file:///keys.json' }, 'jwks_uri'],
])('no token is accepted if the discovery document %s', async (_, document, fault) => {
  const provider = await startProvider(document);
  const { send, readiness, logLine } = await start([provider.issuer]);

  expect(await send(await provider.token())).toBe(503);
  expect(await readiness()).toBe(503);
  expect(await logLine({ msg: 'cannot fetch keys' })).toMatchObject({
    issuer: provider.issuer,
    keysAvailable: false,
    fault: expect.stringContaining(fault),
  });
});

test('the log has the status of a missing discovery document', async () => {
  const provider = await startProvider();
  provider.respondWith(reply(404));
  const { logLine } = await start([provider.issuer]);
  expect(await logLine({ msg: 'cannot fetch keys' })).toMatchObject({
    fault: 'the discovery document has status 404',
  });
});

test('an issuer that differs from the discovery document by its final slash is not accepted', async () => {
  const provider = await startProvider();
  const { send } = await start([`${provider.issuer}/`]);
  expect(await send(await provider.token(`${provider.issuer}/`))).toBe(503);
});

test('/readyz is 503 until the keys of every issuer are available, and then 200', async () => {
  const [one, two] = [await startProvider(), await startProvider()];
  two.respondWith(reply(500));
  const gateway = await start([one.issuer, two.issuer]);
  const { send, readiness, logLine } = gateway;
  expect(await send(await one.token())).toBe(200);
  await logLine({ msg: 'cannot fetch keys', issuer: two.issuer });
  expect(await readiness()).toBe(503);
  expect(await metric(gateway, 'ledger_gateway_ready')).toBe(0);

  two.respondWith(undefined);
  await logLine({ msg: 'keys fetched', issuer: two.issuer });

  expect(await readiness()).toBe(200);
  expect(await metric(gateway, 'ledger_gateway_ready')).toBe(1);
  expect(await send(await two.token())).toBe(200);
});

test('/readyz stays 200 and the last known keys are used while the issuer fails later', async () => {
  const provider = await startProvider();
  const { send, readiness } = await start([provider.issuer]);
  expect(await send(await provider.token())).toBe(200);

  provider.respondWith(reply(500));

  expect(await readiness()).toBe(200);
  expect(await send(await provider.token())).toBe(200);
});

test('/readyz is 503 with the reason in the log if nothing listens at JWT_JWKS_URL', async () => {
  const url = `http://127.0.0.1:${await freePort()}/keys`;
  const { readiness, logLine } = await start(['issuer'], { JWT_JWKS_URL: url });
  expect(await logLine({ msg: 'cannot fetch keys' })).toMatchObject({ fault: 'ECONNREFUSED' });
  expect(await readiness()).toBe(503);
});

test('/readyz is 503 if JWT_JWKS_URL has no keys', async () => {
  const empty = await startService(json({ keys: [] }));
  const { readiness, logLine } = await start(['issuer'], { JWT_JWKS_URL: empty.url });
  expect(await logLine({ msg: 'cannot fetch keys' })).toMatchObject({
    fault: 'the key set is empty',
  });
  expect(await readiness()).toBe(503);
});
