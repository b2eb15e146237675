import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { request } from 'undici';
import { until } from '../stress/harness.ts';
import { startChild } from '../stress/process.ts';
import { hasExited } from '../testkit/child-process.ts';
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

/** Starts a script on one core, which ends with `closeAll`. It gets only the given environment variables. */
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
  const child = startChild('taskset', ['-c', String(core), ...command], {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'ignore', 'inherit', ...(ipc ? (['ipc'] as const) : [])],
  });
  if (child.pid === undefined) throw new Error('taskset cannot be started');
  return { process: child, pid: child.pid };
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
export async function waitFor(child: Child, origin: string, cheap: HttpRequest): Promise<void> {
  const isReady = () =>
    send(origin, cheap).then(
      ({ status }) => status === 200,
      () => false,
    );
  const isOver = await until(async () => hasExited(child.process) || isReady(), 30_000);
  if (!isOver || hasExited(child.process)) throw new Error('A peer has ended, or is not ready');
}

/** Sends one request. Its connection is kept for the next one. `fetch` would ask for compression. */
export async function send(origin: string, { headers, body: sent }: HttpRequest) {
  const options = { method: 'POST', headers, body: sent } as const;
  const { statusCode, body } = await request(`${origin}/graphql`, options);
  return { status: statusCode, text: await body.text() };
}

/** The CPU time of a process and all its threads so far, in seconds. */
export function cpuSeconds(pid: number): number {
  // After the name in parentheses. Fields 14 and 15 are utime and stime, in ticks of 10 ms.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
