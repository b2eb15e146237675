import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, expect, jest, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type AsymmetricSigningAlgorithm } from 'oidc-provider';
import { z } from 'zod';
import { eventually } from '../testkit/eventually.ts';
import { startTestGateway } from '../testkit/gateway.ts';
import { write } from '../testkit/graphql-operation.ts';
import { startHttpServer } from '../testkit/http-server.ts';
import { startService, success } from '../testkit/service.ts';
import { temporaryFile } from '../testkit/temporary-folder.ts';

const algorithms = [
  'RS256',
  'PS256',
  'ES256',
  'EdDSA',
  'Ed25519',
] as const satisfies AsymmetricSigningAlgorithm[];

// The provider recommends on the console what a provider in production needs.
beforeEach(() => {
  for (const level of ['info', 'warn'] as const) jest.spyOn(console, level).mockReturnValue();
});

const client = { client_id: 'ledger-app', client_secret: 'a-secret-of-this-test' };

/** An authorization server that issues JWTs for `audience`, to an application without a user. */
async function startProvider(audience: string) {
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => {};
  const { origin } = await startHttpServer((request, response) => handle(request, response));
  let algorithm: AsymmetricSigningAlgorithm = 'RS256';

  /** Uses new keys, and no earlier ones. */
  async function rotate() {
    const keys = await Promise.all(
      algorithms.map(async (alg) => {
        const { privateKey } = await generateKeyPair(alg, { extractable: true });
        return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: crypto.randomUUID() };
      }),
    );
    const provider = new Provider(origin, {
      jwks: { keys },
      enabledJWA: { idTokenSigningAlgValues: [...algorithms] },
      clients: [
        { ...client, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
      ],
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({
            scope: 'ledger:write',
            audience,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: algorithm } },
          }),
        },
      },
    });
    handle = provider.callback();
  }
  await rotate();

  return {
    issuer: origin,
    rotate,
    async token(alg: AsymmetricSigningAlgorithm): Promise<string> {
      algorithm = alg;
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        resource: 'https://ledger.example.com/',
        scope: 'ledger:write',
        ...client,
      });
      const response = await fetch(`${origin}/token`, { method: 'POST', body });
      return z.object({ access_token: z.string() }).parse(await response.json()).access_token;
    },
  };
}

test('tokens of two providers of different audiences may write, in each algorithm, and after new keys', async () => {
  const service = await startService(success);
  const [one, two] = await Promise.all([startProvider('ledger'), startProvider('api://ledger')]);
  const file = await temporaryFile(
    JSON.stringify([
      { issuer: one.issuer, audience: 'ledger' },
      { issuer: two.issuer, audience: 'api://ledger', algorithms: ['ES256'] },
    ]),
  );
  const policy = await temporaryFile(
    JSON.stringify({ writes: { claims: { scope: ['ledger:write'] } } }),
  );
  const gateway = await startTestGateway(service, {
    JWT_ISSUER: '',
    JWT_AUDIENCE: '',
    JWT_JWKS_URL: '',
    JWT_ISSUERS_FILE: file,
    JWT_TYP: 'at+jwt',
    POLICY_FILE: policy,
  });
  const statusOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() };
    return (await gateway.post({ query: write }, headers)).status;
  };

  for (const alg of algorithms) {
    expect([alg, await statusOf(await one.token(alg))]).toEqual([alg, 200]);
    expect([alg, await statusOf(await two.token(alg))]).toEqual([alg, alg === 'ES256' ? 200 : 401]);
  }
  expect(service.received).toHaveLength(algorithms.length + 1);
  expect(await gateway.logLine({ msg: 'request', status: 200 })).toMatchObject({
    azp: client.client_id,
  });

  const old = await one.token('ES256');
  await one.rotate();
  const rotated = await one.token('ES256');
  // Keys are fetched at most once a second.
  await eventually(async () => expect(await statusOf(rotated)).toBe(200));
  expect(await statusOf(old)).toBe(401);
});
