import cors from '@fastify/cors';
import Fastify from 'fastify';
import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';
import { z } from 'zod';
import { type ScenarioName, scenarioName, scenarios } from './scenarios.ts';

export type IssuerOptions = {
  /** 0, the default, selects any free port. */
  readonly port?: number;
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** The claim `iss`. By default the URL of this issuer. */
  readonly issuer?: string;
  readonly audience?: string;
};

export type TokenClaims = {
  /** null: no subject. */
  readonly sub?: string | null | undefined;
  /** The scenario that the reference service runs for requests with this token. */
  readonly scenario?: ScenarioName | undefined;
  /** A duration such as `12h`; `-1m` creates an expired token. */
  readonly expiresIn?: string | undefined;
  /** Further claims, such as the roles that a policy asks for. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
};

const jsonObject = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.record(z.string(), z.unknown()));

const tokenQuery = z.strictObject({
  sub: z.string().min(1).optional(),
  scenario: scenarioName.optional(),
  expiresIn: z
    .string()
    .regex(/^-?\d{1,9}$/)
    .transform((seconds) => `${seconds}s`)
    .optional(),
  claims: jsonObject.optional(),
});

export type Issuer = Awaited<ReturnType<typeof startIssuer>>;

/**
 * Starts an issuer of bearer JWTs for development, with a new key pair that is not stored. (How to obtain a
 * token of the real service is not documented: docs/reference/service-api.md, section 5.)
 *
 * `GET /.well-known/openid-configuration` names `GET /.well-known/jwks.json`, which returns the public key. `GET /token`
 * returns a token as text, with the optional parameters `scenario`, `sub`, `expiresIn` in seconds and `claims` (a JSON object),
 * and `GET /scenarios` the names of the scenarios, one per line. Pages of any port of localhost may read them.
 */
export async function startIssuer(options: IssuerOptions = {}) {
  const { port = 0, host = '127.0.0.1', audience = 'ledger-gateway' } = options;
  const algorithm = 'ES256';
  const keyId = crypto.randomUUID();
  const { publicKey, privateKey } = await generateKeyPair(algorithm);
  const publicJwk = await exportJWK(publicKey);
  const jwks: JSONWebKeySet = { keys: [{ ...publicJwk, kid: keyId, alg: algorithm, use: 'sig' }] };

  const app = Fastify({ forceCloseConnections: true });
  await app.register(cors, { origin: /^http:\/\/localhost(:\d+)?$/ });

  app.get('/scenarios', async () => scenarios.map(({ name }) => name).join('\n'));

  app.get('/.well-known/jwks.json', async () => jwks);

  app.get('/.well-known/openid-configuration', async () => ({ issuer, jwks_uri: jwksUrl }));

  app.get('/token', async (request, reply) => {
    reply.type('text/plain').header('cache-control', 'no-store');
    try {
      return await token(tokenQuery.parse(request.query));
    } catch {
      const known = scenarios.map(({ name, description }) => `${name}: ${description}\n`).join('');
      const names = 'sub, expiresIn in seconds, claims as a JSON object, scenario';
      return reply.code(400).send(`Parameters: ${names}. Scenarios:\n${known}`);
    }
  });

  const url = `${await app.listen({ port, host })}/`;
  const jwksUrl = `${url}.well-known/jwks.json`;
  const issuer = options.issuer ?? url;

  function token({ sub = 'dev-user', scenario, expiresIn = '12h', claims }: TokenClaims = {}) {
    return new SignJWT({ ...claims, ...(sub !== null && { sub }), ...(scenario && { scenario }) })
      .setProtectedHeader({ alg: algorithm, kid: keyId, typ: 'JWT' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(expiresIn)
      .sign(privateKey);
  }

  return {
    /** Ends with a slash. */
    url,
    jwksUrl,
    issuer,
    audience,
    jwks,
    token,
    close: () => app.close(),
  };
}
