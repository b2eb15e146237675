import { setTimeout as sleep } from 'node:timers/promises';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import { type Row, type Scenario, until } from '../harness.ts';
import { openLoop, warmUp } from '../load.ts';
import { type Behaviour, succeed } from '../service.ts';
import { percentile, reconcile } from '../statistics.ts';

const PER_SECOND = 100;
/** The duration of each kind of outage: 21 s in total. */
const KIND_MS = 7_000;
/** Short, so that requests without a response end during their outage. */
const DEADLINE_MS = 2_000;

const neverRespond: Behaviour = () => {};
const reset: Behaviour = ({ response }) => response.socket?.resetAndDestroy();
const unavailable: Behaviour = ({ response }) => void response.writeHead(503).end();

type Result = { at: number; outcome: string; ms: number };

/** An outage does not multiply the load, clients learn of it at once, and the gateway recovers. */
export const outage: Scenario = {
  name: 'outage',
  async run(harness) {
    const service = await harness.startService(succeed);
    const gateway = await harness.startGateway(service, {
      UPSTREAM_TIMEOUT_MS: String(DEADLINE_MS),
    });
    const agent = keepAliveAgent(harness);
    const { token } = harness;
    await warmUp(gateway.url, token, agent, readQuery('warm'), 3);

    const writes = new Map<string, string>();
    const results: Result[] = [];
    const load = openLoop(PER_SECOND, (3 * KIND_MS) / 1000 + 14, async (n) => {
      const at = performance.now();
      const id = `outage-${n}`;
      const isWrite = n % 5 === 0;
      const query = isWrite ? writeMutation(id) : readQuery(id);
      const response = await post(gateway.url, token, query, { agent });
      const outcome = outcomeOf(response);
      if (isWrite) writes.set(id, outcome);
      results.push({ at, outcome, ms: response.ms });
    });

    await sleep(2000);
    const callsBefore = service.calls;
    const started = performance.now();
    for (const kind of [neverRespond, reset, unavailable]) {
      service.behaviour = kind;
      await sleep(KIND_MS);
    }
    const calls = service.calls - callsBefore;
    service.behaviour = succeed;
    const ended = performance.now();
    const isClosed = async () => (await gateway.metric('ledger_gateway_circuit_state')) === 0;
    const closes = await until(isClosed, 20_000);
    const closedMs = performance.now() - ended;
    await load;

    const { mismatches } = reconcile(writes, service.seen);
    return [
      ...rowsOfOutage(
        results.filter(({ at }) => at >= started && at < ended),
        calls,
      ),
      {
        claim: 'the circuit closes within 10 s of recovery',
        measured: closes ? `${(closedMs / 1000).toFixed(1)} s` : 'not within 20 s',
        holds: closes && closedMs <= 10_000,
      },
      rowOfRecovery(results.filter(({ at }) => at >= ended + closedMs + 100)),
      {
        claim: 'every outcome of a write agrees with what the service saw',
        measured: `${writes.size} writes, ${mismatches.length} mismatches ${mismatches.slice(0, 3).join('; ')}`,
        holds: mismatches.length === 0,
      },
    ];
  },
};

/** The claims about the requests during the outage, and how many requests to the service they caused. */
function rowsOfOutage(results: Result[], calls: number): Row[] {
  const ratio = calls / results.length;
  const rejected = results.filter(({ outcome }) => outcome === 'UPSTREAM_UNAVAILABLE');
  const p99 = percentile(
    rejected.map(({ ms }) => ms),
    0.99,
  );
  return [
    {
      claim:
        'an outage of 21 s (no response, resets, 503): at most 1.1 requests to the service per request',
      measured: `${ratio.toFixed(3)} (${calls} to the service, ${results.length} requests)`,
      holds: ratio <= 1.1 && results.length > PER_SECOND * 15,
    },
    {
      claim: 'while the circuit is open, requests are rejected within 100 ms (p99)',
      measured: `${p99.toFixed(1)} ms (${rejected.length} of ${results.length} rejected)`,
      holds: p99 <= 100 && rejected.length > results.length / 2,
    },
  ];
}

function rowOfRecovery(results: Result[]): Row {
  const served = results.filter(({ outcome }) => isSuccess(outcome)).length;
  return {
    claim: 'after that, every request is served',
    measured: `${served} of ${results.length}`,
    holds: served === results.length && results.length > 0,
  };
}
