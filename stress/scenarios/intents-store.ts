import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/port.ts';
import { get, isSuccess, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import type { Harness, Row, RunningGateway, Scenario } from '../harness.ts';
import {
  contradictionOf,
  type History,
  nameOf,
  newHistory,
  settle,
  textOf,
} from '../intents/history.ts';
import { createIntents, type Intent, send } from '../intents/intent.ts';
import { type Ledger, startLedger } from '../intents/ledger.ts';
import { forEach } from '../load.ts';
import { missingRedis, startRedis } from '../redis.ts';
import { reconcile, tally } from '../statistics.ts';

const CLIENTS = 10;
/** Enough to last longer than a failure. */
const INTENTS = 250;
const PAUSE_MS = 100;
const NEW_INTENTS = 20;
const TIMEOUT_MS = 1000;
const KEYED = { isKeyed: true, timeoutMs: 5000 };
const MAX_REQUESTS = 40;
/** Several times as long as a gateway waits for Redis. */
const FAILURE_MS = 4000;
/** Longer than the longest pause between two connections of a gateway to Redis. */
const RECONNECTED_MS = 3000;

/** While Redis fails, keyed writes are rejected instead of being sent twice, and everything else continues. */
export const intentsStore: Scenario = {
  name: 'intents-store',
  async run(harness) {
    if (missingRedis !== undefined) {
      return [{ claim: 'each key arrives once', measured: missingRedis, holds: false }];
    }
    const stage = await setUp(harness);
    const others = startOthers(stage.gateways, harness.token);
    const frozen = await whileRedisFails(harness, stage, 'frozen', () => freeze(stage));
    const killed = await whileRedisFails(harness, stage, 'killed', () => restart(stage));
    const emptied = await afterEmptyRestart(stage, killed.intents);
    const rowsOfOthers = await others.end(stage.ledger);
    return [frozen.row, killed.row, emptied, ...rowsOfOthers, await afterNewStart(harness, stage)];
  },
};

type Stage = Awaited<ReturnType<typeof setUp>>;

/** Two gateways that share a Redis, which writes every claim to a file before its reply. */
async function setUp(harness: Harness) {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-stress-'));
  harness.defer(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  const args = ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always'];
  const startServer = () => startRedis(harness, { port, args });
  const redis = await startServer();
  const ledger = await startLedger(harness, { isReliable: true, isRefused: () => false });
  const startGateway = () =>
    harness.startGateway(ledger.service, {
      UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS),
      IDEMPOTENCY_STORE: redis.url,
      LOG_LEVEL: 'fatal',
    });
  const gateways = [await startGateway(), await startGateway()];
  return { folder, startServer, redis, ledger, startGateway, gateways };
}

/** Makes Redis fail, and returns how to end that. */
type Fail = () => Promise<() => Promise<unknown>>;

const freeze = async ({ redis }: Stage) => {
  redis.signal('SIGSTOP');
  return async () => redis.signal('SIGCONT');
};

const restart = async (stage: Stage) => {
  await stage.redis.stop();
  return async () => {
    stage.redis = await stage.startServer();
  };
};

/** Repeats keyed writes on both gateways before, during and after a failure of Redis. */
async function whileRedisFails(
  harness: Harness,
  { ledger, gateways }: Stage,
  name: string,
  fail: Fail,
): Promise<{ intents: Intent[]; row: Row }> {
  const intents = await createIntents(name, INTENTS, (sub) => harness.issuer.token({ sub }));
  const histories: History[] = [];
  const load = forEach(CLIENTS, intents, async (intent) => {
    const history = newHistory(intent.id);
    histories.push(history);
    for (const { url } of gateways) await settleOn(url, intent, history, ledger);
    await sleep(PAUSE_MS);
  });
  await sleep(1000);
  const repair = await fail();
  await sleep(FAILURE_MS / 2); // What had its claim before the failure is sent now.
  const before = ledger.arrivals.size;
  await sleep(FAILURE_MS / 2);
  const during = ledger.arrivals.size - before;
  await repair();
  await load;
  return { intents, row: rowOfFailure(name, histories, ledger, during) };
}

function settleOn(url: string, intent: Intent, history: History, ledger: Ledger): Promise<void> {
  return settle(intent, history, ledger, MAX_REQUESTS, () => send(url, intent, KEYED));
}

function rowOfFailure(name: string, histories: History[], ledger: Ledger, during: number): Row {
  const reasons = histories.flatMap(({ reasons }) => reasons);
  const isUnavailable = (reason: string) =>
    reason === 'IDEMPOTENCY_UNAVAILABLE' || reason === 'IN_PROGRESS';
  const { measured, holds } = summaryOf(histories, ledger);
  return {
    claim: `Redis ${name} for ${FAILURE_MS / 1000} s: IDEMPOTENCY_UNAVAILABLE meanwhile, then each key arrives once and its repeats agree`,
    measured: `${measured}; ${during} arrived during the failure; repeated after ${tally(reasons)}`,
    holds:
      holds &&
      during === 0 &&
      reasons.includes('IDEMPOTENCY_UNAVAILABLE') &&
      reasons.every(isUnavailable),
  };
}

/** Whether each intent arrived once, and both gateways responded with what happened. */
function summaryOf(histories: History[], ledger: Ledger): Pick<Row, 'measured' | 'holds'> {
  const faults = histories.flatMap(({ id, finals, contradictions }) => [
    ...contradictions,
    ...finals.flatMap((final) => contradictionOf(id, final, ledger) ?? []),
    ...(finals.length === 2 && new Set(finals.map(textOf)).size === 1
      ? []
      : [`${id}: ${finals.map(textOf).join(' / ') || 'no outcome'}`]),
  ]);
  const once = histories.filter(({ id }) => ledger.accepted(id).length === 1).length;
  return {
    measured: [`${once} of ${histories.length} arrived once`, ...faults.slice(0, 3)].join('; '),
    holds: once === histories.length && faults.length === 0,
  };
}

/** Restarts Redis without its data, and repeats intents whose claims it has lost. */
async function afterEmptyRestart(stage: Stage, intents: Intent[]): Promise<Row> {
  await stage.redis.stop();
  rmSync(join(stage.folder, 'appendonlydir'), { recursive: true });
  stage.redis = await stage.startServer();
  const told: string[] = [];
  const repeat = () =>
    forEach(CLIENTS, intents.slice(0, 100), async (intent) => {
      for (const { url } of stage.gateways) told.push(nameOf(await send(url, intent, KEYED)));
    });
  await repeat(); // While the gateways connect again.
  await sleep(RECONNECTED_MS);
  await repeat();
  const twice = intents.filter(({ id }) => stage.ledger.accepted(id).length > 1).length;
  return {
    claim: 'Redis restarted empty: no key is sent again, and keyed writes are rejected',
    measured: `${twice} of ${intents.length} sent again; repeats: ${tally(told)}`,
    holds: twice === 0 && told.every((name) => name === 'IDEMPOTENCY_UNAVAILABLE'),
  };
}

/** Starts the gateways again, which accept the empty Redis. */
async function afterNewStart(harness: Harness, stage: Stage): Promise<Row> {
  for (const gateway of stage.gateways) await gateway.stop();
  const urls: string[] = [];
  for (const _ of stage.gateways) urls.push((await stage.startGateway()).url);
  const intents = await createIntents('new', NEW_INTENTS, (sub) => harness.issuer.token({ sub }));
  const histories = intents.map(({ id }) => newHistory(id));
  for (const [n, intent] of intents.entries()) {
    for (const url of urls)
      await settleOn(url, intent, histories[n] ?? newHistory(''), stage.ledger);
  }
  const claim = 'after a restart of the gateways, keyed writes are served';
  return { claim, ...summaryOf(histories, stage.ledger) };
}

/** Reads, writes without a key and readiness checks on each gateway, until `end`. */
function startOthers(gateways: RunningGateway[], token: string) {
  const writes = new Map<string, string>();
  const reads: string[] = [];
  const readiness: string[] = [];
  let isRunning = true;
  const load = Promise.all(
    gateways.map(async ({ url }, gateway) => {
      for (let n = 0; isRunning; n++) {
        const id = `other-${gateway}-${n}`;
        readiness.push(String((await get(`${url}/readyz`)).status));
        reads.push(outcomeOf(await post(url, token, readQuery(id))));
        writes.set(id, outcomeOf(await post(url, token, writeMutation(id))));
        await sleep(PAUSE_MS / 2);
      }
    }),
  );
  return {
    async end({ service }: Ledger): Promise<Row[]> {
      isRunning = false;
      await load;
      const { mismatches } = reconcile(writes, service.seen);
      const outcomes = [...writes.values(), ...reads];
      return [
        {
          claim: 'all the time, reads and writes without a key are served',
          measured: `${tally(outcomes)}; ${mismatches.length} mismatches`,
          holds: mismatches.length === 0 && outcomes.every(isSuccess) && reads.length > 50,
        },
        {
          claim: 'all the time, /readyz responds with 200',
          measured: tally(readiness),
          holds: readiness.every((status) => status === '200'),
        },
      ];
    },
  };
}
