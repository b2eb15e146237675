import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Call,
  fine,
  keptConnections,
  outcomeOf,
  post,
  type Row,
  readOf,
  type Scenario,
  tally,
  until,
  type World,
  warmUp,
  writeOf,
} from '../harness.ts';

const READS = 200;
const WRITES = 100;

/** Callers who go away: their reads end, and their writes do not. */
export const gone: Scenario = {
  name: 'gone',
  async run(world) {
    return [...(await dropReads(world)), ...(await dropWrites(world))];
  },
};

async function dropReads(world: World): Promise<Row[]> {
  const service = await world.startService(fine);
  const gateway = await world.startGateway(service);
  await warmUp(gateway.url, world.token, keptConnections(world), readOf('warm'), 2);
  service.behaviour = () => {};
  const leaving = new AbortController();
  const asked: Promise<unknown>[] = [];
  for (let n = 0; n < READS; n++) {
    asked.push(post(gateway.url, world.token, readOf(`gone-${n}`), { signal: leaving.signal }));
    await sleep(5); // All at once would be an overload, which is another scenario.
  }
  const arrived = await until(() => service.open.size === READS, 5000);
  const open = service.open.size;
  const start = performance.now();
  leaving.abort();
  const ended = await until(() => service.open.size === 0, 5000);
  const ms = performance.now() - start;
  await Promise.all(asked);
  const isIdle = async () => (await gateway.metric('ledger_gateway_calls_in_flight')) === 0;
  const idle = await until(isIdle, 1000);

  service.behaviour = fine;
  const next = outcomeOf(await post(gateway.url, world.token, readOf('after')));
  return [
    {
      claim: `${READS} reads are dropped: all end at the service within 1 s`,
      measured: ended
        ? `${ms.toFixed(0)} ms (${open} were open)`
        : `${service.open.size} are open after 5 s`,
      holds: arrived && ended && ms <= 1000,
    },
    {
      claim: 'nothing is left in flight, and the next read is served',
      measured: `${await gateway.metric('ledger_gateway_calls_in_flight')} in flight, ${next}`,
      holds: idle && next === 'GlCodeList',
    },
  ];
}

async function dropWrites(world: World): Promise<Row[]> {
  const held: Call[] = [];
  const service = await world.startService((call) => void held.push(call));
  const gateway = await world.startGateway(service);
  const leaving = new AbortController();
  const ids = Array.from({ length: WRITES }, (_, n) => `gone-${n}`);
  const asked = ids.map((id) =>
    post(gateway.url, world.token, writeOf(id), { signal: leaving.signal, requestId: id }),
  );
  const arrived = await until(() => held.length === WRITES, 5000);
  leaving.abort();
  await Promise.all(asked);
  // The gateway notices that they are gone before the service answers.
  await until(
    async () =>
      (await gateway.metric('ledger_gateway_http_requests_total{status="499"}')) >= WRITES,
    3000,
  );
  const broken = held.filter(({ response }) => response.destroyed).length;
  for (const call of held) fine(call);

  const calls = () => gateway.logs.filter(({ msg }) => msg === 'call');
  const logged = () =>
    ids.filter((id) =>
      calls().some(
        ({ level, requestId, outcome }) =>
          level === 40 && requestId === id && outcome === 'answered',
      ),
    ).length;
  await until(() => logged() === WRITES, 5000);
  const once = ids.filter((id) => service.seen.get(id) === 1).length;
  return [
    {
      claim: `${WRITES} writes are dropped: all arrive once and run to their end`,
      measured: `${once} arrived once, ${broken} broken off`,
      holds: arrived && once === WRITES && broken === 0,
    },
    {
      claim: 'and each is logged at warn with its requestId and outcome',
      measured: `${logged()} of ${WRITES} (${tally(calls().map(({ outcome }) => outcome ?? 'other'))})`,
      holds: logged() === WRITES,
    },
  ];
}
