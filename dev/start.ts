import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import closeWithGrace from 'close-with-grace';
import { pino } from 'pino';
import { type Config, readConfig } from '../src/config/config.ts';
import { type Gateway, startGateway } from '../src/gateway.ts';
import { longestDelayMs } from '../src/http/drain.ts';
import { ledger } from '../src/resolvers/ledger.ts';
import { createLogger } from '../src/telemetry/log.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import { type ReferenceService, startReferenceService } from './service.ts';
import { startWebApp, type WebApp } from './web-app.ts';
import { serveWebBuild } from './web-build.ts';

/**
 * `npm run dev`: starts the reference service, the token issuer, a proxy that loses responses, and the
 * gateway, which is configured only with the variables that it also has in production. Variables of the
 * environment take precedence. With `--web`, also starts the example web app; in the image of the demo, from its build.
 */
const host = process.env.HOST ?? '127.0.0.1';
try {
  const issuer = await startIssuer({ host, port: Number(process.env.DEV_ISSUER_PORT ?? 4010) });
  const service = await startReferenceService({
    issuerKeys: issuer.jwks,
    port: Number(process.env.DEV_SERVICE_PORT ?? 4020),
  });
  const token = await issuer.token();
  const config = readConfig(
    {
      HOST: host,
      SHUTDOWN_DELAY_MS: '0',
      UPSTREAM_BASE_URL: service.url,
      UPSTREAM_CSV_OPTION_PARAM: 'option',
      JWT_ISSUER: issuer.issuer,
      JWT_AUDIENCE: issuer.audience,
      CORS_ORIGINS: 'http://localhost:*',
      INTROSPECTION: 'true',
      READ_CACHE_S: '5',
      EXPLORER: 'graphiql', // It works offline.
      EXPLORER_HEADERS: JSON.stringify({ Authorization: `Bearer ${token}` }),
      ...process.env,
    },
    ledger.operations,
  );
  // The lines of the log are held until the instructions are printed.
  const lines = new PassThrough();
  // The image of the demo has no packages for development, so its log is that of the gateway.
  const isDemo = process.env.NODE_ENV === 'production';
  const output = { write: (line: string) => void lines.write(line), writeNow: () => undefined };
  const level = config.logLevel;
  const log = isDemo ? createLogger(level, output) : pino({ level, base: null }, lines);
  const gateway = await startGateway(config, log);
  const proxy = await startCuttingProxy({
    target: gateway.url,
    port: Number(process.env.DEV_CUTTING_PROXY_PORT ?? 4001),
  });
  const webApp = process.argv.includes('--web') ? await startWeb(gateway, issuer) : undefined;
  const { http, shutdownTimeoutMs } = config;
  closeWithGrace(
    { delay: longestDelayMs(http.shutdownDelayMs) + shutdownTimeoutMs, logger: false },
    async () => {
      await webApp?.close();
      await proxy.close();
      await gateway.close();
      await Promise.all([service.close(), issuer.close()]);
    },
  );
  process.stdout.write(instructions({ config, gateway, proxy, issuer, service, webApp, token }));
  lines.pipe(isDemo ? process.stdout : await readableOutput());
} catch (error) {
  const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const hint = isInUse ? '\ndocs/how-to/develop.md names the variable of each port.' : '';
  process.stderr.write(`${error instanceof Error ? error.message : error}${hint}\n`);
  process.exit(1);
}

/** Writes each line of the log as a sentence with its fields. */
async function readableOutput(): Promise<NodeJS.WritableStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    // The settings are a hundred lines, and `npm start -- --check-config` prints them. The caller is a long hash.
    ignore: 'settings,caller',
  });
}

function startWeb(gateway: Gateway, issuer: Issuer): Promise<WebApp> {
  const { DEV_WEB_BUILD: folder, DEV_WEB_PORT: port = '5173' } = process.env;
  if (folder !== undefined) return serveWebBuild(folder, host, Number(port));
  return startWebApp(`${gateway.url}/graphql`, issuer.url, port);
}

type Setup = {
  readonly config: Config;
  readonly gateway: Gateway;
  readonly proxy: CuttingProxy;
  readonly issuer: Issuer;
  readonly service: ReferenceService;
  readonly webApp: WebApp | undefined;
  readonly token: string;
};

function instructions(setup: Setup): string {
  const { gateway, proxy, issuer, service, token } = setup;
  const query =
    '{ glCodes(target: EMAIL, project: "north-plant") { ... on GlCodeList { codes { code name } } ... on LedgerProblem { message } } }';
  const mutation =
    'mutation { saveApprovers(approvers: [{ name: "Ada" }]) { __typename ... on LedgerStatus { invoiceId message } } }';
  const key = `-H 'idempotency-key: ${randomUUID()}'`;
  const curl = (url: string, document: string, options = '') =>
    `curl -sS ${url}/graphql ${options} -H 'content-type: application/json' -H 'authorization: Bearer ${token}' --data-binary '${JSON.stringify({ query: document })}'`;

  return `
${placesToOpen(setup).join('\n')}

The gateway listens at ${gateway.url}/graphql
  reference service      ${service.url}
  token, valid for 12 h  ${issuer.url}token
  token with a scenario  ${issuer.url}token?scenario=failed   (an unknown name lists all scenarios)
  lost responses         ${proxy.url}/graphql   (the gateway, but each connection is cut before the response)

A token:

${token}

A first query:

${curl(gateway.url, query)}

A write whose response is lost (curl reports an empty reply):

${curl(proxy.url, mutation, key)}

The same write again. The gateway replays the outcome and sends nothing (Idempotent-Replayed: true):

${curl(gateway.url, mutation, `-i ${key}`)}

`;
}

/** What to open in a browser. */
function placesToOpen({ config, gateway, webApp }: Setup): string[] {
  const { explorer } = config.http;
  const app = webApp ? `Open ${webApp.url}` : 'Run npm run dev -- --web';
  const page = explorer === 'off' ? 'Unset EXPLORER' : `Open ${gateway.url}/graphql`;
  const sandbox =
    ' (EXPLORER=sandbox shows Apollo Sandbox, which is loaded from the internet and sends no Idempotency-Key)';
  return [
    `${app} for the example app.`,
    `${page} for the explorer, which has a token and samples${explorer === 'graphiql' ? sandbox : ''}.`,
  ];
}
