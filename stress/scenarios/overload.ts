import { setTimeout as sleep } from 'node:timers/promises';
import { get, keepAliveAgent, outcomeOf, post } from '../client.ts';
import { type Scenario, startService } from '../harness.ts';
import { closedLoop, numbers, openLoop } from '../load.ts';
import { percentile, tally } from '../statistics.ts';

/** Numbers of clients, of which the one with the highest throughput is the peak load. */
const CLIENTS = [4, 16, 48];
const PEAK_S = 2;
/** The median of several rounds is robust against other load on the machine. */
const ROUNDS = 5;
const OVERLOAD_S = 10;
/** The start of an overload, in milliseconds, which is not counted: every connection sends at once, and nothing is done yet. */
const ONSET_MS = 2000;
/** Connections that are opened in advance, because libuv accepts one per event-loop iteration. */
const CONNECTIONS = 500;

/**
 * A long list of which clients select little. Reading it costs the gateway milliseconds and this process
 * almost nothing, so the gateway is the bottleneck.
 */
const code = { Code: '40000', Name: 'Travel and accommodation', Value: '40000 - Travel', Hide: 0 };
const list = Buffer.from(
  JSON.stringify({ service_status: { status: 0 }, list: Array(3000).fill(code) }),
);

/** One document, as of an app. */
const query = `query ($project: String!) { result: glCodes(target: EMAIL, project: $project) { __typename ... on GlCodeList { invoiceId } } }`;

/** At three times the peak load, the gateway still serves most of the peak throughput. */
export const overload: Scenario = {
  name: 'overload',
  async run(harness) {
    const service = await startService((response) => response.end(list));
    const { url } = await harness.startGateway(service);
    const agent = keepAliveAgent();
    const send = (n: number) =>
      post(url, harness.token, query, { agent, variables: { project: `overload-${n}` } });
    const outcomes: string[] = [];
    const latencies: number[] = [];

    /** Requests served per second in a closed loop. */
    const throughput = async (clients: number) => {
      let served = 0;
      await closedLoop(clients, PEAK_S, async (n) => {
        if ((await send(n)).status === 200) served += 1;
      });
      return served / PEAK_S;
    };

    /** Requests served per second in an open loop, without its onset and its end. */
    const goodput = async (perSecond: number) => {
      const start = performance.now() + ONSET_MS;
      const end = start - ONSET_MS + OVERLOAD_S * 1000;
      let counted = 0;
      const sendOne = async (n: number) => {
        const response = await send(n);
        const outcome = outcomeOf(response);
        outcomes.push(outcome);
        if (outcome !== 'GlCodeList') return;
        latencies.push(response.ms);
        const now = performance.now();
        if (now >= start && now < end) counted += 1;
      };
      await openLoop(perSecond, OVERLOAD_S, sendOne, CONNECTIONS);
      return counted / ((end - start) / 1000);
    };

    const connect = () => post(url, harness.token, '{ __typename }', { agent });
    await Promise.all(numbers(CONNECTIONS).map(connect));
    await throughput(16);
    const peaks: [perSecond: number, clients: number][] = [];
    for (const clients of CLIENTS) peaks.push([await throughput(clients), clients]);
    const [, clients = 16] = peaks.sort(([a], [b]) => b - a)[0] ?? [];
    const probes: Promise<{ status: number; ms: number }>[] = [];
    const shares: number[] = [];
    const next: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const peak = await throughput(clients);
      const probing = setInterval(() => probes.push(get(`${url}/livez`)), 200);
      shares.push((await goodput(peak * 3)) / peak);
      clearInterval(probing);
      await sleep(1100);
      next.push(outcomeOf(await send(0)));
    }
    const alive = await Promise.all(probes);
    const slowest = Math.max(...alive.map(({ ms }) => ms));
    const percents = shares.map((share) => `${(share * 100).toFixed(0)} %`);
    const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
    return [
      {
        claim: 'three times the peak load: goodput of at least 60 % of the peak (median)',
        measured: `${percents.join(', ')} (${tally(outcomes)})`,
        holds: percentile(shares, 0.5) >= 0.6,
      },
      {
        claim: 'served requests are served within the deadline of 10 s (p99)',
        measured: `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
        holds: p99 <= 10_250,
      },
      {
        claim: '/livez responds on a new connection within 2 s during the overload',
        measured: `${tally(alive.map(({ status }) => `HTTP ${status}`))}, the slowest after ${slowest.toFixed(0)} ms`,
        holds: alive.every(({ status }) => status === 200) && slowest <= 2000,
      },
      {
        claim: 'the gateway serves again after its Retry-After of 1 s',
        measured: tally(next),
        holds: next.every((outcome) => outcome === 'GlCodeList'),
      },
    ];
  },
};
