import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../testkit/port.ts';
import { startRedis } from '../../testkit/redis.ts';
import { type Fault, startFaultProxy } from '../fault-proxy.ts';
import { startHaproxy } from '../haproxy.ts';
import type { Harness, Row, RunningGateway, Scenario } from '../harness.ts';
import { type History, newHistory, settle } from '../intents/history.ts';
import { createIntents, type Intent, send } from '../intents/intent.ts';
import { type Ledger, startLedger } from '../intents/ledger.ts';
import { rowsOfIntents } from '../intents/rows.ts';
import { forEach } from '../load.ts';
import { tally } from '../statistics.ts';

const INTENTS = 5000;
/** Intents without a key, to show what the same faults do to them. */
const CONTROLS = 300;
const CLIENTS = 50;
const TIMEOUT_MS = 1000;
/** Longer than the gateway takes at most. */
const CLIENT_TIMEOUT_MS = 2500;
const KEYED = { isKeyed: true, timeoutMs: CLIENT_TIMEOUT_MS };
const MAX_REQUESTS = 40;
/** No intent starts later than this, so that the scenario always ends. */
const MAX_MS = 200_000;
/** How often the service refuses connections, and for how long. */
const REFUSAL = { everyMs: 10_000, ms: 300 };

/** Also repeats requests that may have arrived. Without idempotency keys, that is unsafe for writes. */
const RETRY_EVERYTHING = ['retries 3', 'retry-on all-retryable-errors', 'option redispatch 1'];
const CHECK_OFTEN = ['default-server inter 100ms fall 2 rise 1'];

/** With an idempotency key, a write takes effect at most once, and the client learns what happened. */
export const intents: Scenario = {
  name: 'intents',
  async run(harness) {
    const stage = await setUp(harness);
    const all = await createIntents(harness, 'intent', INTENTS);
    const controls = await createIntents(harness, 'control', CONTROLS);

    const end = performance.now() + MAX_MS;
    const histories = new Map<string, History>();
    const unkeyed: History[] = [];
    const load = Promise.all([
      forEach(CLIENTS, all, async (intent) => {
        if (performance.now() > end) return;
        histories.set(intent.id, await runIntent(intent, stage, true));
      }),
      forEach(3, controls, async (intent) => {
        if (performance.now() > end) return;
        unkeyed.push(await runIntent(intent, stage, false));
      }),
    ]);
    const running = { load: true };
    const restarts = restart(stage, running);
    const refusals = refuse(stage, running);
    await load;
    running.load = false;
    const { kills, exitCodes } = await restarts;
    await refusals;
    await repeatOnEach(all, histories, stage);

    const resent = await stage.haproxy.resent();
    return [
      ...rowsOfIntents([...histories.values()], stage.ledger, INTENTS, MAX_REQUESTS),
      {
        claim:
          'the faults occurred: kill -9, SIGTERM (exit code 0), and requests that HAProxy repeated',
        measured: `${kills} kill -9, ${exitCodes.length} SIGTERM (exit codes ${tally(exitCodes.map(String))}), ${resent.same + resent.other} repeated by HAProxy; towards clients: ${tally(stage.clientProxy.faults)}; towards the service: ${tally(stage.serviceProxy.faults)}`,
        holds: kills > 2 && exitCodes.every((code) => code === 0) && resent.other > 0,
      },
      rowOfControl(unkeyed, stage.ledger),
    ];
  },
};

type Stage = Awaited<ReturnType<typeof setUp>>;

/** Clients, proxy, HAProxy, two gateways that share a Redis, proxy, service. */
async function setUp(harness: Harness) {
  const redis = await startRedis();
  const ledger = await startLedger((id) => id.endsWith('77'));
  const servicePort = Number(new URL(ledger.service.url).port);
  const serviceProxy = await startFaultProxy(servicePort, pickFrom(0.06, [...cuts, 'delay']));
  const start = (port: number) =>
    harness.startGateway(serviceProxy, {
      PORT: String(port),
      UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS),
      IDEMPOTENCY_STORE: redis.url,
      SHUTDOWN_DELAY_MS: '300',
      LOG_LEVEL: 'error',
    });
  const gateways = new Map<number, RunningGateway>();
  for (const port of [await freePort(), await freePort()]) gateways.set(port, await start(port));
  const haproxy = await startHaproxy([...gateways.keys()], [...RETRY_EVERYTHING, ...CHECK_OFTEN]);
  const clientFaults: Fault[] = [...cuts, 'swallow the response', 'delay', 'delay'];
  const clientProxy = await startFaultProxy(haproxy.port, pickFrom(0.12, clientFaults));
  return { ledger, serviceProxy, start, gateways, haproxy, clientProxy };
}

/** Repeats an intent until its outcome is known, and with its key once more after that. */
async function runIntent(intent: Intent, { ledger, clientProxy }: Stage, isKeyed: boolean) {
  const history = newHistory(intent.id);
  const sendOnce = () => send(clientProxy.url, intent, { ...KEYED, isKeyed });
  await settle(intent, history, ledger, MAX_REQUESTS, sendOnce);
  if (isKeyed) await settle(intent, history, ledger, MAX_REQUESTS, sendOnce);
  return history;
}

/** Repeats the intents on each gateway, without faults of the network. */
async function repeatOnEach(
  all: Intent[],
  histories: Map<string, History>,
  { ledger, gateways }: Stage,
): Promise<void> {
  await forEach(CLIENTS, all, async (intent) => {
    const history = histories.get(intent.id);
    if (!history) return;
    for (const { url } of gateways.values()) {
      await settle(intent, history, ledger, MAX_REQUESTS, () => send(url, intent, KEYED));
    }
  });
}

const cuts: Fault[] = ['cut in the request', 'cut after the request', 'cut in the response'];

/** Picks a fault for this share of connections. */
const pickFrom = (share: number, faults: Fault[]) => () =>
  Math.random() < share ? faults[Math.floor(Math.random() * faults.length)] : undefined;

/** Ends one gateway after the other, by turns with `kill -9` and SIGTERM, and starts each again. */
async function restart({ gateways, start }: Stage, running: { load: boolean }) {
  const exitCodes: unknown[] = [];
  let kills = 0;
  while (running.load) {
    for (const [port, gateway] of gateways) {
      await sleep(1000);
      if (!running.load) break;
      if ((kills + exitCodes.length) % 4 < 2) {
        await gateway.kill();
        kills += 1;
      } else {
        exitCodes.push(await gateway.stop());
      }
      gateways.set(port, await start(port));
    }
  }
  return { kills, exitCodes };
}

/** Lets the service refuse connections now and then, so that a write is certain to have had no effect. */
async function refuse({ serviceProxy }: Stage, running: { load: boolean }): Promise<void> {
  while (running.load) {
    await sleep(REFUSAL.everyMs);
    serviceProxy.refuse();
    await sleep(REFUSAL.ms);
    await serviceProxy.accept();
  }
}

function rowOfControl(unkeyed: History[], ledger: Ledger): Row {
  const arrivals = unkeyed.map(({ id }) => ledger.accepted(id).length);
  const twice = arrivals.filter((count) => count > 1).length;
  return {
    claim: 'for comparison, the same without a key: some writes arrive more than once',
    measured: `${twice} of ${unkeyed.length}, up to ${Math.max(...arrivals)} times`,
    holds: twice > 0,
  };
}
