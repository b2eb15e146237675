import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Behaviour,
  fine,
  isSuccess,
  keptConnections,
  openLoop,
  outcomeOf,
  percentile,
  post,
  readOf,
  reconcile,
  type Scenario,
  until,
  warmUp,
  writeOf,
} from '../harness.ts';

const PER_SECOND = 100;
/** How long each kind of outage lasts: 21 s in all. */
const KIND_MS = 7_000;
/** Short, so that what hangs ends within its outage. */
const DEADLINE_MS = 2_000;

const resets: Behaviour = ({ response }) => response.socket?.resetAndDestroy();
const hangs: Behaviour = () => {};
const unavailable: Behaviour = ({ response }) => void response.writeHead(503).end();

/** An outage is not multiplied, is told at once, and is over when it is over. */
export const outage: Scenario = {
  name: 'outage',
  async run(world) {
    const service = await world.startService(fine);
    const gateway = await world.startGateway(service, {
      UPSTREAM_TIMEOUT_MS: String(DEADLINE_MS),
    });
    const agent = keptConnections(world);
    const { token } = world;
    await warmUp(gateway.url, token, agent, readOf('warm'), 3);

    const told = new Map<string, string>();
    const answers: { at: number; outcome: string; ms: number }[] = [];
    const load = openLoop(PER_SECOND, (3 * KIND_MS) / 1000 + 14, async (n) => {
      const at = performance.now();
      const id = `outage-${n}`;
      const isWrite = n % 5 === 0;
      const answer = await post(gateway.url, token, isWrite ? writeOf(id) : readOf(id), { agent });
      const outcome = outcomeOf(answer);
      if (isWrite) told.set(id, outcome);
      answers.push({ at, outcome, ms: answer.ms });
    });

    await sleep(2000);
    const calls = service.calls;
    const began = performance.now();
    for (const kind of [hangs, resets, unavailable]) {
      service.behaviour = kind;
      await sleep(KIND_MS);
    }
    const during = service.calls - calls;
    service.behaviour = fine;
    const recovered = performance.now();
    const isClosed = async () => (await gateway.metric('ledger_gateway_circuit_state')) === 0;
    const closes = await until(isClosed, 20_000);
    const closedMs = performance.now() - recovered;
    await load;

    const asked = answers.filter(({ at }) => at >= began && at < recovered);
    const refused = asked.filter(({ outcome }) => outcome === 'UPSTREAM_UNAVAILABLE');
    const fast = percentile(
      refused.map(({ ms }) => ms),
      0.99,
    );
    const after = answers.filter(({ at }) => at >= recovered + closedMs + 100);
    const served = after.filter(({ outcome }) => isSuccess(outcome)).length;
    const { wrong } = reconcile(told, service.seen);
    const ratio = during / asked.length;
    return [
      {
        claim:
          'an outage of 21 s (hanging, resets, 503): at most 1.1 calls per request reach the service',
        measured: `${ratio.toFixed(3)} (${during} calls, ${asked.length} requests)`,
        holds: ratio <= 1.1 && asked.length > PER_SECOND * 15,
      },
      {
        claim: 'while the circuit is open callers are told within 100 ms (p99)',
        measured: `${fast.toFixed(1)} ms (${refused.length} of ${asked.length} refused)`,
        holds: fast <= 100 && refused.length > asked.length / 2,
      },
      {
        claim: 'the circuit closes within 10 s of recovery',
        measured: closes ? `${(closedMs / 1000).toFixed(1)} s` : 'not within 20 s',
        holds: closes && closedMs <= 10_000,
      },
      {
        claim: 'and from then on all is served',
        measured: `${served} of ${after.length}`,
        holds: served === after.length && after.length > 0,
      },
      {
        claim: 'every write is seen as often as its caller was told',
        measured: `${told.size} writes, ${wrong.length} wrong ${wrong.slice(0, 3).join('; ')}`,
        holds: wrong.length === 0,
      },
    ];
  },
};
