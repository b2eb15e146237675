import type { Agent } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { get, keepAliveAgent, outcomeOf, post } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { closedLoop, openLoop } from '../load.ts';
import type { Behaviour } from '../service.ts';
import { mean, percentile, tally } from '../statistics.ts';

/** Numbers of clients, of which the one with the highest throughput is the peak load. */
const CLIENTS = [4, 16, 48];
const PEAK_S = 2;
/** Rounds of peak load and overload. The median of several is robust against other load on the machine. */
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
const list = Buffer.from(
  JSON.stringify({
    service_status: { status: 0 },
    list: Array.from({ length: 3000 }, (_, n) => ({
      Code: String(40_000 + n),
      Name: `Travel and accommodation ${n}`,
      Value: `${40_000 + n} - Travel and accommodation`,
      Hide: 0,
    })),
  }),
);
const respondWithList: Behaviour = ({ response }) => void response.end(list);

/** One document, as of an app. */
const query = `query ($project: String!) { result: glCodes(target: EMAIL, project: $project) { __typename ... on GlCodeList { invoiceId } } }`;

/** At three times the peak load, the gateway still serves most of the peak throughput. */
export const overload: Scenario = {
  name: 'overload',
  async run(harness) {
    const service = await harness.startService(respondWithList);
    const gateway = await harness.startGateway(service);
    const load = new Load(gateway.url, harness.token, keepAliveAgent(harness));
    await load.warmUp();
    const clients = await load.clientsOfPeak();
    const probes = await startProbes(harness, gateway.url);

    const rounds: { peak: number; goodput: number }[] = [];
    let next = '';
    for (let round = 0; round < ROUNDS; round++) {
      const peak = await load.throughput(clients);
      probes.active = true;
      const goodput = await load.goodput(peak * 3);
      probes.active = false;
      rounds.push({ peak, goodput });
      await sleep(1100);
      next = outcomeOf(await load.send(0));
    }
    return [
      rowOfGoodput(rounds, load.outcomes),
      {
        claim: 'served requests are served within the deadline of 10 s (p99)',
        measured: `p50 ${percentile(load.latencies, 0.5).toFixed(0)} ms, p99 ${percentile(load.latencies, 0.99).toFixed(0)} ms`,
        holds: percentile(load.latencies, 0.99) <= 10_250,
      },
      await probes.stop(),
      {
        claim: 'the gateway serves again after its Retry-After of 1 s',
        measured: next,
        holds: next === 'GlCodeList',
      },
    ];
  },
};

/** Sends load to a gateway, and collects the results of overloads. */
class Load {
  /** The outcomes during overloads, `served` for a success. */
  readonly outcomes: string[] = [];
  /** The latencies of served requests during overloads, in milliseconds. */
  readonly latencies: number[] = [];
  readonly #url: string;
  readonly #token: string;
  readonly #agent: Agent;

  constructor(url: string, token: string, agent: Agent) {
    this.#url = url;
    this.#token = token;
    this.#agent = agent;
  }

  send(n: number) {
    const variables = { project: `overload-${n}` };
    return post(this.#url, this.#token, query, { agent: this.#agent, variables });
  }

  async warmUp(): Promise<void> {
    const open = () => post(this.#url, this.#token, '{ __typename }', { agent: this.#agent });
    await Promise.all(Array.from({ length: CONNECTIONS }, open));
    await this.throughput(16);
  }

  /** The number of clients with the highest throughput. */
  async clientsOfPeak(): Promise<number> {
    let best = { clients: 0, perSecond: -1 };
    for (const clients of CLIENTS) {
      const perSecond = await this.throughput(clients);
      if (perSecond > best.perSecond) best = { clients, perSecond };
    }
    return best.clients;
  }

  /** Requests served per second in a closed loop. */
  async throughput(clients: number): Promise<number> {
    let served = 0;
    await closedLoop(clients, PEAK_S, async (n) => {
      if ((await this.send(n)).status === 200) served += 1;
    });
    return served / PEAK_S;
  }

  /** Requests served per second in an open loop, without its onset and its end. */
  async goodput(perSecond: number): Promise<number> {
    const start = performance.now() + ONSET_MS;
    const end = start - ONSET_MS + OVERLOAD_S * 1000;
    let served = 0;
    const send = async (n: number) => {
      const response = await this.send(n);
      const isServed = response.status === 200 && !response.body.includes('"errors"');
      if (isServed) this.latencies.push(response.ms);
      const now = performance.now();
      if (isServed && now >= start && now < end) served += 1;
      this.outcomes.push(isServed ? 'served' : outcomeOf(response));
    };
    await openLoop(perSecond, OVERLOAD_S, send, CONNECTIONS);
    return served / ((end - start) / 1000);
  }
}

function rowOfGoodput(rounds: { peak: number; goodput: number }[], outcomes: string[]): Row {
  const shares = rounds.map(({ peak, goodput }) => goodput / peak);
  const median = percentile(shares, 0.5);
  const percents = shares.map((share) => (share * 100).toFixed(0)).join(', ');
  const goodput = mean(rounds.map((round) => round.goodput)).toFixed(0);
  const peak = mean(rounds.map((round) => round.peak)).toFixed(0);
  return {
    claim: 'three times the peak load: goodput of at least 80 % of the peak',
    measured: `${(median * 100).toFixed(0)} %, the median of ${percents} (${goodput}/s of ${peak}/s; ${tally(outcomes)})`,
    holds: median >= 0.8,
  };
}

/**
 * Sends GET /livez five times a second while `active`, on a new and on a kept connection: the difference
 * shows whether the gateway responds slowly or accepts connections slowly.
 */
async function startProbes(harness: Harness, url: string) {
  const served: number[] = [];
  const failed: number[] = [];
  const onKeptConnection: number[] = [];
  const agent = keepAliveAgent(harness);
  await get(`${url}/livez`, agent);
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();

  let stopped = false;
  const probes = { active: false, stop };
  const probing = probe();
  return probes;

  async function probe(): Promise<void> {
    while (!stopped) {
      if (probes.active) {
        const [fresh, kept] = await Promise.all([get(`${url}/livez`), get(`${url}/livez`, agent)]);
        (fresh.status === 200 ? served : failed).push(fresh.ms);
        onKeptConnection.push(kept.ms);
      }
      await sleep(200);
    }
  }

  /** Stops probing, and returns the claim about /livez. */
  async function stop(): Promise<Row> {
    stopped = true;
    await probing;
    delay.disable();
    const slowest = Math.max(...served);
    return {
      claim: '/livez responds within 2 s during the overload',
      measured: `${served.length} of ${served.length + failed.length}, the slowest after ${slowest.toFixed(0)} ms (${Math.max(...onKeptConnection).toFixed(0)} ms on a kept connection; up to ${(delay.max / 1e6).toFixed(0)} ms caused by this process)`,
      holds: failed.length === 0 && slowest <= 2000,
    };
  }
}
