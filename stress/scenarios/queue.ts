import { setTimeout as sleep } from 'node:timers/promises';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { closedLoop, warmUp } from '../load.ts';
import { type Behaviour, succeed } from '../service.ts';
import { reconcile, tally } from '../statistics.ts';

const SECONDS = 8;
const PLACES = 8;
const RESPONSE_MS = 1000;
const loads: Load[] = [
  { readers: 100, writers: 10, callers: 10 },
  { readers: 50, writers: 150, callers: 10 },
  { readers: 60, writers: 140, callers: 1 },
];
/** The outcomes of calls that were not served. A busy machine may cause load shedding, too. */
const REJECTIONS = ['UPSTREAM_BUSY', 'OVERLOADED'];

const respondSlowly: Behaviour = (exchange) => void setTimeout(succeed, RESPONSE_MS, exchange);

/** With more clients than places, the service stays busy, and what waits too long is rejected before sending. */
export const queue: Scenario = {
  name: 'queue',
  async run(harness) {
    const rows: Row[] = [];
    for (const load of loads) rows.push(...rowsOf(await sendLoad(harness, load), load));
    return rows;
  },
};

type Load = { readers: number; writers: number; callers: number };
type Result = { reads: string[]; writes: Map<string, string>; seen: Map<string, number> };

async function sendLoad(harness: Harness, { readers, writers, callers }: Load): Promise<Result> {
  const service = await harness.startService(respondSlowly);
  const gateway = await harness.startGateway(service, {
    UPSTREAM_MAX_CONCURRENCY: String(PLACES),
  });
  const agent = keepAliveAgent(harness);
  const tokens = await Promise.all(
    Array.from({ length: callers }, (_, n) => harness.issuer.token({ sub: `caller-${n}` })),
  );
  await warmUp(gateway.url, tokens[0] ?? '', agent);
  const send = async (n: number, query: string) => {
    const outcome = outcomeOf(await post(gateway.url, tokens[n % callers] ?? '', query, { agent }));
    if (outcome === 'OVERLOADED') await sleep(1000); // As its Retry-After says.
    return outcome;
  };
  const reads: string[] = [];
  const writes = new Map<string, string>();
  await Promise.all([
    closedLoop(readers, SECONDS, async (n) => {
      reads.push(await send(n, readQuery(`p${n}`)));
    }),
    closedLoop(writers, SECONDS, async (n) => {
      const id = `queue-${callers}-${readers}-${n}`;
      writes.set(id, await send(n, writeMutation(id)));
    }),
  ]);
  return { reads, writes, seen: service.seen };
}

function rowsOf({ reads, writes, seen }: Result, { readers, writers, callers }: Load): Row[] {
  const load = `${readers} readers, ${writers} writers, ${callers === 1 ? 'of one caller' : `of ${callers} callers`}`;
  const outcomes = [...reads, ...writes.values()];
  // A caller alone leaves a quarter of the places to others.
  const possible = (PLACES * SECONDS * 1000 * (callers === 1 ? 0.75 : 1)) / RESPONSE_MS;
  const { mismatches } = reconcile(writes, seen);
  return [
    {
      claim: `${PLACES} places, responses after ${RESPONSE_MS} ms, ${load}: the service stays busy, and no call is rejected by an open circuit or times out`,
      measured: `reads: ${tally(reads)}; writes: ${tally([...writes.values()])}; ${possible} possible`,
      holds:
        served(outcomes) >= possible * 0.9 &&
        outcomes.every((outcome) => isSuccess(outcome) || REJECTIONS.includes(outcome)),
    },
    {
      claim: `${load}: a write with UPSTREAM_BUSY was not sent`,
      measured: `${writes.size} writes, ${mismatches.length} mismatches`,
      holds: mismatches.length === 0,
    },
    {
      claim: `${load}: reads get a quarter of the places (at least a fifth of the served calls)`,
      measured: `${served(reads)} reads, ${served(writes.values())} writes`,
      holds: served(reads) >= served(outcomes) / 5,
    },
  ];
}

function served(outcomes: Iterable<string>): number {
  return [...outcomes].filter(isSuccess).length;
}
