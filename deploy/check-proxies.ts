import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import { type Harness, until, withHarness } from '../stress/harness.ts';
import { createPrivateCa } from '../testkit/certificate.ts';
import { endProcess } from '../testkit/child-process.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { freePort } from '../testkit/port.ts';
import { startStub, success } from '../testkit/service.ts';
import { temporaryFolder } from '../testkit/temporary-folder.ts';
import { check } from './claim.ts';

/**
 * `npm run proxies:check`, first part: starts nginx and HAProxy with the configurations of this folder, each in front of two
 * gateways. Exits with 1 unless a rolling restart under load fails nothing, and every write reaches the service once, also if
 * its gateway is killed. Needs the Debian packages `nginx-light` and `haproxy`.
 */
const WORKERS = 4;
/** The pause of a worker between two requests, in milliseconds, which keeps below the limits of the proxies. */
const PAUSE_MS = 30;
/** How long the check waits for anything. */
const PATIENCE_MS = 60_000;

const folder = await temporaryFolder();
const file = (name: string) => join(folder, name);

/** Waits for a condition that must become true. */
async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  if (!(await until(condition, PATIENCE_MS))) throw new Error(`waited too long for ${condition}`);
}

/** Starts a service that counts each write by the name of its approver, and does not respond to those named `held`. */
async function startService() {
  const writes = new Map<string, number>();
  const { url } = await startStub((response, received) => {
    const name = /"name":"([^"]*)"/.exec(received.body)?.[1];
    if (name !== undefined) writes.set(name, (writes.get(name) ?? 0) + 1);
    if (!name?.startsWith('held')) success(response, received);
  });
  return { url, writes };
}

/** Starts a gateway, which keeps its port when it is started again. */
async function createGateway({ startGateway }: Harness, service: { url: string }) {
  const port = await freePort();
  const variables = { PORT: String(port), UPSTREAM_TIMEOUT_MS: '5000' };
  const start = () => startGateway(service, variables);
  let running = await start();
  return {
    port,
    /** Whether it has executed an operation since its start. */
    hasServed: async () => (await running.metric('ledger_gateway_operations_total')) > 0,
    /** Sends SIGTERM, and resolves to the exit code. */
    stop: () => running.stop(),
    kill: () => running.kill(),
    async startAgain() {
      running = await start();
    },
  };
}

type Gateway = Awaited<ReturnType<typeof createGateway>>;

/** Writes a configuration of this folder with the addresses and files of the check. Each text must occur. */
function configure(name: string, replacements: Record<string, string>): string {
  let text = readFileSync(new URL(name, import.meta.url), 'utf8');
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  writeFileSync(file(name), text);
  return file(name);
}

const { cert, key, certFile, keyFile } = await (await createPrivateCa()).issue('localhost');
writeFileSync(file('gateway.pem'), `${cert}\n${key}`);

const proxies = {
  nginx(port: number, [one, two]: Gateway[], down?: Gateway) {
    const config = configure('nginx.conf', {
      'worker_processes auto': `pid ${file('nginx.pid')}; worker_processes 1`,
      'listen 443': `listen 127.0.0.1:${port}`,
      '/etc/nginx/tls/gateway.crt': certFile,
      '/etc/nginx/tls/gateway.key': keyFile,
      '/var/log/nginx/access.log': file('access.log'),
      'gateway-1:4000': `127.0.0.1:${one?.port}${one === down ? ' down' : ''}`,
      'gateway-2:4000': `127.0.0.1:${two?.port}${two === down ? ' down' : ''}`,
    });
    return ['nginx', '-p', folder, '-e', file('error.log'), '-c', config, '-g', 'daemon off;'];
  },
  haproxy(port: number, [one, two]: Gateway[]) {
    const config = configure('haproxy.cfg', {
      'bind :443': `bind 127.0.0.1:${port}`,
      '/etc/haproxy/tls': folder,
      ' gateway-1:4000': ` 127.0.0.1:${one?.port}`,
      ' gateway-2:4000': ` 127.0.0.1:${two?.port}`,
    });
    return ['haproxy', '-q', '-db', '-f', config];
  },
};

const document = `mutation ($name: String) {
  saveApprovers(approvers: [{ name: $name }]) { __typename }
  }`;
/** A connection for each request: a client may lose one that it reuses, with any server. */
const dispatcher = new Agent({
  connect: { rejectUnauthorized: false },
  allowH2: false,
  pipelining: 0,
});

