import { setTimeout as sleep } from 'node:timers/promises';
import { type PostgresServer, startPostgres } from '../../testkit/postgres.ts';
import { type Fault, startFaultProxy } from '../fault-proxy.ts';
import type { Harness, Row } from '../harness.ts';
import { AN_HOUR_LATER } from './postgres-faults.ts';
import { killAll, type Stage, underLoad, whenBack } from './stage.ts';

/** Freezes the synchronous standby for longer than the lease of a claim. */
export async function pauseStandby(harness: Harness): Promise<Row[]> {
  const settings = { synchronous_standby_names: 'standby' };
  const primary = await startPostgres({ settings });
  const standby = await startPostgres({ primary, settings });
  const what = 'postgres, standby paused';
  const fail = async (stage: Stage, n: number) => {
    await pauseReceiver(standby, n % 2 === 0 ? 3000 : 8000, 0);
    await whenBack(stage);
    await sleep(2000);
  };
  const prepare = () => primary.query(AN_HOUR_LATER);
  return underLoad(harness, what, { store: primary.url, prepare, fail, isAllKnown: true });
}

/** Stops the replication to a standby for so many milliseconds, and waits for some more. */
async function pauseReceiver(standby: PostgresServer, ms: number, moreMs: number) {
  const [receiver] = await standby.query('SELECT pid FROM pg_stat_wal_receiver');
  const pid = Number(receiver?.pid);
  process.kill(pid, 'SIGSTOP');
  await sleep(ms);
  process.kill(pid, 'SIGCONT');
  await sleep(moreMs);
}

/** Kills the primary, and promotes its synchronous standby. */
export async function failOverToStandby(harness: Harness): Promise<Row[]> {
  const group = await startGroup({ members: ['standby'], synchronous: 'standby' });
  const what = 'postgres, primary killed and its synchronous standby promoted';
  const fail = async (stage: Stage) => {
    await sleep(1500);
    await group.failOverTo('standby');
    await whenBack(stage);
  };
  return underLoad(harness, what, { ...group.play, fail });
}

/** Promotes the member of a quorum that lacks what the other one has confirmed. */
export async function failOverToLagging(harness: Harness): Promise<Row[]> {
  const group = await startGroup({ members: ['a', 'b'], synchronous: 'ANY 1 (a, b)' });
  const what = 'postgres, lagging member of a quorum promoted';
  const fail = async (stage: Stage) => {
    await group.cutOff('b');
    await sleep(1500);
    stage.lossesAt.push(performance.now());
    await group.failOverTo('b');
    await whenBack(stage);
    await sleep(2000);
  };
  return underLoad(harness, what, { ...group.play, fail });
}

/** Goes on without the standby, and promotes it later: what it has says that it is synchronous. */
export async function failOverToStale(harness: Harness): Promise<Row[]> {
  const group = await startGroup({ members: ['standby'], synchronous: 'standby' });
  const what = 'postgres, standby promoted that was synchronous no more';
  const fail = async (stage: Stage) => {
    await group.cutOff('standby');
    await group.primary().set('synchronous_standby_names', '');
    await whenBack(stage);
    await sleep(1500);
    stage.lossesAt.push(performance.now());
    await group.failOverTo('standby');
    await whenBack(stage);
    await sleep(2000);
  };
  return underLoad(harness, what, { ...group.play, fail });
}

/** Promotes a standby that was cut off, while gateways die, and their requests to cancel arrive up to 5 s late. */
export async function cancelLate(harness: Harness): Promise<Row[]> {
  const pick = (): Fault => 'delay a request to cancel';
  const group = await startGroup({ members: ['standby'], synchronous: 'standby', pick });
  const what = 'postgres, requests to cancel arrive late, and the standby is promoted';
  let sent = 0;
  const fail = async (stage: Stage) => {
    // Requests to cancel are on their way when the standby is back.
    for (let n = 0; n < 4; n++) await pauseReceiver(group.standby('standby'), 1600, 400);
    await group.cutOff('standby');
    await sleep(500);
    const start = performance.now();
    await sleep(3500);
    const arrivals = [...stage.ledger.arrivals.values()].flat();
    sent += arrivals.filter(({ at }) => at > start).length;
    const startAgain = await killAll(stage);
    await group.failOverTo('standby');
    await startAgain();
    await whenBack(stage);
    await sleep(2000);
  };
  const rows = await underLoad(harness, what, { ...group.play, fail });
  const claim = `${what}: nothing is sent while no standby confirms`;
  return [...rows, { claim, measured: `${sent} writes`, holds: sent === 0 }];
}

type Group = { members: string[]; synchronous: string; pick?: () => Fault };

/** Starts a primary, its standbys, and a proxy that leads to the primary. */
async function startGroup({ members, synchronous, pick }: Group) {
  const settings = { synchronous_standby_names: synchronous };
  let primary = await startPostgres({ settings });
  const address = await startFaultProxy(primary.port, pick);
  let standbys = new Map<string, PostgresServer>();
  const follow = async () => {
    standbys = new Map();
    for (const name of members)
      standbys.set(name, await startPostgres({ settings, name, primary }));
  };
  await follow();
  const standby = (name: string) => {
    const server = standbys.get(name);
    if (server === undefined) throw new Error(`no standby ${name}`);
    return server;
  };
  return {
    standby,
    play: {
      store: `postgres://postgres@127.0.0.1:${address.port}/postgres`,
      // Or else most intents would be older than the records.
      prepare: () => primary.query(AN_HOUR_LATER),
    },
    primary: () => primary,
    /** Ends the replication to a standby, until the next failover. */
    async cutOff(name: string) {
      await standby(name).set('primary_conninfo', '');
    },
    /** Kills the primary, promotes a standby, and replaces all others. */
    async failOverTo(name: string) {
      const old = [primary, ...standbys.values()];
      await primary.kill();
      primary = standby(name);
      primary.promote();
      address.to(primary.port);
      for (const server of old) if (server !== primary) await server.stop();
      await follow();
    },
  };
}
