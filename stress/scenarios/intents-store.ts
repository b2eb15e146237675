import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeAfterTest } from '../../test/support/cleanup.ts';
import { eventually } from '../../test/support/eventually.ts';
import { freePort } from '../../test/support/port.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import { startRedis } from '../../test/support/redis.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { outcomeOf, post, writeMutation } from '../client.ts';
import { startFaultProxy } from '../fault-proxy.ts';
import { type Harness, type Row, type RunningGateway, type Scenario, until } from '../harness.ts';
import { startLedger } from '../intents/ledger.ts';
import { CLIENTS, rowsOfSettled, runSettledIntents } from '../intents/settled-intents.ts';
import { percentile } from '../statistics.ts';

const REPETITIONS = Number(process.env.STRESS_REPETITIONS ?? 5);
/** `memory`, `file`, `redis`, `postgres` or several of them. */
const STORES = (process.env.STRESS_STORES ?? 'memory,file,redis,postgres').split(',');
const TIMEOUT_MS = 1000;
/** Short, so that a run sees the end of a quarantine. */
const QUARANTINE_S = 5;
/** A store must be used again within this time, by new keys: after a loss, copies from before it may arrive for 30 s. */
const BACK_WITHIN_MS = 35_000;

/** Gateways whose store fails send no key twice, and every intent gets an answer that agrees with the service. */
export const intentsStore: Scenario = {
  name: 'intents-store',
  async run(harness) {
    const rows: Row[] = [];
    for (const survive of STORES.flatMap((store) => stores[store] ?? []))
      rows.push(...(await survive(harness)));
    return rows;
  },
};

/** What each store has to survive. */
const stores: Record<string, ((harness: Harness) => Promise<Row[]>)[]> = {
  memory: [(harness) => killGateway(harness, 'memory')],
  file: [async (harness) => killGateway(harness, await fileStore()), fillDisk],
  redis: [failOverRedis, emptyRedis, evictRedis],
  postgres: [failOverPostgres, emptyPostgres, pauseStandby, rollRetention],
};
const fileStore = async () => `file:${join(await temporaryFolder(), 'keys.db')}`;

/** Runs impatient clients against gateways while `fail` makes the store or the gateways fail, several times. */
async function underLoad(
  harness: Harness,
  what: string,
  store: string,
  count: number,
  fail: (stage: Stage, n: number) => Promise<unknown>,
  ageing?: () => Promise<number>,
): Promise<Row[]> {
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
    });
    gateways.set(new URL(gateway.url).port, gateway);
  };
  for (let n = 0; n < count; n++) await start();
  const running = { load: true };
  const urls = () => [...gateways.keys()].map((port) => `http://127.0.0.1:${port}`);
  const prefix = what.replaceAll(/\W+/g, '-');
  const notesStarts = store !== 'memory';
  const load = runSettledIntents(harness, { prefix, urls, running, notesStarts, ageing });
  const stage: Stage = { gateways, start, urls, token: harness.token, backAfter: [], lossesAt: [] };
  await sleep(1000);
  for (let n = 0; n < REPETITIONS; n++) await fail(stage, n);
  running.load = false;
  const rows = rowsOfSettled(what, await load, ledger, stage.lossesAt);
  for (const gateway of gateways.values()) await gateway.kill();
  const { backAfter } = stage;
  if (backAfter.length === 0) return rows;
  const most = Math.max(...backAfter);
  const back = {
    claim: `${what}: keyed writes are accepted again within ${BACK_WITHIN_MS / 1000} s on every gateway`,
    measured: `${backAfter.length} times, p50 ${percentile(backAfter, 0.5).toFixed(0)} ms, at most ${most.toFixed(0)} ms`,
    holds: most <= BACK_WITHIN_MS,
  };
  return [...rows, back];
}

type Stage = {
  gateways: Map<string, RunningGateway>;
  start(port?: string, retentionS?: number): Promise<void>;
  urls(): string[];
  token: string;
  /** How long each gateway took to accept a keyed write, after the store was back. */
  backAfter: number[];
  /** When records were lost, in the time of `performance.now()`. */
  lossesAt: number[];
};