/** Checks one proxy in front of two gateways. */
async function checkProxy(harness: Harness, name: keyof typeof proxies): Promise<void> {
  const service = await startService();
  const create = () => createGateway(harness, service);
  const gateways = await Promise.all([create(), create()]);
  const port = await freePort();
  const [command = '', ...args] = proxies[name](port, gateways);
  const proxy = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  closeAfterTest(() => endProcess(proxy, 'SIGTERM'));
  const headers = {
    authorization: `Bearer ${harness.token}`,
    'content-type': 'application/json',
  };
  const url = `https://127.0.0.1:${port}`;
  const save = async (approver: string) => {
    const body = JSON.stringify({ query: document, variables: { name: approver } });
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body, dispatcher });
    const hasId = response.headers.get('x-request-id')?.length === (name === 'nginx' ? 32 : 36);
    return { status: response.status, text: await response.text(), hasId };
  };

  await waitFor(() =>
    save('first').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  // nginx has to be told that a gateway will stop. HAProxy sees that it is no longer ready.
  const drain = async (gateway?: Gateway) => {
    if (name !== 'nginx') return;
    const processes = `/proc/${proxy.pid}/task/${proxy.pid}/children`;
    const workers = () => readFileSync(processes, 'utf8').split(' ');
    const before = workers();
    proxies.nginx(port, gateways, gateway);
    proxy.kill('SIGHUP');
    await waitFor(() => !workers().some((worker) => worker !== '' && before.includes(worker)));
  };
  await checkRestart(name, gateways, drain, save, service.writes);
  await checkKill(name, gateways, save, service.writes);
  const statusOf = async (path: string) => (await fetch(url + path, { dispatcher })).status;
  check(
    `${name}: /metrics and /readyz are not exposed`,
    (await statusOf('/metrics')) === 404 && (await statusOf('/readyz')) === 404,
  );
  const status = await statusOfLargeBody(`${url}/graphql`);
  check(`${name}: a body of 18 MB is 413`, status === 413, status);
}

/** The status for a body of 18 MB, of which only the beginning is sent. */
async function statusOfLargeBody(url: string): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json', 'content-length': 18_000_000 };
  const request = httpsRequest(url, { method: 'POST', headers, rejectUnauthorized: false });
  request.write(' '.repeat(100_000));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  request.destroy();
  return response.statusCode;
}

type Save = (approver: string) => Promise<{ status: number; text: string; hasId: boolean }>;

async function checkRestart(
  name: string,
  gateways: Gateway[],
  drain: (gateway?: Gateway) => Promise<void>,
  save: Save,
  writes: Map<string, number>,
): Promise<void> {
  let isOver = false;
  let sent = 0;
  const failures: unknown[] = [];
  const worker = async () => {
    while (!isOver) {
      sent += 1;
      const approver = `${name}-${sent}`;
      const result = await save(approver).catch((error: unknown) => ({
        status: 0,
        text: String(error),
      }));
      if (!result.text.includes('ApproversSaved')) failures.push(result);
      if (writes.get(approver) !== 1) failures.push({ approver, writes: writes.get(approver) });
      await sleep(PAUSE_MS);
    }
  };
  const workers = Array.from({ length: WORKERS }, worker);
  const codes: unknown[] = [];
  for (const gateway of gateways) {
    await drain(gateway);
    codes.push(await gateway.stop());
    await gateway.startAgain();
    await drain();
    await waitFor(gateway.hasServed); // The proxy uses it again.
  }
  isOver = true;
  await Promise.all(workers);
  check(
    `${name}: ${sent} writes during a rolling restart succeed, each sent once`,
    failures.length === 0,
    failures.slice(0, 5),
  );
  check(
    `${name}: both gateways exit with 0`,
    codes.every((code) => code === 0),
    codes,
  );
}

/** Two writes are in flight when both gateways are killed. No proxy may send them again. */
async function checkKill(
  name: string,
  gateways: Gateway[],
  save: Save,
  writes: Map<string, number>,
): Promise<void> {
  const held = ['held-1', 'held-2'];
  const results = held.map((approver) => save(approver));
  await waitFor(() => held.every((approver) => writes.has(approver)));
  await Promise.all(gateways.map((gateway) => gateway.kill()));
  await Promise.all(gateways.map((gateway) => gateway.startAgain()));
  const responses = await Promise.all(results);
  check(
    `${name}: writes whose gateway is killed are 502 with a request id, and not sent again`,
    responses.every(({ status, hasId }) => status === 502 && hasId) &&
      held.every((approver) => writes.get(approver) === 1),
    { responses, writes: held.map((approver) => writes.get(approver)) },
  );
}

await withHarness((harness) =>
  Promise.all((['nginx', 'haproxy'] as const).map((name) => checkProxy(harness, name))),
);
process.exit();
