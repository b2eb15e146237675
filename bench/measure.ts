import { isDeepStrictEqual } from 'node:util';
import { residentMb } from '../stress/process.ts';
import { type Child, cpuSeconds, reply, send } from './children.ts';
import type { Load } from './load.ts';
import { countsOf, type Running, type Service } from './peers.ts';
import { type Job, requestOf, type Workload } from './workloads.ts';

/** The figures of one peer in one round. Requests that were rejected count only in `rejected`, their share. */
export type Round = {
  cpuUs: number;
  /** CPU time of the stub service for each request. */
  serviceCpuUs: number;
  /** Requests to the service, and connections that were opened to it and used, for each request. */
  calls: number;
  connections: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  rssMb: number;
  rejected: number;
};

/** What sends a workload to a peer: the load process, with the tokens of the callers. */
export type Sender = { load: Child; service: Service; tokens: readonly string[] };

/** Sends requests and returns the figures of the load process. Throws if any request failed. */
async function runLoad(
  { name, connections, callers, mayReject }: Workload,
  { origin }: Running,
  { load, tokens }: Sender,
  requests: number,
): Promise<Load> {
  const job: Job = {
    ...{ workload: name, origin, connections, requests },
    tokens: tokens.slice(0, callers),
  };
  load.process.send(job);
  const result = await reply<Load>(load);
  const failed = result.failed + (mayReject ? 0 : result.rejected);
  if (failed > 0) throw new Error(`${failed} of ${requests} requests failed`);
  return result;
}

/** Throws unless all peers return the same data. */
export async function checkResponses(
  workload: Workload,
  running: readonly Running[],
  token: string,
): Promise<void> {
  for (const n of [0, 1, 17]) {
    let expected: { peer: string; data: unknown } | undefined;
    for (const { peer, origin } of running) {
      const { status, text } = await send(origin, requestOf(workload, token, n));
      const { data, errors } = JSON.parse(text);
      if (status !== 200 || errors)
        throw new Error(`${peer.name} responded with ${status}: ${text.slice(0, 300)}`);
      expected ??= { peer: peer.name, data };
      if (!isDeepStrictEqual(data, expected.data))
        throw new Error(`${peer.name} and ${expected.peer} differ in ${workload.name}`);
    }
  }
}

/** V8 optimizes a server meanwhile: on a slow machine, the gateway's first 3,000 requests took twice as much CPU time each. */
const WARM_REQUESTS = 15_000;

/**
 * Warms a peer up with `WARM_REQUESTS`, or for `seconds` if that is shorter, but with all callers. Returns the number of
 * requests for a round of the given duration in seconds.
 */
export async function warmUp(
  workload: Workload,
  one: Running,
  sender: Sender,
  seconds: number,
  round: number,
): Promise<number> {
  const { connections, callers } = workload;
  const start = performance.now();
  let perConnection = 2;
  let sent = 0;
  for (;;) {
    const result = await runLoad(workload, one, sender, perConnection * connections);
    sent += result.served + result.rejected;
    const perSecond = result.served / result.seconds / connections;
    const isLong = sent >= WARM_REQUESTS || performance.now() - start >= seconds * 1000;
    if (isLong && sent >= callers) return Math.max(2, Math.ceil(perSecond * round)) * connections;
    perConnection = Math.max(2, Math.ceil((perSecond * seconds) / 4));
  }
}

/** Measures one round. CPU time is read after the last response. */
export async function measure(
  workload: Workload,
  one: Running,
  sender: Sender,
  requests: number,
): Promise<Round> {
  const { pid } = one.child;
  const { service } = sender;
  // Connections may have been closed while other peers were measured. To open them again is not counted.
  await runLoad(workload, one, sender, 4 * workload.connections);
  const before = await countsOf(service);
  const [cpu, serviceCpu] = [cpuSeconds(pid), cpuSeconds(service.child.pid)];
  const { served, rejected, seconds, p50Ms, p99Ms } = await runLoad(
    workload,
    one,
    sender,
    requests,
  );
  const perRequest = (amount: number) => amount / served;
  const cpuUs = perRequest((cpuSeconds(pid) - cpu) * 1e6);
  const serviceCpuUs = perRequest((cpuSeconds(service.child.pid) - serviceCpu) * 1e6);
  const after = await countsOf(service);
  return {
    cpuUs,
    serviceCpuUs,
    calls: perRequest(after.calls - before.calls),
    connections: perRequest(after.connections - before.connections),
    perSecond: served / seconds,
    p50Ms,
    p99Ms,
    rssMb: residentMb(pid),
    rejected: rejected / requests,
  };
}
