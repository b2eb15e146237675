import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Issuer, startIssuer } from '../dev/issuer.ts';
import { endProcess, hasExited } from '../testkit/child-process.ts';
import { closeAfterTest, closeAll } from '../testkit/cleanup.ts';
import { sumOf } from '../testkit/metric.ts';
import { freePort } from '../testkit/port.ts';
import { type Reply, startStub } from '../testkit/service.ts';
import { get } from './client.ts';
import { createContainer } from './container.ts';
import { startChild } from './process.ts';

/** A claim of the gateway, what was measured, and whether the claim holds. */
export type Row = { claim: string; measured: string; holds: boolean };

export type Scenario = {
  name: string;
  run(harness: Harness): Promise<Row[]>;
};

type GatewayOptions = {
  /** A file descriptor for its log, which is discarded otherwise. */
  stdout?: number;
  /** Runs it with so much memory, as in a container. The kernel kills it if it uses more. */
  memoryMb?: number | undefined;
};

/** What a scenario needs. Everything that it starts is stopped after the scenario. */
export type Harness = {
  issuer: Issuer;
  token: string;
  startGateway: (...started: Started) => Promise<RunningGateway>;
};

type Started = [
  service: { url: string },
  variables?: Record<string, string>,
  options?: GatewayOptions,
];

const main = new URL('../src/main.ts', import.meta.url).pathname;

/** Runs a scenario with a new harness, and cleans up afterwards. */
export async function withHarness<Result>(
  run: (harness: Harness) => Promise<Result>,
): Promise<Result> {
  process.setMaxListeners(0); // Each process that is started adds one.
  try {
    const issuer = await startIssuer();
    closeAfterTest(() => issuer.close());
    return await run({
      issuer,
      token: await issuer.token(),
      startGateway: (...started) => startGateway(issuer, ...started),
    });
  } finally {
    await closeAll();
  }
}

/** Starts a service that announces a keep-alive timeout, in seconds; 0, the default, announces none. */
export async function startService(reply: Reply, keepAliveS = 0) {
  const service = await startStub(reply);
  service.server.keepAliveTimeout = keepAliveS * 1000;
  return service;
}

/** A reply after so many milliseconds. */
export const after =
  (ms: number, behaviour: Reply): Reply =>
  (...exchange) =>
    void setTimeout(behaviour, ms, ...exchange);

export type RunningGateway = Awaited<ReturnType<typeof startGateway>>;

async function startGateway(
  issuer: Issuer,
  ...[service, variables = {}, { stdout, memoryMb } = {}]: Started
) {
  const port = variables.PORT ?? String(await freePort());
  const container = memoryMb === undefined ? [] : createContainer(memoryMb);
  const [command = '', ...args] = [...container, process.execPath, main];
  const child = startChild(command, args, {
    env: {
      HOST: '127.0.0.1',
      PORT: port,
      UPSTREAM_BASE_URL: service.url,
      JWT_JWKS_URL: issuer.jwksUrl,
      JWT_ISSUER: issuer.issuer,
      JWT_AUDIENCE: issuer.audience,
      NODE_ENV: 'production',
      LOG_LEVEL: 'warn',
      MALLOC_MMAP_THRESHOLD_: '131072', // As in the image.
      ...variables,
    },
    stdio: ['ignore', stdout ?? 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  while ((await get(`${url}/readyz`)).status !== 200) {
    if (hasExited(child)) throw new Error('The gateway did not start');
    await sleep(20);
  }
  return {
    url,
    pid: child.pid ?? 0,
    /** The value of a metric, summed over its labels. */
    metric: async (name: string) => sumOf((await get(`${url}/metrics`)).body, name),
    /** Sends SIGTERM, and resolves to the exit code. */
    async stop(): Promise<unknown> {
      child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
    /** Sends SIGKILL, and resolves when the process has ended. */
    kill: () => endProcess(child),
  };
}

/** Polls until a condition is true. Returns false if it is not within `ms` milliseconds. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  ms: number,
): Promise<boolean> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await sleep(10);
  }
  return true;
}
