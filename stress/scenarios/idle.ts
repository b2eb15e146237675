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

/** A connection that the service drops just as a write leaves is no unknown outcome. */
export const idle: Scenario = {
  name: 'idle',
  async run(world) {
    return [...(await measure(world, 4, 1000)), ...(await measure(world, 15, 1000))];
  },
};

/** Writes every few milliseconds around the moment that connections are dropped for idling. */
async function measure(world: World, idleMs: number, count: number): Promise<Row[]> {
  const timers = new WeakMap<Socket, NodeJS.Timeout>();
  const service = await world.startService((call) => {
    const { socket } = call.request;
    clearTimeout(timers.get(socket));
    call.response.once('finish', () => {
      timers.set(
        socket,
        setTimeout(() => socket.destroy(), idleMs),
      );
    });
    fine(call);
  });
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
    const id = `idle-${idleMs}-${n}`;
    told.set(id, outcomeOf(await post(gateway.url, token, writeOf(id), { agent })));
    await sleep(Math.max(1, idleMs - 3 + (n % 6)));
  }
  const { wrong, unknown } = reconcile(told, service.seen);
  const once = [...told.keys()].filter((id) => service.seen.get(id) === 1).length;
  const readOutcomes = await Promise.all(reads);
  return [
    {
      claim: `connections dropped after ${idleMs} ms, ${count} writes: no unknown outcome`,
      measured: `${unknown} unknown (${tally(told.values())})`,
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
