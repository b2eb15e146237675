import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../../testkit/postgres.ts';
import { type Harness, type Row, until } from '../harness.ts';
import { CLIENTS } from '../intents/settled-intents.ts';
import { REPETITIONS, type Stage, TIMEOUT_MS, underLoad, whenBack } from './stage.ts';

/** Empties the table under load, by a DELETE, which takes a while, and by TRUNCATE in turns. */
export async function emptyPostgres(harness: Harness): Promise<Row[]> {
  const server = await startPostgres();
  const what = 'postgres, table emptied by DELETE or TRUNCATE';
  const fail = async (stage: Stage, n: number) => {
    const statement =
      n % 2 === 0
        ? 'BEGIN; DELETE FROM ledger_gateway_record; SELECT pg_sleep(0.3); COMMIT'
        : 'TRUNCATE ledger_gateway_record';
    // PostgreSQL may choose the DELETE as the victim of a deadlock.
    await server.query(statement).catch(() => {});
    stage.lossesAt.push(performance.now());
    await whenBack(stage);
    await sleep(2000);
  };
  return underLoad(harness, what, { store: server.url, fail });
}

/** Rolls the retention from a day to an hour and back, while clients repeat requests that were sent before that hour. */
export async function rollRetention(harness: Harness): Promise<Row[]> {
  const server = await startPostgres();
  const ages: ((olderMs: number) => void)[] = [];
  let isOver = false;
  const ageing = () => new Promise<number>((resolve) => (isOver ? resolve(0) : ages.push(resolve)));
  const fail = async (stage: Stage, n: number) => {
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
  const play = { store: server.url, count: 2, fail, ageing };
  return underLoad(harness, 'postgres, retention rolled', play);
}

/** Makes all records, and that of completeness, older than they are. It began long before them. */
export const AN_HOUR_LATER = `UPDATE ledger_gateway_record SET expires_at = expires_at - interval '3610 s',
  version = CASE key WHEN 'complete-since' THEN split_part(version, ':', 1) || ':' || pg_current_xact_id()::xid
    ELSE version END,
  text = CASE key WHEN 'complete-since' THEN (text::jsonb || jsonb_build_object(
    'since', (text::jsonb->'since')::float8 - 3670000,
    'longerSince', (text::jsonb->'longerSince')::float8 - CASE text::jsonb->'since'
      WHEN text::jsonb->'longerSince' THEN 3670000 ELSE 3610000 END))::text ELSE text END`;
