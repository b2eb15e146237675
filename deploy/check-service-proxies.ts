import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPath } from '../dev/path-check.ts';
import { get } from '../stress/client.ts';
import { after, type Harness, until, withHarness } from '../stress/harness.ts';
import { nginxCommand } from '../stress/nginx.ts';
import { startChild } from '../stress/process.ts';
import { endProcess } from '../testkit/child-process.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { postTo } from '../testkit/graphql-operation.ts';
import { freePort } from '../testkit/port.ts';
import { startService, success } from '../testkit/service.ts';
import { temporaryFolder } from '../testkit/temporary-folder.ts';
import { check } from './claim.ts';

/*
 * `npm run proxies:check`, second part: starts each proxy of docs/how-to/proxy-before-the-service.md between a gateway and a
 * service, with the configuration of that page. Exits with 1 unless each write arrives once and is answered by nobody else.
 * Needs the Debian packages of the proxies, and npm.
 */

/** How long a proxy has for its start, in milliseconds. */
const PATIENCE_MS = 30_000;
/** The timeout of each proxy in this check, which replaces the 15 s of the page. */
const PROXY_TIMEOUT_S = 6;
/** How long the service takes for a slow response. After this time, Traffic Server adds `Age`, as if it came from a cache. */
const SLOW_MS = 2000;
/** How long the stand-in for the service is silent: proxies repeat when their timeout has passed. */
const SILENCE_MS = 12_000;

const page = readFileSync(
  new URL('../docs/how-to/proxy-before-the-service.md', import.meta.url),
  'utf8',
);

/** Where a proxy stands, where its files are, and the port of the service. */
type Place = { folder: string; file: (name: string) => string; port: number; service: string };
/** Writes what else the proxy needs, and returns its command, given the path of its configuration. */
type Proxy = (config: string, place: Place) => string[];

/** By the language of the block in the page. */
const proxies: Record<string, Proxy> = {
  nginx: (config, { folder }) => nginxCommand(folder, `include ${config};`),
  haproxy: (config) => ['haproxy', '-q', '-db', '-f', config],
  apache(config, { folder, file }) {
    const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http'];
    const lines = [
      ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
      `ServerRoot ${folder}\nServerName localhost\nPidFile ${file('pid')}\nMutex file:${folder}`,
      `ErrorLog ${file('log')}\nInclude ${config}`,
    ];
    writeFileSync(file('main.conf'), `${lines.join('\n')}\n`);
    return ['apache2', '-D', 'FOREGROUND', '-f', file('main.conf')];
  },
  lighttpd: (config) => ['lighttpd', '-D', '-f', config],
  vcl: (config, { file, port }) => [
    ...['varnishd', '-F', '-n', file('varnish'), '-a', `127.0.0.1:${port}`, '-f', config],
    ...['-s', 'default,16m', '-p', 'http_req_hdr_len=16k'],
  ],
  squid(config, { folder, file, port }) {
    if (process.getuid?.() === 0) execFileSync('chown', ['proxy', folder]);
    const lines = `pid_filename ${file('pid')}\ncache_log ${file('log')}\naccess_log none\nnetdb_filename none\npinger_enable off\n`;
    writeFileSync(file('main.conf'), `${lines}include ${config}\n`);
    return ['squid', '-N', '-n', `check${port}`, '-f', file('main.conf')];
  },
  caddyfile(config, { file }) {
    // Without its admin port and certificates, which a check needs no more than a proxy inside.
    const lines = ['{', '  admin off', '  auto_https off', '}', `import ${config}`, ''];
    writeFileSync(file('main'), lines.join('\n'));
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', file('main')];
  },
  trafficserver(config, { folder, file, service }) {
    const etc = file('etc');
    for (const name of ['etc', 'cache', 'log', 'run']) mkdirSync(file(name));
    const own = 'CONFIG proxy.config.admin.user_id STRING #-1\n';
    writeFileSync(join(etc, 'records.config'), readFileSync(config, 'utf8') + own);
    writeFileSync(join(etc, 'remap.config'), `map / http://127.0.0.1:${service}/\n`);
    writeFileSync(join(etc, 'storage.config'), 'cache 64M\n');
    const rules =
      'ip_allow:\n  - { apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL }\n';
    writeFileSync(join(etc, 'ip_allow.yaml'), rules);
    const lib = '/usr/lib/trafficserver';
    const layout = {
      ...{ prefix: folder, exec_prefix: folder, bindir: '/usr/bin', sbindir: '/usr/sbin' },
      ...{ sysconfdir: etc, datadir: file('cache'), includedir: '/usr/include', libdir: lib },
      ...{ libexecdir: `${lib}/modules`, localstatedir: file('run'), runtimedir: file('run') },
      ...{ logdir: file('log'), cachedir: file('cache') },
    };
    const lines = Object.entries(layout).map(([name, path]) => `${name}: ${path}\n`);
    writeFileSync(file('runroot.yaml'), lines.join(''));
    return ['traffic_server', `--run-root=${file('runroot.yaml')}`];
  },
  js(config, { folder, file }) {
    const packages = ['@fastify/http-proxy@11.6.3', 'fastify@5.12.8'];
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    writeFileSync(file('package.json'), '{"type":"module"}');
    execFileSync('npm', ['install', '--prefix', folder, ...options, ...packages]);
    return [process.execPath, config];
  },
};

