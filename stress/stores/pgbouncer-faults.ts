import { setTimeout as sleep } from 'node:timers/promises';
import { startPgBouncer } from '../../testkit/pgbouncer.ts';
import { startPostgres } from '../../testkit/postgres.ts';
import { startFaultProxy } from '../fault-proxy.ts';
import type { Harness, Row } from '../harness.ts';
import { AN_HOUR_LATER } from './postgres-faults.ts';
import { type Stage, underLoad, whenBack } from './stage.ts';

/** Cuts connections of PgBouncer between a commit and its reply, and freezes the server behind it. */
export async function behindPgBouncer(harness: Harness): Promise<Row[]> {
  const server = await startPostgres();
  const link = await startFaultProxy(server.port, () => 'cut before a response');
  const bouncer = await startPgBouncer(link);
  const what = 'postgres behind PgBouncer, connections cut and server frozen';
  const fail = async (stage: Stage) => {
    await sleep(2000);
    server.pause();
    await sleep(2000 + Math.random() * 3500);
    server.resume();
    await whenBack(stage);
  };
  const prepare = () => server.query(AN_HOUR_LATER);
  const play = { store: bouncer.url, prepare, fail, isAllKnown: true };
  const rows = await underLoad(harness, what, play);
  const isRunning = bouncer.isRunning();
  const measured = isRunning ? 'it runs' : 'it has ended';
  return [...rows, { claim: `${what}: PgBouncer goes on`, measured, holds: isRunning }];
}
