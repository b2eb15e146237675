import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, cores, cpuSeconds, start, stop } from './children.ts';
import type { CrowdJob, CrowdLoad } from './crowd-load.ts';
import { checkResponses } from './measure.ts';
import { type Credentials, type Peer, type Running, startPeer, startService } from './peers.ts';
import { markdown, quantile } from './table.ts';
import { typical } from './workloads.ts';

/** Numbers of connections in a closed loop. The first is the peak. */
const PEAK_CONNECTIONS = 64;
const CROWDS = [500, 1000];
/** The rate of the open loop, as a multiple of the peak. */
const OVERLOAD = 3;

/** Durations in seconds. The open loop is longer than the deadline of its requests. */
export type CrowdPace = { rounds: number; warmUp: number; round: number; openLoop: number };

/** A load of one peer, with the CPU time of the peer in seconds. */
type Measured = CrowdLoad & { cpuS: number };

/** One round of a peer: the closed loops, by their number of connections, and the open loop. */
export type CrowdRound = { closed: Record<number, Measured>; open: Measured };

export type CrowdResult = { peer: Peer; rounds: CrowdRound[] };

/** Measures how much of its peak throughput each peer keeps with many clients, in interleaved rounds. */
export async function compareCrowds(
  peers: readonly Peer[],
  gateway: URL,
  credentials: Credentials,
  pace: CrowdPace,
): Promise<CrowdResult[]> {
  const { token } = credentials;
  const service = await startService();
  const load = start(cores.load, new URL('crowd-load.ts', import.meta.url), { ipc: true });
  const running: Running[] = [];
  const run = async ({ child, origin }: Running, seconds: number, load_: CrowdJob['load']) => {
    const cpu = cpuSeconds(child.pid);
    const job = { workload: typical.name, origin, token, seconds, load: load_ };
    return { ...(await runJob(load, job)), cpuS: cpuSeconds(child.pid) - cpu };
  };
  try {
    for (const peer of peers) running.push(await startPeer(peer, gateway, service, credentials));
    await checkResponses(typical, running, service, token);
    for (const one of running) await run(one, pace.warmUp, { connections: PEAK_CONNECTIONS });
    const results = running.map((one) => ({ one, rounds: [] as CrowdRound[] }));
    for (let n = 0; n < pace.rounds; n++) {
      for (const { one, rounds } of n % 2 === 0 ? results : [...results].reverse()) {
        const closed: CrowdRound['closed'] = {};
        for (const connections of [PEAK_CONNECTIONS, ...CROWDS])
          closed[connections] = await run(one, pace.round, { connections });
        const peak = closed[PEAK_CONNECTIONS]?.servedPerSecond ?? 0;
        const open = await run(one, pace.openLoop, { perSecond: peak * OVERLOAD });
        // A peer that does not reject works on what is left, and would slow down the next one.
        await idle(one.child.pid);
        rounds.push({ closed, open });
      }
    }
    return results.map(({ one, rounds }) => ({ peer: one.peer, rounds }));
  } finally {
    await Promise.all([...running.map(({ child }) => child), service.child, load].map(stop));
  }
}

/** Resolves when a process has used less than a tenth of a core for a second, or after a minute. */
async function idle(pid: number): Promise<void> {
  for (let seconds = 0; seconds < 60; seconds++) {
    const before = cpuSeconds(pid);
    await sleep(1000);
    if (cpuSeconds(pid) - before < 0.1) return;
  }
}

function runJob(load: Child, job: CrowdJob): Promise<CrowdLoad> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error('The load process ended'));
    load.process.once('exit', fail);
    load.process.once('message', (result: CrowdLoad) => {
      load.process.off('exit', fail);
      resolve(result);
    });
    load.process.send(job);
  });
}

/** The medians over the rounds. Shares are of the peak of the same peer in the same round. */
export function tableOfCrowds(results: readonly CrowdResult[]): string {
  const rows = results.map(({ peer, rounds }) => {
    const of = (value: (round: CrowdRound) => number) => quantile(rounds.map(value))(0.5);
    const peakOf = ({ closed }: CrowdRound) =>
      closed[PEAK_CONNECTIONS]?.servedPerSecond ?? Number.NaN;
    const cells = (select: (round: CrowdRound) => Measured | undefined) => [
      `${of((round) => select(round)?.servedPerSecond ?? Number.NaN).toFixed(0)} (${percent(of((round) => (select(round)?.servedPerSecond ?? Number.NaN) / peakOf(round)))})`,
      percent(of((round) => shareOf(select(round), 'rejected'))),
      of((round) => select(round)?.p99Ms ?? Number.NaN).toFixed(0),
    ];
    return [
      peer.title,
      of(peakOf).toFixed(0),
      ...CROWDS.flatMap((connections) => cells(({ closed }) => closed[connections])),
      ...cells(({ open }) => open),
      percent(of(({ open }) => shareOf(open, 'lost'))),
      of(rejectionUs).toFixed(0),
    ];
  });
  const columns = (load: string) => [`${load}: served/s`, 'rejected', 'p99 ms'];
  const head = [
    '',
    `${PEAK_CONNECTIONS} connections: served/s`,
    ...CROWDS.flatMap((connections) => columns(String(connections))),
    ...columns(`open loop at ${OVERLOAD} × peak`),
    'no response',
    'CPU µs/rejection',
  ];
  return `\n### ${typical.title}, a crowd\n\n${markdown([head, ...rows])}\n`;
}

function shareOf(load: Measured | undefined, of: 'rejected' | 'lost'): number {
  if (!load) return Number.NaN;
  return load[of] / (load.served + load.rejected + load.lost);
}

/** The CPU time of a rejection in the open loop, in µs, if a served request costs what it does at the peak. */
function rejectionUs({ closed, open }: CrowdRound): number {
  const peak = closed[PEAK_CONNECTIONS];
  if (!peak || open.rejected < open.served / 10) return Number.NaN;
  return ((open.cpuS - (peak.cpuS / peak.served) * open.served) * 1e6) / open.rejected;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