/** Starts a proxy with its configuration of the page, in front of the service at a port, and returns its address. */
async function startProxy(language: string, service: string): Promise<string> {
  const [, block] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(page) ?? [];
  const configure = proxies[language];
  if (block === undefined || !configure) throw new Error(`The page has no ${language}`);
  const folder = await temporaryFolder();
  chmodSync(folder, 0o755); // Varnish and Squid run as users of their own.
  const port = await freePort();
  const file = (name: string) => join(folder, name);
  const config = file(`page.${language}`);
  const text = block
    .replaceAll('ledger.internal', '127.0.0.1')
    .replaceAll('8080', service)
    .replaceAll('8081', String(port))
    .replaceAll(/\b15(?=s|\b)/g, String(PROXY_TIMEOUT_S));
  writeFileSync(config, text);
  const [command = '', ...args] = configure(config, { folder, file, port, service });
  const env = { ...process.env, HOME: folder };
  const proxy = startChild(command, args, { stdio: ['ignore', 'ignore', 'ignore'], env });
  // SIGTERM lets the proxy end its own children.
  closeAfterTest(() => endProcess(proxy, 'SIGTERM'));
  const url = `http://127.0.0.1:${port}/`;
  const responds = async () => (await get(url)).status === 200;
  if (!(await until(responds, PATIENCE_MS))) throw new Error(`${language} did not start`);
  return url;
}

const uploaded =
  'mutation ($csv: String!) { uploadWorkflowCsv(input: { fileName: "a.csv", csv: $csv }) { __typename } }';
const saved = 'mutation { saveApprovers(approvers: [{ name: "a" }]) { __typename } }';

/** Checks the writes of a gateway that have a body, and then what `npm run contract -- --stand-in` checks of the others. */
async function checkProxy({ startGateway, issuer }: Harness, language: string): Promise<void> {
  const service = await startService(success);
  const { port } = new URL(service.url);
  const url = await startProxy(language, port);
  const gateway = await startGateway({ url });
  // As long as a token with 150 groups.
  const token = await issuer.token({ claims: { groups: 'g'.repeat(8700) } });
  const authorization = `Bearer ${token}`;
  const send = (query: string, variables = {}) =>
    postTo(gateway.url, { query, variables }, { authorization });

  const before = service.received.length;
  service.respondWith(after(SLOW_MS, success));
  const { text } = await send(saved);
  service.respondWith(success);
  const [received, ...others] = service.received.slice(before);
  check(
    `${language}: a slow POST arrives once, with its body and a token of 12,000 characters`,
    text.includes('ApproversSaved') &&
      others.length === 0 &&
      received?.body === '[{"name":"a"}]' &&
      received.headers.authorization === authorization,
    { text, received: received?.body, headers: received?.headers },
  );
  const csv = 'a;b;'.repeat(786_432);
  const upload = await send(uploaded, { csv });
  check(
    `${language}: a file of 3 MiB arrives whole`,
    upload.text.includes('WorkflowCsvUploaded') &&
      service.received.at(-1)?.body.includes(btoa(csv)) === true,
    upload.text,
  );
  await gateway.stop();
  service.server.close();
  service.server.closeAllConnections();
  const path = await checkPath({ url, standIn: Number(port), silenceMs: SILENCE_MS });
  check(`${language}: each GET arrives as often as it was sent`, path.isFine, path.text);
}

await withHarness((harness) =>
  Promise.all(Object.keys(proxies).map((language) => checkProxy(harness, language))),
);
process.exit();
