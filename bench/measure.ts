import http from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { type Child, cpuSeconds, residentMb, send } from './children.ts';
import type { Job, Load } from './load.ts';
import type { Running } from './peers.ts';
import { cheapRequest, everyday, requestOf, type Workload } from './workloads.ts';

/** One round of one peer. */
export type Round = {
  cpuUs: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  rssMb: number;
  calls: number;
  requests: number;
};

/** What a heavy load does to its neighbours and to the memory; only of workloads that are probed. */
export type Strain = {
  /** The longest wait of a cheap request beside it. */
  stallMs: number;
  /** The memory under an everyday load, before the heavy one; then at most; then as before. */
  rssBeforeMb: number;
  rssPeakMb: number;
  rssAfterMb: number;
};

type Service = { origin: string };

/** Sends a job to the load process and waits for its figures. A load that fails is no measurement. */
function drive(load: Child, job: Job): Promise<Load> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('A load did not end within 3 min')), 180_000);
    load.process.once('message', (result: Load) => {
      clearTimeout(timer);
      if (result.failed > 0) reject(new Error(`${result.failed} of ${result.served} failed`));
      else resolve(result);
    });
    load.process.send(job);
  });
}

/** Fails unless all peers give the same data for the same request, and the proxy what the service gives. */
export async function checkAnswers(
  workload: Workload,
  running: readonly Running[],
  service: Service,
  token: string,
): Promise<void> {
  for (const n of [0, 1, 17]) {
    let expected: { peer: string; data: unknown } | undefined;
    for (const { peer, origin } of running) {
      const request = requestOf(workload, peer.protocol, token, n);
      const { status, text } = await send(origin, request);
      if (status !== 200) throw new Error(`${peer.name} answers ${status}: ${text.slice(0, 300)}`);
      if (peer.protocol === 'bare') {
        if (text !== (await send(service.origin, request)).text) {
          throw new Error(`${peer.name} changes the answer of ${workload.name}`);
        }
        continue;
      }
      const { data, errors } = JSON.parse(text);
      if (errors) throw new Error(`${peer.name} answers errors: ${text.slice(0, 300)}`);
      expected ??= { peer: peer.name, data };
      if (!isDeepStrictEqual(data, expected.data)) {
        throw new Error(`${peer.name} and ${expected.peer} differ in ${workload.name}`);
      }
    }
  }
}

/** Warms a peer up, and tells how many requests a round of so many seconds takes. */
export async function warmUp(
  workload: Workload,
  { peer, origin }: Running,
  load: Child,
  token: string,
  seconds: { warmUp: number; round: number },
): Promise<number> {
  const job = { workload: workload.name, protocol: peer.protocol, origin, token };
  const { connections } = workload;
  const begin = performance.now();
  let perConnection = 2;
  for (;;) {
    const result = await drive(load, { ...job, requests: perConnection * connections });
    const perSecond = result.served / result.seconds / connections;
    if (performance.now() - begin >= seconds.warmUp * 1000) {
      return Math.max(2, Math.ceil(perSecond * seconds.round)) * connections;
    }
    perConnection = Math.max(2, Math.ceil((perSecond * seconds.warmUp) / 4));
  }
}

/** Measures one round: so many requests, all of them answered before the CPU time is read. */
export async function measure(
  workload: Workload,
  { peer, child, origin }: Running,
  load: Child,
  service: Service,
  token: string,
  requests: number,
): Promise<Round> {
  const job = { workload: workload.name, protocol: peer.protocol, origin, token, requests };
  const count = { path: '/__calls', headers: {} };
  await send(service.origin, { method: 'POST', ...count });
  const cpu = cpuSeconds(child.pid);
  const result = await drive(load, job);
  const cpuUs = ((cpuSeconds(child.pid) - cpu) * 1e6) / result.served;
  const rssMb = residentMb(child.pid);
  const { calls } = JSON.parse((await send(service.origin, { method: 'GET', ...count })).text);
  return {
    cpuUs,
    perSecond: result.served / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    rssMb,
    calls: calls / result.served,
    requests: result.served,
  };
}

/**
 * Runs a load with a cheap request beside it every 10 ms, whether or not the last one was answered:
 * the longest wait of one is the longest time that the event loop stood still.
 */
export async function probe(
  { peer, child, origin }: Running,
  token: string,
  work: () => Promise<unknown>,
): Promise<{ stallMs: number; rssPeakMb: number }> {
  const agent = new http.Agent({ keepAlive: true });
  const request = cheapRequest(peer.protocol, token);
  let rssPeakMb = 0;
  let stallMs = 0;
  const pending = new Set<Promise<void>>();
  const timer = setInterval(() => {
    rssPeakMb = Math.max(rssPeakMb, residentMb(child.pid));
    const begin = performance.now();
    const one = send(origin, request, agent).then(() => {
      stallMs = Math.max(stallMs, performance.now() - begin);
      pending.delete(one);
    });
    pending.add(one);
  }, 10);
  try {
    await work();
  } finally {
    clearInterval(timer);
    await Promise.all(pending);
    agent.destroy();
  }
  return { stallMs, rssPeakMb };
}

/** The memory of a peer under an everyday load, which also makes it collect what is left of a heavy one. */
export async function restingMb(
  running: Running,
  load: Child,
  token: string,
  seconds: { warmUp: number; round: number },
): Promise<number> {
  await warmUp(everyday, running, load, token, seconds);
  return residentMb(running.child.pid);
}
