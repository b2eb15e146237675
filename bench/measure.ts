import http from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { residentMb } from '../stress/process.ts';
import { type Child, cpuSeconds, reply, send } from './children.ts';
import type { Job, Load } from './load.ts';
import { countsOf, type Running, type Service } from './peers.ts';
import { cheapRequest, requestOf, typical, type Workload } from './workloads.ts';

/** The figures of one peer in one round. */
export type Round = {
  cpuUs: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  rssMb: number;
  /** Requests to the service, and connections that were opened to it and used, for each request. */
  calls: number;
  connections: number;
  /** CPU time of the stub service for each request. */
  serviceCpuUs: number;
  requests: number;
};

/** The effect of a heavy load on other requests and on memory; only for probed workloads. */
export type Strain = {
  /** The longest latency of a cheap request during the load. */
  stallMs: number;
  /** Memory under a typical load before the heavy one, at the peak, and under a typical load afterwards. */
  rssBeforeMb: number;
  rssPeakMb: number;
  rssAfterMb: number;
};

/** Sends a job to the load process and returns its figures. Rejects if any request failed. */
async function runLoad(load: Child, job: Job): Promise<Load> {
  load.process.send(job);
  const result = await reply<Load>(load);
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.completed} failed`);
  return result;
}

/** Throws unless all peers return the same data, and the proxy returns what the service does. */
export async function checkResponses(
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
      if (status !== 200)
        throw new Error(`${peer.name} responded with ${status}: ${text.slice(0, 300)}`);
      if (peer.protocol === 'bare') {
        if (text !== (await send(service.origin, request)).text) {
          throw new Error(`${peer.name} changed the response of ${workload.name}`);
        }
        continue;
      }
      const { data, errors } = JSON.parse(text);
      if (errors) throw new Error(`${peer.name} responded with errors: ${text.slice(0, 300)}`);
      expected ??= { peer: peer.name, data };
      if (!isDeepStrictEqual(data, expected.data)) {
        throw new Error(`${peer.name} and ${expected.peer} differ in ${workload.name}`);
      }
    }
  }
}

/**
 * V8 optimizes a server during thousands of requests: on a slow machine, the gateway's first 3,000 took twice as much CPU
 * time each as those after 15,000.
 */
export const WARM_REQUESTS = 15_000;

/**
 * Warms a peer up with `WARM_REQUESTS`, or for `seconds.warmUp` if that is shorter, but with all tokens. Returns the number of requests for a
 * round of the given duration.
 */
export async function warmUp(
  workload: Workload,
  { peer, origin }: Running,
  load: Child,
  tokens: readonly string[],
  seconds: { warmUp: number; round: number },
): Promise<number> {
  const { name, connections } = workload;
  const job = { workload: name, protocol: peer.protocol, origin, tokens, connections };
  const start = performance.now();
  let perConnection = 2;
  let sent = 0;
  for (;;) {
    const result = await runLoad(load, { ...job, requests: perConnection * connections });
    sent += result.completed;
    const perSecond = result.completed / result.seconds / connections;
    const isLong = sent >= WARM_REQUESTS || performance.now() - start >= seconds.warmUp * 1000;
    if (isLong && sent >= tokens.length) {
      return Math.max(2, Math.ceil(perSecond * seconds.round)) * connections;
    }
    perConnection = Math.max(2, Math.ceil((perSecond * seconds.warmUp) / 4));
  }
}

/** Measures one round. CPU time is read after the last response. */
export async function measure(
  workload: Workload,
  { peer, child, origin }: Running,
  load: Child,
  service: Service,
  tokens: readonly string[],
  requests: number,
): Promise<Round> {
  const { name, connections } = workload;
  const { protocol } = peer;
  const job = { workload: name, protocol, origin, tokens, connections, requests };
  const before = await countsOf(service);
  const [cpu, serviceCpu] = [cpuSeconds(child.pid), cpuSeconds(service.child.pid)];
  const { completed, seconds, p50Ms, p99Ms } = await runLoad(load, job);
  const perRequest = (amount: number) => amount / completed;
  const cpuUs = perRequest((cpuSeconds(child.pid) - cpu) * 1e6);
  const serviceCpuUs = perRequest((cpuSeconds(service.child.pid) - serviceCpu) * 1e6);
  const rssMb = residentMb(child.pid);
  const after = await countsOf(service);
  return {
    cpuUs,
    perSecond: completed / seconds,
    p50Ms,
    p99Ms,
    rssMb,
    calls: perRequest(after.calls - before.calls),
    connections: perRequest(after.connections - before.connections),
    serviceCpuUs,
    requests: completed,
  };
}

/**
 * Runs a load and sends a cheap request every 10 ms meanwhile, whether or not earlier ones have completed.
 * The longest latency of these is the longest stall of the event loop.
 */
export async function probe(
  { peer, child, origin }: Running,
  token: string,
  runHeavyLoad: () => Promise<unknown>,
): Promise<{ stallMs: number; rssPeakMb: number }> {
  const agent = new http.Agent({ keepAlive: true });
  const request = cheapRequest(peer.protocol, token);
  let rssPeakMb = 0;
  let stallMs = 0;
  const pending = new Set<Promise<void>>();
  const timer = setInterval(() => {
    rssPeakMb = Math.max(rssPeakMb, residentMb(child.pid));
    const start = performance.now();
    const sent = send(origin, request, agent).then(() => {
      stallMs = Math.max(stallMs, performance.now() - start);
      pending.delete(sent);
    });
    pending.add(sent);
  }, 10);
  try {
    await runHeavyLoad();
  } finally {
    clearInterval(timer);
    await Promise.all(pending);
    agent.destroy();
  }
  return { stallMs, rssPeakMb };
}

/** The memory of a peer under a typical load, during which garbage of an earlier load is collected. */
export async function restingMb(
  running: Running,
  load: Child,
  token: string,
  seconds: { warmUp: number; round: number },
): Promise<number> {
  await warmUp(typical, running, load, [token], seconds);
  return residentMb(running.child.pid);
}
