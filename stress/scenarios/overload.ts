import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Behaviour,
  closedLoop,
  get,
  keptConnections,
  openLoop,
  outcomeOf,
  percentile,
  post,
  readOf,
  type Scenario,
  tally,
  warmUp,
} from '../harness.ts';

const SWEEP = [4, 16, 48];
const HELD_S = 2;
/** Turns of a load that is held and one of three times that: a machine has other work at times. */
const ROUNDS = 7;
const OVERLOAD_S = 4;
/** What the first moments of an overload are, in milliseconds: every connection asks at once. */
const ONSET_MS = 500;
/** Connections of callers, open from the start: libuv takes one new connection a turn. */
const CONNECTIONS = 500;

/**
 * A long list, of which callers want little: reading it costs the gateway milliseconds and this
 * process next to nothing, so that the gateway is what is overloaded.
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
const answerList: Behaviour = ({ response }) => void response.end(list);

const query = (n: number) => readOf(`overload-${n}`).replace('codes { code }', 'invoiceId');

/** Three times the load that can be held leaves most of it standing. */
export const overload: Scenario = {
  name: 'overload',
  async run(world) {
    const service = await world.startService(answerList);
    const gateway = await world.startGateway(service);
    const agent = keptConnections(world);
    const { token } = world;
    await Promise.all(
      Array.from({ length: CONNECTIONS }, () =>
        post(gateway.url, token, '{ __typename }', { agent }),
      ),
    );
    await warmUp(gateway.url, token, agent, query(0));

    /** What so many callers are served a second, as long as each waits for its answer. */
    const heldBy = async (callers: number) => {
      let good = 0;
      await closedLoop(callers, HELD_S, async (n) => {
        if ((await post(gateway.url, token, query(n), { agent })).status === 200) good += 1;
      });
      return good / HELD_S;
    };
    await heldBy(16);
    const sweep: { callers: number; perSecond: number }[] = [];
    for (const callers of SWEEP) sweep.push({ callers, perSecond: await heldBy(callers) });
    const best = sweep.reduce((one, other) => (other.perSecond > one.perSecond ? other : one));

    let overloaded = false;
    let ended = false;
    const alive: number[] = [];
    const dead: number[] = [];
    // Tells a gateway that is slow to answer from one that is slow to take a connection.
    const kept: number[] = [];
    const probes = keptConnections(world);
    await get(`${gateway.url}/livez`, probes);
    const watching = (async () => {
      while (!ended) {
        if (overloaded) {
          const [one, other] = await Promise.all([
            get(`${gateway.url}/livez`),
            get(`${gateway.url}/livez`, probes),
          ]);
          (one.status === 200 ? alive : dead).push(one.ms);
          kept.push(other.ms);
        }
        await sleep(200);
      }
    })();
    const lag = monitorEventLoopDelay({ resolution: 10 });
    lag.enable();

    const outcomes: string[] = [];
    const latencies: number[] = [];
    /** What is served a second amid so much more than can be, its onset and its end left out. */
    const servedAmid = async (perSecond: number) => {
      const start = performance.now() + ONSET_MS;
      const end = start - ONSET_MS + OVERLOAD_S * 1000;
      let good = 0;
      overloaded = true;
      await openLoop(
        perSecond,
        OVERLOAD_S,
        async (n) => {
          const answer = await post(gateway.url, token, query(n), { agent });
          const isGood = answer.status === 200 && !answer.body.includes('"errors"');
          if (isGood) latencies.push(answer.ms);
          const now = performance.now();
          if (isGood && now >= start && now < end) good += 1;
          outcomes.push(isGood ? 'served' : outcomeOf(answer));
        },
        CONNECTIONS,
      );
      overloaded = false;
      return good / ((end - start) / 1000);
    };
    const rounds: { peak: number; goodput: number }[] = [];
    let next = '';
    for (let round = 0; round < ROUNDS; round++) {
      const peak = await heldBy(best.callers);
      const goodput = await servedAmid(peak * 3);
      rounds.push({ peak, goodput });
      await sleep(1100);
      next = outcomeOf(await post(gateway.url, token, query(0), { agent }));
    }
    lag.disable();
    ended = true;
    await watching;

    const shares = rounds.map(({ peak, goodput }) => goodput / peak);
    const share = percentile(shares, 0.5);
    const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
    const peak = mean(rounds.map((round) => round.peak));
    const goodput = mean(rounds.map((round) => round.goodput));
    const p = (share: number) => percentile(latencies, share).toFixed(0);
    return [
      {
        claim: 'three times the load that is held: goodput of 80 % of the peak or more',
        measured: `${(share * 100).toFixed(0)} %, the median of ${shares.map((one) => (one * 100).toFixed(0)).join(', ')} (${goodput.toFixed(0)}/s of ${peak.toFixed(0)}/s; ${tally(outcomes)})`,
        holds: share >= 0.8,
      },
      {
        claim: 'those served are served within the deadline, 10 s (p99)',
        measured: `p50 ${p(0.5)} ms, p99 ${p(0.99)} ms`,
        holds: percentile(latencies, 0.99) <= 10_250,
      },
      {
        claim: '/livez answers meanwhile, within 2 s',
        measured: `${alive.length} of ${alive.length + dead.length}, the slowest after ${Math.max(...alive).toFixed(0)} ms (${Math.max(...kept).toFixed(0)} ms on a kept connection; up to ${(lag.max / 1e6).toFixed(0)} ms are this process's)`,
        holds: dead.length === 0 && Math.max(...alive) <= 2000,
      },
      {
        claim: 'and the gateway serves again when its Retry-After of 1 s is over',
        measured: next,
        holds: next === 'GlCodeList',
      },
    ];
  },
};
