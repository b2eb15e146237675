import { setTimeout as sleep } from 'node:timers/promises';
import { keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import { type Harness, type Row, type RunningGateway, type Scenario, until } from '../harness.ts';
import { warmUp } from '../load.ts';
import { type Exchange, succeed } from '../service.ts';
import { tally } from '../statistics.ts';

/** Fewer than one caller may have in flight: three quarters of 256. */
const READS = 150;
const WRITES = 100;

/** When clients disconnect, their reads are cancelled and their writes run to their end. */
export const clientDisconnect: Scenario = {
  name: 'client-disconnect',
  async run(harness) {
    return [...(await disconnectFromReads(harness)), ...(await disconnectFromWrites(harness))];
  },
};

async function disconnectFromReads(harness: Harness): Promise<Row[]> {
  const service = await harness.startService(succeed);
  const gateway = await harness.startGateway(service);
  await warmUp(gateway.url, harness.token, keepAliveAgent(harness), readQuery('warm'), 2);
  service.behaviour = () => {};
  const client = new AbortController();
  const requests: Promise<unknown>[] = [];
  for (let n = 0; n < READS; n++) {
    const query = readQuery(`disconnect-${n}`);
    requests.push(post(gateway.url, harness.token, query, { signal: client.signal }));
    await sleep(5); // All at once would be an overload, which is another scenario.
  }
  const arrived = await until(() => service.open.size === READS, 5000);
  const open = service.open.size;
  const start = performance.now();
  client.abort();
  const cancelled = await until(() => service.open.size === 0, 5000);
  const ms = performance.now() - start;
  await Promise.all(requests);
  const isIdle = async () => (await gateway.metric('ledger_gateway_calls_in_flight')) === 0;
  const idle = await until(isIdle, 1000);

  service.behaviour = succeed;
  const next = outcomeOf(await post(gateway.url, harness.token, readQuery('after')));
  return [
    {
      claim: `clients of ${READS} reads disconnect: all reads are cancelled within 1 s`,
      measured: cancelled
        ? `${ms.toFixed(0)} ms (${open} were open)`
        : `${service.open.size} are open after 5 s`,
      holds: arrived && cancelled && ms <= 1000,
    },
    {
      claim: 'nothing stays in flight, and the next read is served',
      measured: `${await gateway.metric('ledger_gateway_calls_in_flight')} in flight, ${next}`,
      holds: idle && next === 'GlCodeList',
    },
  ];
}

async function disconnectFromWrites(harness: Harness): Promise<Row[]> {
  const held: Exchange[] = [];
  const service = await harness.startService((exchange) => void held.push(exchange));
  const gateway = await harness.startGateway(service);
  const client = new AbortController();
  const ids = Array.from({ length: WRITES }, (_, n) => `disconnect-${n}`);
  const requests = ids.map((id) =>
    post(gateway.url, harness.token, writeMutation(id), { signal: client.signal, requestId: id }),
  );
  const arrived = await until(() => held.length === WRITES, 5000);
  client.abort();
  await Promise.all(requests);
  // The gateway must notice the disconnects before the service responds.
  await until(
    async () =>
      (await gateway.metric('ledger_gateway_http_requests_total', { status: '499' })) >= WRITES,
    3000,
  );
  const interrupted = held.filter(({ response }) => response.destroyed).length;
  for (const exchange of held) succeed(exchange);

  await until(() => loggedWrites(gateway, ids) === WRITES, 5000);
  const logged = loggedWrites(gateway, ids);
  const outcomes = callLines(gateway).map(({ outcome }) => outcome ?? 'other');
  const once = ids.filter((id) => service.seen.get(id) === 1).length;
  return [
    {
      claim: `clients of ${WRITES} writes disconnect: each write arrives once and runs to its end`,
      measured: `${once} arrived once, ${interrupted} interrupted`,
      holds: arrived && once === WRITES && interrupted === 0,
    },
    {
      claim: 'each of them is logged at level warn with its requestId and outcome',
      measured: `${logged} of ${WRITES} (${tally(outcomes)})`,
      holds: logged === WRITES,
    },
  ];
}

function callLines({ logs }: RunningGateway) {
  return logs.filter(({ msg }) => msg === 'call');
}

/** How many of the writes have a log line at level `warn` that reports a response of the service. */
function loggedWrites(gateway: RunningGateway, ids: string[]): number {
  const logged = callLines(gateway)
    .filter(({ level, outcome }) => level === 40 && outcome === 'answered')
    .map(({ requestId }) => requestId);
  return ids.filter((id) => logged.includes(id)).length;
}
