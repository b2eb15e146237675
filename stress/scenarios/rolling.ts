import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/port.ts';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import { type Haproxy, missingHaproxy, startHaproxy } from '../haproxy.ts';
import { type Harness, type RunningGateway, type Scenario, until } from '../harness.ts';
import { openLoop } from '../load.ts';
import { succeed } from '../service.ts';
import { reconcile, tally } from '../statistics.ts';

const PER_SECOND = 80;
/** How many writes and how many reads are sent at least. */
const MIN_REQUESTS = 1000;
const ROUNDS = 2;
/** How long HAProxy may take to see that a gateway is ready again, in milliseconds. */
const MAX_UNSEEN_MS = 30_000;

/** A rolling restart behind a load balancer with nothing configured but a health check loses no request. */
export const rolling: Scenario = {
  name: 'rolling',
  async run(harness) {
    if (missingHaproxy !== undefined) {
      const claim = 'a rolling restart loses no request';
      return [{ claim, measured: missingHaproxy, holds: false }];
    }
    const service = await harness.startService((exchange) => {
      setTimeout(() => succeed(exchange), 5 + Math.random() * 40);
    });
    const ports = [await freePort(), await freePort()];
    const start = (port: number) => harness.startGateway(service, { PORT: String(port) });
    const gateways = new Map<number, RunningGateway>();
    for (const port of ports) gateways.set(port, await start(port));
    const haproxy = await startHaproxy(harness, ports);

    const load = createLoad(haproxy.url, harness);
    let restarting = true;
    const loadWhileRestarting = async () => {
      const isEnough = () => Math.min(load.writes.size, load.reads.length) >= MIN_REQUESTS;
      while (restarting || !isEnough()) await load.run(1);
    };
    const [exitCodes] = await Promise.all([
      restartInTurn(gateways, start, haproxy).finally(() => {
        restarting = false;
      }),
      loadWhileRestarting(),
    ]);

    const writes = [...load.writes.values()];
    const { mismatches } = reconcile(load.writes, service.seen);
    return [
      {
        claim: `${2 * ROUNDS} restarts behind HAProxy: every write is answered and served`,
        measured: tally(writes),
        holds: writes.length >= MIN_REQUESTS && writes.every(isSuccess),
      },
      {
        claim: 'every outcome of a write agrees with what the service saw',
        measured: `${writes.length} writes, ${mismatches.length} mismatches ${mismatches.slice(0, 3).join('; ')}`,
        holds: mismatches.length === 0,
      },
      {
        claim: 'every read is answered and served',
        measured: tally(load.reads),
        holds: load.reads.length >= MIN_REQUESTS && load.reads.every(isSuccess),
      },
      {
        claim: 'each gateway shuts down with exit code 0',
        measured: `exit codes ${exitCodes.join(', ')}`,
        holds: exitCodes.every((code) => code === 0),
      },
    ];
  },
};

/** Restarts each gateway on its port, one after the other, and returns the exit codes. */
async function restartInTurn(
  gateways: Map<number, RunningGateway>,
  start: (port: number) => Promise<RunningGateway>,
  haproxy: Haproxy,
): Promise<unknown[]> {
  const exitCodes: unknown[] = [];
  await sleep(1000);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [port, gateway] of gateways) {
      exitCodes.push(await gateway.stop());
      gateways.set(port, await start(port));
      const isSeen = await until(() => haproxy.isUp(port), MAX_UNSEEN_MS);
      if (!isSeen) throw new Error('HAProxy does not see the restarted gateway');
    }
  }
  return exitCodes;
}

/** Alternates reads and writes, some on new connections and some on kept ones. */
function createLoad(url: string, harness: Harness) {
  const agent = keepAliveAgent(harness);
  const writes = new Map<string, string>();
  const reads: string[] = [];
  return {
    writes,
    reads,
    async run(seconds: number): Promise<void> {
      const sent = writes.size + reads.length;
      await openLoop(PER_SECOND, seconds, async (n) => {
        const id = `rolling-${sent + n}`;
        const isWrite = n % 2 === 0;
        const query = isWrite ? writeMutation(id) : readQuery(id);
        const response = await post(url, harness.token, query, n % 3 === 0 ? {} : { agent });
        if (isWrite) writes.set(id, outcomeOf(response));
        else reads.push(outcomeOf(response));
      });
    },
  };
}
