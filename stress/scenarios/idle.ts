import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { type Behaviour, succeed } from '../service.ts';
import { reconcile, tally } from '../statistics.ts';

type Case = {
  /** What the service does with its idle connections. */
  name: string;
  /** The keep-alive timeout that the service announces, in seconds; 0 announces none. */
  keepAliveS: number;
  /** When the service closes an idle connection without notice, in milliseconds. */
  closeAfterMs?: number;
  writes: number;
  /** The pause after the n-th write, in milliseconds, close to the moment of closing. */
  pauseMs: (n: number) => number;
};

const cases: Case[] = [
  {
    name: 'closed after 4 ms',
    keepAliveS: 0,
    closeAfterMs: 4,
    writes: 1000,
    pauseMs: (n) => 1 + (n % 6),
  },
  {
    name: 'closed after 15 ms',
    keepAliveS: 0,
    closeAfterMs: 15,
    writes: 1000,
    pauseMs: (n) => 12 + (n % 6),
  },
  {
    name: 'announced for 5 s and closed after 4 ms',
    keepAliveS: 5,
    closeAfterMs: 4,
    writes: 1000,
    pauseMs: (n) => 1 + (n % 6),
  },
  {
    // The gateway relies on them for one second. Every 40th write is sent around that moment.
    name: 'announced for 2 s and kept open',
    keepAliveS: 2,
    writes: 400,
    pauseMs: (n) => (n % 40 === 0 ? 985 + n / 10 : 2),
  },
];

/** A connection that the service closes just as a write is sent does not cause an unknown outcome. */
export const idle: Scenario = {
  name: 'idle',
  async run(harness) {
    const rows: Row[] = [];
    for (const idleCase of cases) rows.push(...(await measure(harness, idleCase)));
    return rows;
  },
};

/** Sends writes with pauses close to the time after which idle connections are closed. */
async function measure(harness: Harness, { name, writes, pauseMs, ...idleCase }: Case) {
  const connections = new Set<Socket>();
  const behaviour = closeIdle(connections, idleCase.closeAfterMs);
  const service = await harness.startService(behaviour, idleCase.keepAliveS);
  const gateway = await harness.startGateway(service);
  const agent = keepAliveAgent(harness);
  const { token } = harness;

  const outcomes = new Map<string, string>();
  const reads: Promise<string>[] = [];
  for (let n = 0; n < writes; n++) {
    // Reads leave idle connections behind, as they do in production.
    if (n % 10 === 0) {
      reads.push(post(gateway.url, token, readQuery(`idle-${n}`), { agent }).then(outcomeOf));
    }
    const id = `idle-${name}-${n}`;
    outcomes.set(id, outcomeOf(await post(gateway.url, token, writeMutation(id), { agent })));
    await sleep(pauseMs(n));
  }
  const { mismatches, unknown } = reconcile(outcomes, service.seen);
  const once = [...outcomes.keys()].filter((id) => service.seen.get(id) === 1).length;
  const readOutcomes = await Promise.all(reads);
  return [
    {
      claim: `connections ${name}, ${writes} writes: no unknown outcome`,
      measured: `${unknown} unknown (${tally(outcomes.values())}), on ${connections.size} connections`,
      holds: unknown === 0,
    },
    {
      claim: 'the service sees each write exactly once',
      measured: `${once} of ${writes}, ${mismatches.length} mismatches`,
      holds: once === writes && mismatches.length === 0,
    },
    {
      claim: 'reads in between are served',
      measured: tally(readOutcomes),
      holds: readOutcomes.every(isSuccess),
    },
  ];
}

/** Succeeds, and closes connections that were idle for a time. Collects the connections of writes. */
function closeIdle(connections: Set<Socket>, closeAfterMs: number | undefined): Behaviour {
  const timers = new WeakMap<Socket, NodeJS.Timeout>();
  return (exchange) => {
    const { socket } = exchange.request;
    if (exchange.path !== 'getGLCodes5') connections.add(socket);
    clearTimeout(timers.get(socket));
    if (closeAfterMs !== undefined) {
      exchange.response.once('finish', () => {
        timers.set(
          socket,
          setTimeout(() => socket.destroy(), closeAfterMs),
        );
      });
    }
    succeed(exchange);
  };
}
