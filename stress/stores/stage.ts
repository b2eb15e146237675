import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../testkit/port.ts';
import { outcomeOf, post, writeMutation } from '../client.ts';
import { type Harness, type Row, type RunningGateway, until } from '../harness.ts';
import { type Ledger, startLedger } from '../intents/ledger.ts';
import { rowsOfSettled, runSettledIntents } from '../intents/settled-intents.ts';
import { percentile } from '../statistics.ts';

export const REPETITIONS = Number(process.env.STRESS_REPETITIONS ?? 2);
export const TIMEOUT_MS = 1000;
/** Short, so that a run sees the end of a quarantine. */
const QUARANTINE_S = 5;
/** A store must be used again within this time, by new keys: after a loss, copies from before it may arrive for 30 s. */
const BACK_WITHIN_MS = 35_000;

/** Gateways under load, and what fails. */
type Play = {
  /** The setting IDEMPOTENCY_STORE. */
  store: string;
  /** How many gateways share it; 3 by default. */
  count?: number;
  /** Additional environment variables of the gateways. */
  variables?: Record<string, string>;
  /** Is called before the load, when the gateways have started. */
  prepare?(): Promise<unknown>;
  /** Makes the store or the gateways fail, and waits until they work again. */
  fail(stage: Stage, n: number): Promise<unknown>;
  /** What each client awaits after its first request: by how much that is older then, in milliseconds. */
  ageing?: () => Promise<number>;
  /** Whether no intent may be `ORPHANED` that was not sent: no sender dies, and no record is lost. */
  isAllKnown?: boolean;
};

export type Stage = {
  gateways: Map<string, RunningGateway>;
  start(port?: string, retentionS?: number): Promise<void>;
  urls(): string[];
  token: string;
  ledger: Ledger;
  /** How long each gateway took to accept a keyed write, after the store was back. */
  backAfter: number[];
  /** When records were lost, in the time of `performance.now()`. */
  lossesAt: number[];
};

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Runs impatient clients against gateways while `fail` makes the store or the gateways fail, several times. */
export async function underLoad(harness: Harness, what: string, play: Play): Promise<Row[]> {
  const { store, count = 3, variables, prepare, fail, ageing, isAllKnown = false } = play;
  const ledger = await startLedger();
  const gateways = new Map<string, RunningGateway>();
  const start = async (port?: string, retentionS = 86_400) => {
    const gateway = await harness.startGateway(ledger.service, {
      PORT: port ?? String(await freePort()),
      UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS),
      IDEMPOTENCY_STORE: store,
      IDEMPOTENCY_RETENTION_S: String(retentionS),
      IDEMPOTENCY_LOSS_QUARANTINE_S: String(QUARANTINE_S),
      LOG_LEVEL: 'fatal',
      ...variables,
    });
    gateways.set(new URL(gateway.url).port, gateway);
  };
  for (let n = 0; n < count; n++) await start();
  await prepare?.();
  const running = { load: true };
  const urls = () => [...gateways.keys()].map((port) => `http://127.0.0.1:${port}`);
  const prefix = what.replaceAll(/\W+/g, '-');
  const notesStarts = store !== 'memory';
  const load = runSettledIntents(harness, { prefix, urls, running, notesStarts, ageing });
  const stage: Stage = {
    gateways,
    start,
    urls,
    token: harness.token,
    ledger,
    backAfter: [],
    lossesAt: [],
  };
  await sleep(1000);
  for (let n = 0; n < REPETITIONS; n++) {
    print(`${what}: ${n + 1} of ${REPETITIONS}`);
    await fail(stage, n);
  }
  running.load = false;
  print(`${what}: settling`);
  const { lossesAt, backAfter } = stage;
  const rows = rowsOfSettled(what, await load, ledger, { lossesAt, isAllKnown });
  for (const gateway of gateways.values()) await gateway.kill();
  if (backAfter.length === 0) return rows;
  const most = Math.max(...backAfter);
  const back = {
    claim: `${what}: keyed writes are accepted again within ${BACK_WITHIN_MS / 1000} s on every gateway`,
    measured: `${backAfter.length} times, p50 ${percentile(backAfter, 0.5).toFixed(0)} ms, at most ${most.toFixed(0)} ms`,
    holds: most <= BACK_WITHIN_MS,
  };
  return [...rows, back];
}

/** Waits until every gateway accepts keyed writes with an age. */
export async function whenBack({ urls, token, backAfter }: Stage): Promise<void> {
  const start = performance.now();
  for (const url of urls()) {
    const isAccepted = async () => {
      const id = crypto.randomUUID();
      const sent = await post(url, token, writeMutation(id), { idempotencyKey: id, ageMs: 0 });
      return !['IDEMPOTENCY_UNAVAILABLE', 'no response'].includes(outcomeOf(sent));
    };
    await until(isAccepted, 2 * BACK_WITHIN_MS);
    backAfter.push(performance.now() - start);
  }
}

/** Kills one of the gateways, each time another one. The result starts it again. */
export async function killOne({ gateways, start }: Stage, n: number) {
  const [[port, gateway] = []] = [...gateways].slice(n % gateways.size);
  await gateway?.kill();
  return () => start(port);
}

/** Kills all gateways. The result starts them again. */
export async function killAll({ gateways, start }: Stage) {
  const ports = [...gateways.keys()];
  await Promise.all([...gateways.values()].map((gateway) => gateway.kill()));
  return () => Promise.all(ports.map((port) => start(port)));
}