/** Waits until every gateway accepts keyed writes with an age. */
async function whenBack({ urls, token, backAfter }: Stage): Promise<void> {
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

function killGateway(harness: Harness, store: string): Promise<Row[]> {
  const what = `${store.split(':')[0]}, kill -9 of the gateway`;
  return underLoad(harness, what, store, 1, async ({ gateways, start }) => {
    for (const [port, gateway] of gateways) {
      await gateway.kill();
      await start(port);
    }
    await sleep(2000);
  });
}

/** A file on a disk that other files fill. */
async function fillDisk(harness: Harness): Promise<Row[]> {
  const folder = await temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return []; // Not permitted here.
  }
  closeAfterTest(() => execFileSync('umount', ['-l', folder]));
  const filler = join(folder, 'filler');
  const store = `file:${join(folder, 'keys.db')}`;
  return underLoad(harness, 'file, disk full', store, 1, async (stage) => {
    execFileSync('sh', ['-c', `cat /dev/zero > ${filler} || true`], { stdio: 'ignore' });
    await sleep(2000);
    rmSync(filler);
    await whenBack(stage);
  });
}

/** Promotes a replica that lags behind, while gateways are killed as well. */
async function failOverRedis(harness: Harness): Promise<Row[]> {
  const args = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
  const replicaOf = (port: number) =>
    startRedis({ args: [...args, '--replicaof', '127.0.0.1', String(port)] });
  let primary = await startRedis({ args });
  let replica = await replicaOf(primary.port);
  const address = await startFaultProxy(primary.port);
  const store = `redis://127.0.0.1:${address.port}`;
  return underLoad(harness, 'redis, failover of a lagging replica', store, 3, async (stage, n) => {
    await eventually(async () => {
      const info = String(await replica.command('INFO', 'replication'));
      if (!info.includes('master_link_status:up')) throw new Error('not replicating');
    });
    await sleep(2500); // The gateways see the replica.
    const [[port, gateway] = []] = [...stage.gateways].slice(n % 3);
    const isKilled = n % 4 === 3 && port !== undefined && gateway !== undefined;
    replica.signal('SIGSTOP');
    await sleep(60);
    if (isKilled) await gateway.kill();
    await primary.stop();
    stage.lossesAt.push(performance.now());
    replica.signal('SIGCONT');
    await replica.command('REPLICAOF', 'NO', 'ONE');
    address.to(replica.port);
    primary = replica;
    if (isKilled) await stage.start(port);
    await whenBack(stage);
    replica = await replicaOf(primary.port);
  });
}

/** Empties Redis under load, while a gateway starts that knows nothing of it. */
async function emptyRedis(harness: Harness): Promise<Row[]> {
  const redis = await startRedis();
  const what = 'redis, emptied while a fourth gateway starts';
  return underLoad(harness, what, redis.url, 3, async (stage) => {
    const starting = stage.start();
    await sleep(Math.random() * 1000);
    await redis.command('FLUSHALL');
    stage.lossesAt.push(performance.now());
    await starting;
    await whenBack(stage);
    const [port = '', gateway] = [...stage.gateways].at(-1) ?? [];
    stage.gateways.delete(port);
    await gateway?.kill();
  });
}

/** Lets Redis evict keys for a moment, shorter than the time between two checks of its policy. */
async function evictRedis(harness: Harness): Promise<Row[]> {
  const redis = await startRedis();
  const config = (memory: string, policy: string) =>
    redis.command('CONFIG', 'SET', 'maxmemory', memory, 'maxmemory-policy', policy);
  return underLoad(harness, 'redis, keys evicted', redis.url, 3, async (stage) => {
    await config('1', 'volatile-random');
    await redis.command('SET', 'another', 'x').catch(() => {}); // Evicts what it can.
    stage.lossesAt.push(performance.now());
    await config('0', 'noeviction');
    await whenBack(stage);
    await sleep(2000);
  });
}

