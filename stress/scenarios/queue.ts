import { setTimeout as sleep } from 'node:timers/promises';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { closedLoop, warmUp } from '../load.ts';
import { type Behaviour, succeed } from '../service.ts';
import { reconcile, tally } from '../statistics.ts';

const SECONDS = 8;
const PLACES = 8;
const RESPONSE_MS = 1000;
const CALLERS = 10;
/** The outcomes of calls that were not served. A busy machine may cause load shedding, too. */
const REJECTIONS = ['UPSTREAM_BUSY', 'OVERLOADED'];
/** Calls that the service can respond to while the clients send. */
const POSSIBLE = (PLACES * SECONDS * 1000) / RESPONSE_MS;

const respondSlowly: Behaviour = (exchange) => void setTimeout(succeed, RESPONSE_MS, exchange);

/** With more clients than places, the service stays busy, and what waits too long is rejected before sending. */
export const queue: Scenario = {
  name: 'queue',
  async run(harness) {
    const readers = await sendLoad(harness, { readers: 100, writers: 10 });
    const writers = await sendLoad(harness, { readers: 50, writers: 150 });
    return [
      ...rowsOf(readers, '100 readers, 10 writers'),
      ...rowsOf(writers, '50 readers, 150 writers'),
      {
        claim: '50 readers, 150 writers: at least a quarter of the served calls are reads',
        measured: `${served(writers.reads)} reads, ${served(writers.writes.values())} writes`,
        holds:
          served(writers.reads) >= (served(writers.reads) + served(writers.writes.values())) / 4,
      },
    ];
  },
};

type Load = { readers: number; writers: number };
type Result = { reads: string[]; writes: Map<string, string>; seen: Map<string, number> };

async function sendLoad(harness: Harness, { readers, writers }: Load): Promise<Result> {
  const service = await harness.startService(respondSlowly);
  const gateway = await harness.startGateway(service, {
    UPSTREAM_MAX_CONCURRENCY: String(PLACES),
  });
  const agent = keepAliveAgent(harness);
  const tokens = await Promise.all(
    Array.from({ length: CALLERS }, (_, n) => harness.issuer.token({ sub: `caller-${n}` })),
  );
  await warmUp(gateway.url, tokens[0] ?? '', agent);
  const send = async (n: number, query: string) => {
    const outcome = outcomeOf(await post(gateway.url, tokens[n % CALLERS] ?? '', query, { agent }));
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
      const id = `queue-${readers}-${n}`;
      writes.set(id, await send(n, writeMutation(id)));
    }),
  ]);
  return { reads, writes, seen: service.seen };
}

function rowsOf({ reads, writes, seen }: Result, load: string): Row[] {
  const outcomes = [...reads, ...writes.values()];
  const { mismatches } = reconcile(writes, seen);
  return [
    {
      claim: `${PLACES} places, responses after ${RESPONSE_MS} ms, ${load}: the service stays busy, and no call is rejected by an open circuit or times out`,
      measured: `reads: ${tally(reads)}; writes: ${tally([...writes.values()])}; ${POSSIBLE} possible`,
      holds:
        served(outcomes) >= POSSIBLE * 0.9 &&
        outcomes.every((outcome) => isSuccess(outcome) || REJECTIONS.includes(outcome)),
    },
    {
      claim: `${load}: a write with UPSTREAM_BUSY was not sent`,
      measured: `${writes.size} writes, ${mismatches.length} mismatches`,
      holds: mismatches.length === 0,
    },
  ];
}

function served(outcomes: Iterable<string>): number {
  return [...outcomes].filter(isSuccess).length;
}
