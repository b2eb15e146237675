import closeWithGrace from 'close-with-grace';
import { pino } from 'pino';
import { readConfig } from '../src/config.ts';
import { startGateway } from '../src/gateway.ts';
import { startIssuer } from './issuer.ts';
import { startReferenceService } from './service.ts';

/**
 * `npm run dev`: the reference service, the token issuer, and the real gateway in front of them,
 * configured by the variables of production alone. A variable that is set from outside wins.
 */
try {
  const issuer = await startIssuer({ port: Number(process.env.DEV_ISSUER_PORT ?? 4010) });
  const service = await startReferenceService({
    issuerKeys: issuer.jwks,
    port: Number(process.env.DEV_SERVICE_PORT ?? 4020),
  });
  const token = await issuer.token();
  const config = readConfig({
    HOST: '127.0.0.1',
    UPSTREAM_BASE_URL: service.url,
    UPSTREAM_CSV_OPTION_PARAM: 'option',
    JWT_JWKS_URL: issuer.jwksUrl,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
    INTROSPECTION: 'true',
    EXPLORER: 'sandbox',
    EXPLORER_HEADERS: JSON.stringify({ Authorization: `Bearer ${token}` }),
    ...process.env,
  });
  const gateway = await startGateway(config, pino({ level: config.logLevel, base: null }));
  closeWithGrace(
    { delay: config.shutdownDelayMs + config.shutdownTimeoutMs, logger: false },
    async () => {
      await gateway.close();
      await Promise.all([service.close(), issuer.close()]);
    },
  );

  const query =
    '{ glCodes(target: EMAIL, project: "north-plant") { ... on GlCodeList { codes { code name } } ... on LedgerProblem { message } } }';
  process.stdout.write(`
The gateway listens at ${gateway.url}/graphql
  explorer             ${config.explorer === 'off' ? 'off (EXPLORER)' : `the same address, in a browser (${config.explorer})`}
  reference service    ${service.url}
  a token, 12 h        ${issuer.url}token
  one with a scenario  ${issuer.url}token?scenario=failed   (one that it does not know lists them all)

A ready token:

${token}

A first query, to paste:

curl -s ${gateway.url}/graphql -H 'content-type: application/json' -H 'authorization: Bearer ${token}' --data-binary '${JSON.stringify({ query })}'

`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
