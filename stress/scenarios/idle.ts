import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  fine,
  isSuccess,
  keptConnections,
  outcomeOf,
  post,
  type Row,
  readOf,
  reconcile,
  type Scenario,
  tally,
  type World,
  writeOf,
} from '../harness.ts';

type Case = {
  /** What the service does with its idle connections, in words. */
  what: string;
  /** For how long it says that it keeps them, in seconds; with 0 it says nothing. */
  announcedS: number;
  /** When it drops them without a word, in milliseconds. */
  idleMs?: number;
  count: number;
  /** How long the caller waits after the n-th write, in milliseconds: around the moment that matters. */
  gapMs: (n: number) => number;
};

const cases: Case[] = [
  {
    what: 'dropped after 4 ms',
    announcedS: 0,
    idleMs: 4,
    count: 1000,
    gapMs: (n) => 1 + (n % 6),
  },
  {
    what: 'dropped after 15 ms',
    announcedS: 0,
    idleMs: 15,
    count: 1000,
    gapMs: (n) => 12 + (n % 6),
  },
  {
    what: 'announced for 5 s and dropped after 4 ms',
    announcedS: 5,
    idleMs: 4,
    count: 1000,
    gapMs: (n) => 1 + (n % 6),
  },
  {
    // We rely on them for a second: every so often the next write comes just then.
    what: 'announced for 2 s and kept',
    announcedS: 2,
    count: 400,
    gapMs: (n) => (n % 40 === 0 ? 985 + n / 10 : 2),
  },
];

/** A connection that the service drops just as a write leaves is no unknown outcome. */
export const idle: Scenario = {
  name: 'idle',
  async run(world) {
    const rows: Row[] = [];
    for (const one of cases) rows.push(...(await measure(world, one)));
    return rows;
  },
};

/** Writes every few milliseconds around the moment that connections are dropped for idling. */
async function measure(world: World, { what, announcedS, idleMs, count, gapMs }: Case) {
  const timers = new WeakMap<Socket, NodeJS.Timeout>();
  const used = new Set<Socket>();
  const service = await world.startService((call) => {
    const { socket } = call.request;
    if (call.path !== 'getGLCodes5') used.add(socket);
    clearTimeout(timers.get(socket));
    if (idleMs !== undefined) {
      call.response.once('finish', () => {
        timers.set(
          socket,
          setTimeout(() => socket.destroy(), idleMs),
        );
      });
    }
    fine(call);
  }, announcedS);
  const gateway = await world.startGateway(service);
  const agent = keptConnections(world);
  const { token } = world;

  const told = new Map<string, string>();
  const reads: Promise<string>[] = [];
  for (let n = 0; n < count; n++) {
    // Reads leave idle connections behind, as they do beside writes.
    if (n % 10 === 0) {
      reads.push(post(gateway.url, token, readOf(`idle-${n}`), { agent }).then(outcomeOf));
    }
    const id = `idle-${what}-${n}`;
    told.set(id, outcomeOf(await post(gateway.url, token, writeOf(id), { agent })));
    await sleep(gapMs(n));
  }
  const { wrong, unknown } = reconcile(told, service.seen);
  const once = [...told.keys()].filter((id) => service.seen.get(id) === 1).length;
  const readOutcomes = await Promise.all(reads);
  return [
    {
      claim: `connections ${what}, ${count} writes: no unknown outcome`,
      measured: `${unknown} unknown (${tally(told.values())}), on ${used.size} connections`,
      holds: unknown === 0,
    },
    {
      claim: 'each is seen exactly once',
      measured: `${once} of ${count}, ${wrong.length} not as told`,
      holds: once === count && wrong.length === 0,
    },
    {
      claim: 'reads beside them are answered',
      measured: tally(readOutcomes),
      holds: readOutcomes.every(isSuccess),
    },
  ];
}
