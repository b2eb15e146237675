import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpRequest } from './workloads.ts';

/** The gateway has a core to itself. Load and service run on others. */
export const cores = {
  gateway: 0,
  load: 1,
  service: cpus().length > 2 ? 2 : 1,
} as const;

/** Pins this process to another core than the gateway's. */
export function keepOffGateway(): void {
  const { status } = spawnSync('taskset', ['-acp', String(cores.load), String(process.pid)]);
  if (status !== 0) throw new Error('taskset failed: the benchmark needs Linux and two cores');
}

export type Child = { process: ChildProcess; pid: number };

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts a script on one core. It gets only the given environment variables. */
export function start(
  core: number,
  script: URL,
  options: {
    args?: string[];
    nodeArgs?: string[];
    environment?: Record<string, string>;
    ipc?: boolean;
  } = {},
): Child {
  const { args = [], nodeArgs = [], environment, ipc = false } = options;
  const command = [process.execPath, ...nodeArgs, script.pathname, ...args];
  const child = spawn('taskset', ['-c', String(core), ...command], {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'ignore', 'inherit', ...(ipc ? (['ipc'] as const) : [])],
  });
  if (child.pid === undefined) throw new Error('taskset cannot be started');
  children.add(child);
  child.once('exit', () => children.delete(child));
  return { process: child, pid: child.pid };
}

/** Stops a child with SIGTERM, and after ten seconds with SIGKILL. */
export async function stop({ process: child }: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await exited;
  clearTimeout(timer);
}

/** The next message of a child. Rejects if the child ends first, or sends nothing for three minutes. */
export async function reply<Message>({ process: child }: Child): Promise<Message> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(180_000)]);
  const onExit = () => ended.abort(new Error('A process of the benchmark ended'));
  child.once('exit', onExit);
  try {
    const [message] = await once(child, 'message', { signal });
    return message;
  } finally {
    child.off('exit', onExit);
  }
}

/** Repeats a request until its first 200. */
export async function waitFor(child: Child, origin: string, request: HttpRequest): Promise<void> {
  const start = performance.now();
  while (performance.now() - start < 30_000) {
    if (child.process.exitCode !== null) throw new Error('A peer exited before it was ready');
    const status = await send(origin, request).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    await sleep(5);
  }
  throw new Error('A peer was not ready within 30 s');
}

/** Sends one request, on its own connection unless an agent is given. */
export function send(
  origin: string,
  { method, path, headers, body }: HttpRequest,
  agent?: http.Agent,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, origin), { method, headers, agent: agent ?? false });
    request.once('error', reject);
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    });
    request.end(body);
  });
}

/** The CPU time of a process and all its threads so far, in seconds. */
export function cpuSeconds(pid: number): number {
  // After the name in parentheses. Fields 14 and 15 are utime and stime, in ticks of 10 ms.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