/** Empties the table under load, by a DELETE, which takes a while, and by TRUNCATE in turns. */
async function emptyPostgres(harness: Harness): Promise<Row[]> {
  const server = await startPostgres();
  const what = 'postgres, table emptied by DELETE or TRUNCATE';
  return underLoad(harness, what, server.url, 3, async (stage, n) => {
    const statement =
      n % 2 === 0
        ? 'BEGIN; DELETE FROM ledger_gateway_record; SELECT pg_sleep(0.3); COMMIT'
        : 'TRUNCATE ledger_gateway_record';
    // PostgreSQL may choose the DELETE as the victim of a deadlock.
    await server.query(statement).catch(() => {});
    stage.lossesAt.push(performance.now());
    await whenBack(stage);
    await sleep(2000);
  });
}

/** Freezes the synchronous standby for longer than the lease of a claim. */
async function pauseStandby(harness: Harness): Promise<Row[]> {
  const settings = { synchronous_standby_names: 'standby' };
  const primary = await startPostgres({ settings });
  const standby = await startPostgres({ primary, settings });
  const what = 'postgres, standby paused';
  return underLoad(harness, what, primary.url, 3, async (stage, n) => {
    const [receiver] = await standby.query('SELECT pid FROM pg_stat_wal_receiver');
    const pid = Number(receiver?.pid);
    process.kill(pid, 'SIGSTOP');
    await sleep(n % 2 === 0 ? 3000 : 8000);
    process.kill(pid, 'SIGCONT');
    await whenBack(stage);
    await sleep(2000);
  });
}

/** Kills the primary, and promotes its synchronous standby. */
async function failOverPostgres(harness: Harness): Promise<Row[]> {
  const settings = { synchronous_standby_names: 'standby' };
  let primary = await startPostgres({ settings });
  let standby = await startPostgres({ primary, settings });
  const address = await startFaultProxy(primary.port);
  const store = `postgres://postgres@127.0.0.1:${address.port}/postgres`;
  const what = 'postgres, primary killed and its synchronous standby promoted';
  return underLoad(harness, what, store, 3, async (stage) => {
    await sleep(1500);
    await primary.kill();
    standby.promote();
    address.to(standby.port);
    const old = primary;
    primary = standby;
    await old.stop();
    standby = await startPostgres({ primary, settings });
    await whenBack(stage);
  });
}

/** Rolls the retention from a day to an hour and back, while clients repeat requests that were sent before that hour. */
async function rollRetention(harness: Harness): Promise<Row[]> {
  const server = await startPostgres();
  const ages: ((olderMs: number) => void)[] = [];
  let isOver = false;
  const ageing = () => new Promise<number>((resolve) => (isOver ? resolve(0) : ages.push(resolve)));
  const roll = async (stage: Stage, n: number) => {
    await until(() => ages.length === CLIENTS, 60_000);
    await sleep(2 * TIMEOUT_MS); // What was sent has an outcome.
    await server.query(AN_HOUR_LATER);
    const rolling = (async () => {
      for (const [port, gateway] of stage.gateways) {
        await gateway.kill();
        await stage.start(port, n % 2 === 0 ? 3600 : 86_400);
      }
    })();
    await sleep(Math.random() * 3000);
    for (const age of ages.splice(0)) age(3_610_000);
    await rolling;
    isOver = n === REPETITIONS - 1;
    if (isOver) for (const age of ages.splice(0)) age(0);
  };
  return underLoad(harness, 'postgres, retention rolled', server.url, 2, roll, ageing);
}

/** Makes all records, and that of completeness, older than they are. It began long before them. */
const AN_HOUR_LATER = `UPDATE ledger_gateway_record SET expires_at = expires_at - interval '3610 s',
  version = CASE key WHEN 'complete-since' THEN split_part(version, ':', 1) || ':' || pg_current_xact_id()::xid
    ELSE version END,
  text = CASE key WHEN 'complete-since' THEN (text::jsonb || jsonb_build_object(
    'since', (text::jsonb->'since')::float8 - 3670000,
    'retentionSince', (text::jsonb->'retentionSince')::float8 - 3610000))::text ELSE text END`;
