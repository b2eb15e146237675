import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  Agent,
  createServer as createHttpServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Issuer, startIssuer } from '../dev/issuer.ts';

/** What was claimed, what was measured, and whether it holds. */
export type Row = { claim: string; measured: string; holds: boolean };

export type Scenario = {
  name: string;
  run(world: World): Promise<Row[]>;
};

/** Where scenarios take what they need; all of it is ended after each of them. */
export type World = {
  issuer: Issuer;
  token: string;
  startGateway(
    service: { url: string },
    variables?: Record<string, string>,
  ): Promise<RunningGateway>;
  /** A service that says for how many seconds it keeps a connection, or does not say. */
  startService(behaviour: Behaviour, announcedS?: number): Promise<Service>;
  /** Ends something after the scenario. */
  defer(end: () => unknown): void;
};

const main = new URL('../src/main.ts', import.meta.url).pathname;

/** Runs a scenario in a world of its own. */
export async function inWorld<Result>(run: (world: World) => Promise<Result>): Promise<Result> {
  const ends: Array<() => unknown> = [];
  const defer = (end: () => unknown) => void ends.unshift(end);
  try {
    const issuer = await startIssuer();
    defer(() => issuer.close());
    return await run({
      issuer,
      token: await issuer.token(),
      startGateway: (service, variables) => startGateway(issuer, service, variables, defer),
      startService: (behaviour, announcedS = 0) => startService(behaviour, announcedS, defer),
      defer,
    });
  } finally {
    for (const end of ends) await end();
  }
}

// The gateway

const logLine = z.looseObject({
  level: z.number(),
  msg: z.string().optional(),
  requestId: z.string().optional(),
  outcome: z.string().optional(),
});
export type LogLine = z.infer<typeof logLine>;

export type RunningGateway = {
  url: string;
  pid: number;
  /** What it logged, from `warn` on. */
  logs: LogLine[];
  metric(name: string): Promise<number>;
  /** Asks it to end, and resolves to its exit code. */
  stop(): Promise<unknown>;
};

async function startGateway(
  issuer: Issuer,
  service: { url: string },
  variables: Record<string, string> = {},
  defer: World['defer'],
): Promise<RunningGateway> {
  const port = variables.PORT ?? String(await freePort());
  const child = spawn(process.execPath, [main], {
    env: {
      HOST: '127.0.0.1',
      PORT: port,
      UPSTREAM_BASE_URL: service.url,
      JWT_JWKS_URL: issuer.jwksUrl,
      JWT_ISSUER: issuer.issuer,
      JWT_AUDIENCE: issuer.audience,
      NODE_ENV: 'production',
      LOG_LEVEL: 'warn',
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  endWithUs(child);
  defer(() => kill(child));
  const logs: LogLine[] = [];
  createInterface(child.stdout).on('line', (line) => {
    logs.push(logLine.parse(JSON.parse(line)));
  });
  const url = `http://127.0.0.1:${port}`;
  while ((await get(`${url}/readyz`)).status !== 200) {
    if (hasEnded(child)) throw new Error('The gateway did not start');
    await sleep(20);
  }
  return {
    url,
    pid: child.pid ?? 0,
    logs,
    async metric(name) {
      const { body } = await get(`${url}/metrics`);
      return body
        .split('\n')
        .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
    async stop() {
      child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** However this process ends, a child ends with it. */
export function endWithUs(child: ChildProcess): void {
  process.once('exit', () => child.kill('SIGKILL'));
}

/** Ends a child for good. */
export async function kill(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** A port of the loopback that is free at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  server.close();
  await once(server, 'close');
  return port;
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** The resident memory of a process, in MB. */
export function residentMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1024;
}

// The service

/** A call as the service received it, and where its answer goes. */
export type Call = {
  request: IncomingMessage;
  response: ServerResponse;
  path: string;
  project: string;
  body: string;
};
export type Behaviour = (call: Call) => void;

export type Service = {
  url: string;
  /** What it does with the calls that come: this may change at any time. */
  behaviour: Behaviour;
  /** How many calls came. */
  calls: number;
  /** How often each identifier came in a write. */
  seen: Map<string, number>;
  /** Calls that are not answered yet and whose connection stands. */
  open: Set<ServerResponse>;
  /** Tells of each call that came, and of each that closed. */
  changes: EventEmitter;
};

/** The service, in this process: it keeps connections, and says for how long unless with 0. */
async function startService(
  behaviour: Behaviour,
  announcedS: number,
  defer: World['defer'],
): Promise<Service> {
  const server = createHttpServer(async (request, response) => {
    try {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service');
      service.calls += 1;
      service.open.add(response);
      response.once('close', () => {
        service.open.delete(response);
        service.changes.emit('change');
      });
      const body = await text(request);
      const id = /"description":"([^"]+)"/.exec(body)?.[1];
      if (id !== undefined) service.seen.set(id, (service.seen.get(id) ?? 0) + 1);
      service.changes.emit('change');
      const project = searchParams.get('project') ?? '';
      service.behaviour({ request, response, path: pathname.slice(1), project, body });
    } catch {
      response.destroy(); // The gateway broke off amid its request.
    }
  });
  server.keepAliveTimeout = announcedS * 1000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const changes = new EventEmitter();
  changes.setMaxListeners(0);
  const service: Service = {
    url: `http://127.0.0.1:${portOf(server.address())}/`,
    behaviour,
    calls: 0,
    seen: new Map(),
    open: new Set(),
    changes,
  };
  return service;
}

const fineBody = JSON.stringify({ service_status: { status: 0 }, list: [], status: 0 });

/** Answers as every operation understands it. */
export const fine: Behaviour = ({ response }) => {
  if (response.destroyed) return;
  response.setHeader('content-type', 'application/json');
  response.end(fineBody);
};

// The callers

export type Answer = {
  /** 0 where there was none. */
  status: number;
  body: string;
  ms: number;
};

/** A GET, on a connection of its own unless kept ones are given. */
export function get(url: string, agent?: Agent): Promise<Answer> {
  return send(url, { method: 'GET', agent: agent ?? false }, undefined);
}

/** Connections of callers that are kept. */
export function keptConnections(world: World): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 4000, maxFreeSockets: 4000 });
  world.defer(() => agent.destroy());
  return agent;
}

/** Posts an operation. */
export function post(
  url: string,
  token: string,
  query: string,
  options: { agent?: Agent; signal?: AbortSignal; requestId?: string } = {},
): Promise<Answer> {
  const { agent, signal, requestId } = options;
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    ...(requestId !== undefined && { 'x-request-id': requestId }),
  };
  return send(
    `${url}/graphql`,
    { method: 'POST', agent: agent ?? false, headers, ...(signal && { signal }) },
    JSON.stringify({ query }),
  );
}

function send(
  url: string,
  options: Parameters<typeof request>[1],
  body: string | undefined,
): Promise<Answer> {
  const start = performance.now();
  return new Promise((resolve) => {
    const end = (status: number, body: string) =>
      resolve({ status, body, ms: performance.now() - start });
    const sent = request(url, options, (response) => {
      text(response).then(
        (body) => end(response.statusCode ?? 0, body),
        () => end(0, ''),
      );
    });
    sent.once('error', () => end(0, ''));
    sent.end(body);
  });
}

const graphql = z.object({
  data: z.looseObject({ result: z.looseObject({ __typename: z.string() }).nullish() }).nullish(),
  errors: z.array(z.object({ extensions: z.object({ code: z.string() }) })).optional(),
});

/** What an answer says: the union member of `result`, or the code of its error. */
export function outcomeOf({ status, body }: Answer): string {
  if (status === 0) return 'no answer';
  try {
    const { data, errors } = graphql.parse(JSON.parse(body));
    return errors?.[0]?.extensions.code ?? data?.result?.__typename ?? 'nothing';
  } catch {
    return `HTTP ${status}`;
  }
}

/** Whether an answer says that the operation succeeded. */
export function isSuccess(outcome: string): boolean {
  return ['GlCodeList', 'ApproversSaved'].includes(outcome);
}

export const readOf = (project: string) =>
  `{ result: glCodes(target: EMAIL, project: "${project}") { __typename ... on GlCodeList { codes { code } } } }`;

/** A write that the service can be asked about afterwards. */
export const writeOf = (id: string) =>
  `mutation { result: saveApprovers(approvers: [{ description: "${id}" }]) { __typename ... on LedgerOutcomeUnknown { code } } }`;

/** Runs a process's code before it is measured: what it does, callers of `concurrency` do `times`. */
export async function warmUp(
  url: string,
  token: string,
  agent: Agent,
  query = '{ __typename }',
  rounds = 5,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: 50 }, () => post(url, token, query, { agent })));
  }
}

