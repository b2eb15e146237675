import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, send, stop } from './children.ts';
import { type Credentials, type Peer, type Service, startPeer } from './peers.ts';
import { measureStarts } from './starts.ts';
import { markdown, median } from './table.ts';
import { type HttpRequest, requestOf, type Workload } from './workloads.ts';

/** How many requests are sent after a start, and how many of the last ones count as warm. */
const [REQUESTS, WARM] = [60, 20];

/** The CPU times of requests after a start, in milliseconds, and how long the start took. */
type FirstRequests = { readyMs: number; first: number[]; newDocuments: number[] };

export type FirstRequestsResult = { peer: Peer; workload: Workload; starts: FirstRequests[] };

/** Measures the first requests after a start, one after another, and then as many with new documents. */
export async function measureFirstRequests(
  peers: readonly Peer[],
  workloads: readonly Workload[],
  gateway: URL,
  credentials: Credentials,
  starts: number,
): Promise<FirstRequestsResult[]> {
  const results = workloads.flatMap((workload) =>
    peers.map((peer): FirstRequestsResult => ({ peer, workload, starts: [] })),
  );
  await measureStarts(results, starts, ({ peer, workload }, service) =>
    measureStart(peer, workload, gateway, service, credentials),
  );
  return results;
}

async function measureStart(
  peer: Peer,
  workload: Workload,
  gateway: URL,
  service: Service,
  credentials: Credentials,
): Promise<FirstRequests> {
  const ready: HttpRequest = { method: 'GET', path: '/readyz', headers: {} };
  const { child, origin, readyMs } = await startPeer(
    peer,
    gateway,
    service,
    credentials,
    [],
    ready,
  );
  const agent = new http.Agent({ keepAlive: true });
  const costOf = async (n: number, query = workload.query) => {
    const request = requestOf({ ...workload, query }, peer.protocol, credentials.token, n);
    const before = cpuMs(child);
    const { status, text } = await send(origin, request, agent);
    if (status !== 200) throw new Error(text);
    await sleep(20); // What follows a response belongs to it.
    return cpuMs(child) - before;
  };
  const first: number[] = [];
  const newDocuments: number[] = [];
  for (let n = 0; n < REQUESTS; n++) first.push(await costOf(n));
  for (let n = 0; n < REQUESTS; n++) newDocuments.push(await costOf(n, `${workload.query} # ${n}`));
  agent.destroy();
  await stop(child);
  return { readyMs, first, newDocuments };
}

/** The CPU time of a process so far, with the threads that still run. */
function cpuMs({ pid }: Child): number {
  const times = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  );
  return times.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

/** A table of first requests: medians over the starts. */
export function tableOfFirstRequests(results: readonly FirstRequestsResult[]): string {
  const rows = results.map(({ peer, workload, starts }) => {
    const nth = (n: number) => median(starts.map(({ first }) => first[n - 1] ?? NaN));
    const warm = median(starts.flatMap(({ first }) => first.slice(-WARM)));
    const fresh = median(starts.flatMap(({ newDocuments }) => newDocuments.slice(-WARM)));
    const figures = [...[1, 2, 3, 8].map(nth), warm, fresh].map((ms) => ms.toFixed(1));
    const readyMs = median(starts.map((one) => one.readyMs)).toFixed(0);
    return [`${peer.title}, ${workload.title}`, ...figures, (nth(1) / warm).toFixed(1), readyMs];
  });
  const head = 'CPU ms of the,1st request,2nd,3rd,8th,warm,new document,1st / warm,start ms';
  return `\n${markdown([head.split(','), ...rows])}\n`;
}
