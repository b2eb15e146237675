import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { readConfig } from '../../testkit/config.ts';
import { write } from '../../testkit/graphql-operation.ts';
import { success } from '../../testkit/service.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';
import { createSigningKey } from '../support/signing-key.ts';
import { startStack } from '../support/stack.ts';

const page = readFileSync(new URL('../../docs/how-to/issuers.md', import.meta.url), 'utf8');
const claimsType = z.looseObject({ iss: z.string(), sub: z.string() });
const issuersType = z.array(z.looseObject({ issuer: z.string() }));
const policyType = z.object({ writes: z.object({ claims: z.record(z.string(), z.unknown()) }) });

/** The sections about providers: their settings, a token, and a policy. */
const sections = page
  .split(/^#{2,3} /m)
  .slice(1)
  .map((section) => {
    const [name = ''] = section.split('\n', 1);
    const blocks = [...section.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(
      ([, text = '']): unknown => JSON.parse(text),
    );
    const variables = [...section.matchAll(/^(JWT_\w+)=(.+)$/gm)].map(
      ([, key = '', value = '']) => [key, value] as const,
    );
    return {
      name,
      variables: Object.fromEntries(variables),
      issuers: blocks.map((block) => issuersType.safeParse(block).data).find(Boolean),
      claims: blocks.map((block) => claimsType.safeParse(block).data).find(Boolean),
      policy: blocks.map((block) => policyType.safeParse(block).data).find(Boolean),
    };
  });

const configured = sections.filter(({ variables, issuers }) => issuers ?? variables.JWT_ISSUER);
const withToken = configured.flatMap(({ claims, policy, ...section }) =>
  claims && policy ? [{ claims, policy, ...section }] : [],
);

test('the page has the settings, a token and a policy of each provider', () => {
  expect(withToken.map(({ name }) => name)).toEqual([
    'Keycloak',
    'Microsoft Entra ID',
    'Auth0',
    'Okta',
    'Amazon Cognito',
    'Zitadel',
    'Spring Authorization Server',
    'AD FS',
  ]);
});

/** The variables of a section. */
async function variablesOf({ variables, issuers }: (typeof sections)[number]) {
  if (!issuers) return variables;
  return { JWT_ISSUERS_FILE: await temporaryFile(JSON.stringify(issuers)) };
}

test.each(configured)('the settings for $name are valid', async (section) => {
  const UPSTREAM_BASE_URL = 'https://service.example/';
  const { jwt } = readConfig({ UPSTREAM_BASE_URL, ...(await variablesOf(section)) });
  expect(jwt.issuers).not.toEqual([]);
});

describe.each(withToken)(
  'with the settings for $name',
  ({ variables, issuers, claims, policy }) => {
    /** A gateway with these settings, but with keys of the test. */
    async function start() {
      const key = await createSigningKey('key', 'RS256');
      const jwksFile = await temporaryFile(JSON.stringify({ keys: [key.jwk] }));
      const ofFile = issuers?.map(({ jwksUrl: _, ...issuer }) => ({ ...issuer, jwksFile }));
      const own = ofFile
        ? {
            JWT_ISSUER: '',
            JWT_AUDIENCE: '',
            JWT_ISSUERS_FILE: await temporaryFile(JSON.stringify(ofFile)),
          }
        : { ...variables, JWT_JWKS_FILE: jwksFile };
      const POLICY_FILE = await temporaryFile(JSON.stringify(policy));
      const stack = await startStack(success, { ...own, JWT_JWKS_URL: '', POLICY_FILE });
      const now = Math.floor(Date.now() / 1000);
      const times = { iat: now, nbf: now, exp: now + 60, auth_time: now };
      /** Sends a write with the token of the page, and with these claims in place of its own. */
      const send = async (changed: Record<string, unknown> = {}) => {
        // The helper adds an audience, which the token of the page may not have.
        const token = await key.sign({ aud: undefined, ...claims, ...times, ...changed });
        const headers = {
          authorization: `Bearer ${token}`,
          'idempotency-key': crypto.randomUUID(),
        };
        return stack.gateway.graphql(write, {}, headers);
      };
      return { ...stack, send };
    }

    test('the token may write, and the log names its app', async () => {
      const { service, gateway, send } = await start();
      const { status, data, errors } = await send();
      expect([status, errors]).toEqual([200, undefined]);
      expect(data).toEqual({
        result: expect.objectContaining({ __typename: 'WorkflowActionCompleted' }),
      });
      expect(service.received).toHaveLength(1);
      const app = claims.azp ?? claims.client_id ?? claims.cid ?? claims.appid;
      const line = await gateway.logLine({ msg: 'request', status: 200 });
      expect(line.azp).toBe(app);
    });

    test('without the claim of the policy, for another audience, and of another issuer, nothing is sent', async () => {
      const { service, send } = await start();
      const [claim = ''] = Object.keys(policy.writes.claims);
      const [own = ''] = claim in claims ? [claim] : claim.split('.');
      expect((await send({ [own]: [] })).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
      for (const changed of [{ aud: 'other' }, { iss: `${claims.iss}x` }]) {
        expect((await send(changed)).status).toBe(401);
      }
      expect(service.received).toEqual([]);
    });
  },
);