// The load

/** Callers who come at a rate, whether those before them were answered or not. */
export async function openLoop(
  perSecond: number,
  seconds: number,
  call: (n: number) => Promise<unknown>,
  mostAtOnce = 4000,
): Promise<{ sent: number; withheld: number }> {
  const start = performance.now();
  const running = new Set<Promise<unknown>>();
  let withheld = 0;
  let n = 0;
  while (performance.now() - start < seconds * 1000) {
    const due = Math.floor(((performance.now() - start) / 1000) * perSecond);
    for (; n < due; n++) {
      if (running.size >= mostAtOnce) {
        withheld += 1;
        continue;
      }
      const one = call(n);
      running.add(one);
      void one.finally(() => running.delete(one));
    }
    await sleep(2);
  }
  await Promise.all(running);
  return { sent: n - withheld, withheld };
}

/** So many callers who ask again as soon as they are answered. */
export async function closedLoop(
  callers: number,
  seconds: number,
  call: (n: number) => Promise<unknown>,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  let n = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < end) await call(n++);
    }),
  );
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Counts by name, the most frequent first, as text. */
export function tally(names: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} ${name}`);
  return parts.join(', ') || 'none';
}

/** Waits until something is so, for a while. */
export async function until(isSo: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (!(await isSo())) {
    if (performance.now() > end) return false;
    await sleep(10);
  }
  return true;
}

/** How the writes that callers were told of stand to those that the service saw. */
export function reconcile(told: ReadonlyMap<string, string>, seen: ReadonlyMap<string, number>) {
  const wrong: string[] = [];
  let unknown = 0;
  for (const [id, outcome] of told) {
    const times = seen.get(id) ?? 0;
    if (outcome === 'LedgerOutcomeUnknown') unknown += 1;
    const fits =
      outcome === 'ApproversSaved'
        ? times === 1
        : outcome === 'LedgerOutcomeUnknown' || outcome === 'no answer'
          ? times <= 1
          : times === 0;
    if (!fits) wrong.push(`${outcome}, seen ${times} times`);
  }
  return { wrong, unknown };
}
