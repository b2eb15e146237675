import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from './client.ts';
import type { Harness, Row, RunningGateway } from './harness.ts';
import { openLoop } from './load.ts';
import { residentMb } from './process.ts';
import { percentile, tally } from './statistics.ts';

/** What is promised to other callers (docs/limits.md), in milliseconds. */
const MAX_P95_MS = 1000;
const MAX_MS = 3000;

/**
 * What another caller gets while a gateway is attacked, what the attack does to the process of the gateway, and how long
 * this one was busy at most, which it measures as latency.
 */
export type Observation = { outcomes: string[]; ms: number[]; peakMb: number; busyMs: number };

export type Bystander = {
  perSecond: number;
  seconds: number;
  /** Every other request is a write with an idempotency key of its own. */
  writes?: boolean;
};

/** Starts an attack, and sends requests of another caller for some seconds, at a fixed rate. */
export async function observe(
  harness: Harness,
  gateway: RunningGateway,
  { perSecond, seconds, writes = false }: Bystander,
  attack: () => Promise<unknown>,
): Promise<Observation> {
  const token = await harness.issuer.token({ sub: 'bystander' });
  const agent = keepAliveAgent(harness);
  const request = (n: number) => {
    const id = `bystander-${n}`;
    const isWrite = writes && n % 2 !== 0;
    return post(gateway.url, token, isWrite ? writeMutation(id) : readQuery(id), {
      agent,
      signal: AbortSignal.timeout(20_000),
      ...(isWrite && { idempotencyKey: id, ageMs: 0 }),
    });
  };
  await Promise.all(Array.from({ length: 10 }, (_, n) => request(-n)));
  const seen: Observation = { outcomes: [], ms: [], peakMb: 0, busyMs: 0 };
  const attacking = attack();
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let isOver = false;
  const sampling = (async () => {
    for (; !isOver; await sleep(50)) seen.peakMb = Math.max(seen.peakMb, residentMb(gateway.pid));
  })();
  await openLoop(perSecond, seconds, async (n) => {
    const response = await request(n);
    seen.outcomes.push(outcomeOf(response));
    seen.ms.push(response.ms);
  });
  isOver = true;
  delay.disable();
  seen.busyMs = delay.max / 1e6;
  await Promise.all([sampling, attacking]);
  return seen;
}

/** The claims that another caller is served in time, and that the process stays below a limit, if there is one. */
export function rowsOf(
  attack: string,
  { outcomes, ms, peakMb, busyMs }: Observation,
  maxMb?: number,
): Row[] {
  const longestMs = Math.max(...ms);
  const p95Ms = percentile(ms, 0.95);
  const served: Row = {
    claim: `${attack}: each request of another caller is served, 95 % within 1 s, all within 3 s`,
    measured: `${tally(outcomes)}; p95 ${p95Ms.toFixed(0)} ms, the longest ${longestMs.toFixed(0)} ms (up to ${busyMs.toFixed(0)} ms caused by this process)`,
    holds:
      outcomes.length > 0 &&
      outcomes.every(isSuccess) &&
      p95Ms <= MAX_P95_MS &&
      longestMs <= MAX_MS,
  };
  if (maxMb === undefined) return [served];
  const memory: Row = {
    claim: `meanwhile, the process has less than ${maxMb} MB resident`,
    measured: `${peakMb.toFixed(0)} MB`,
    holds: peakMb < maxMb,
  };
  return [served, memory];
}
