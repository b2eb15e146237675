import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startIssuer } from '../dev/issuer.ts';
import { startReferenceService } from '../dev/service.ts';
import { version } from '../src/version.ts';
import { get } from '../stress/client.ts';
import { until } from '../stress/harness.ts';
import { postTo } from '../testkit/graphql-operation.ts';
import { freePort } from '../testkit/port.ts';
import { buildImage, removeImages } from './build-image.ts';
import { check } from './claim.ts';
import { startContainer } from './container.ts';

/**
 * `npm run image:check`: builds the Dockerfile, starts the result read-only, and exits with 1 unless it responds to a
 * query and drains on SIGTERM. Then the same for the demo: a page, and a write. It needs no container runtime and no
 * registry of images, but root and these commands, each from the Debian package beside it.
 */
const commands = {
  buildah: 'buildah',
  bwrap: 'bubblewrap',
  setpriv: 'util-linux',
};
/** How late the service responds to the write that is in flight at SIGTERM: after the port has closed. */
const SLOW_MS = 2000;
const SHUTDOWN_DELAY_MS = 500;
/** How long the check waits for anything. */
const PATIENCE_MS = 60_000;

const write = 'mutation { saveApprovers(approvers: [{ name: "Ada" }]) { __typename } }';
const read =
  '{ glCodes(target: EMAIL, project: "north-plant") { ... on GlCodeList { codes { code } } } }';

async function checkImage(folder: string): Promise<void> {
  const image = buildImage(folder, 'gateway');
  check('the user has a number that is not root', /^[1-9]\d*:[1-9]\d*$/.test(image.User));

  const name = 'org.opencontainers.image.version';
  check(`the label ${name} is the version of the package`, image.Labels[name] === version);
  check('it has the license', existsSync(join(image.root, 'app/LICENSE')));

  const issuer = await startIssuer();
  const service = await startReferenceService({ issuerKeys: issuer.jwks, slowMs: SLOW_MS });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const variables = {
    HOST: '127.0.0.1',
    PORT: String(port),
    UPSTREAM_BASE_URL: service.url,
    JWT_JWKS_URL: issuer.jwksUrl,
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: issuer.audience,
    SHUTDOWN_DELAY_MS: String(SHUTDOWN_DELAY_MS),
  };
  const statusOf = async (path: string) => (await get(`${url}${path}`)).status;
  const post = async (query: string, token: string) =>
    (await postTo(url, { query }, { authorization: `Bearer ${token}` })).text;

  const container = await startContainer(image, variables);
  const isUp = await until(
    async () => container.hasExited() || (await statusOf('/readyz')) === 200,
    PATIENCE_MS,
  );
  check('it starts on a read-only root', isUp && !container.hasExited(), container.output());
  const process1 = (file: string) => readFileSync(`/proc/${container.pid}/${file}`, 'utf8');
  const isNode = process1('cmdline').startsWith('node\0src/main.ts');
  check('node is process 1', isNode && /^NSpid:.*\t1$/m.test(process1('status')));
  const healthCheck = image.Healthcheck.Test.slice(1);
  const health = await startContainer(image, variables, healthCheck);
  check('the health check succeeds', (await health.exited) === 0);
  check('a query is answered', (await post(read, await issuer.token())).includes('"code":"1200"'));

  const slow = post(write, await issuer.token({ scenario: 'slow' }));
  check('a write is in flight', await until(() => service.approvers().length === 1, PATIENCE_MS));
  process.kill(container.pid, 'SIGTERM');
  check(
    '/readyz responds 503 after SIGTERM',
    await until(async () => (await statusOf('/readyz')) === 503, PATIENCE_MS),
  );
  check('the write is answered', (await slow).includes('"ApproversSaved"'));
  check('it exits with 0', (await container.exited) === 0);
  const sick = await startContainer(image, variables, healthCheck);
  check('the health check fails without the gateway', (await sick.exited) === 1);
  if (process.exitCode) process.stdout.write(container.output());
  await Promise.all([service.close(), issuer.close()]);
}

/** Starts the demo, and does what its page does: loads, gets a token, and sends a write to the gateway. */
async function checkDemo(folder: string): Promise<void> {
  const image = buildImage(folder, 'demo');
  const names = [
    'PORT',
    'DEV_ISSUER_PORT',
    'DEV_SERVICE_PORT',
    'DEV_CUTTING_PROXY_PORT',
    'DEV_WEB_PORT',
  ];
  const ports = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, String(await freePort())] as const)),
  );
  const container = await startContainer(image, ports);
  const page = `http://localhost:${ports.DEV_WEB_PORT}`;
  const textOf = async (url: string) => (await get(url)).body;
  const isUp = await until(
    async () => container.hasExited() || (await textOf(page)) !== '',
    PATIENCE_MS,
  );
  check('demo: it starts on a read-only root', isUp && !container.hasExited(), container.output());
  const [script = ''] = /\/assets\/[\w-]+\.js/.exec(await textOf(page)) ?? [];
  const app = await textOf(page + script);
  check('demo: its page loads the app', app.includes('http://127.0.0.1:4000/graphql'));
  const token = await textOf(`http://127.0.0.1:${ports.DEV_ISSUER_PORT}/token`);
  const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
  const { headers, text } = await postTo(
    `http://127.0.0.1:${ports.PORT}`,
    { query },
    { authorization: `Bearer ${token}`, 'idempotency-key': 'demo', origin: page },
  );
  const isAllowed = headers.get('access-control-allow-origin') === page;
  check('demo: a workflow action', isAllowed && text.includes('"WorkflowActionCompleted"'));
  process.kill(container.pid, 'SIGTERM');
  check('demo: it exits with 0', (await container.exited) === 0);
  if (process.exitCode) process.stdout.write(`${text}\n${container.output()}`);
}

const missing = Object.entries(commands).filter(
  ([command]) => spawnSync(command, ['--version']).error !== undefined,
);
if (missing.length > 0 || process.getuid?.() !== 0) {
  const packages = missing.map(([, name]) => name).join(' ') || 'are installed';
  process.stderr.write(`image:check needs root, and these Debian packages: ${packages}\n`);
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-image-'));
process.once('exit', () => removeImages(folder));
// The commands run synchronously and receive Ctrl+C themselves.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
await checkImage(folder);
await checkDemo(folder);
