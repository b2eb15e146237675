import { connect, type Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { startRedis } from '../../testkit/redis.ts';
import { type Attack, attacks, type Needs, respond, type Send } from '../attacks.ts';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import {
  type Harness,
  type Row,
  type RunningGateway,
  type Scenario,
  startService,
  until,
} from '../harness.ts';
import { numbers, openLoop } from '../load.ts';
import { residentMb } from '../process.ts';
import { percentile, tally } from '../statistics.ts';

/** What is promised to other callers (docs/reference/limits.md), in milliseconds, in a container of so much memory. */
const MAX_P95_MS = 1000;
const MAX_MS = 3000;
const MEMORY_MB = 512;

/** What one client sends does not take the gateway from other callers. */
export const oneCaller: Scenario = {
  name: 'one-caller',
  async run(harness) {
    const rows: Row[] = [];
    const [from = 0, to = attacks.length] = (process.env.STRESS_ATTACKS ?? '')
      .split(',')
      .filter(Boolean)
      .map(Number);
    for (const attack of attacks.slice(from, to)) {
      const row = await measure(harness, attack);
      process.stdout.write(`${row.holds ? 'pass' : 'FAIL'} ${attack.name}: ${row.measured}\n`);
      rows.push(row);
    }
    return rows;
  },
};

async function measure(harness: Harness, { name, needs, run }: Attack): Promise<Row> {
  const { isRedis, callers = ['attacker'], serviceMs } = needs;
  const service = await startService(respond(serviceMs));
  const redis = isRedis && (await startRedis());
  const { STRESS_READ_CACHE_S: READ_CACHE_S = '0' } = process.env;
  const store = redis && { IDEMPOTENCY_STORE: redis.url };
  const variables = { READ_CACHE_S, ...needs.variables, ...store };
  const gateway = await harness.startGateway(service, variables, { memoryMb: MEMORY_MB });
  const [token = '', ...tokens] = await Promise.all(
    callers.map((sub) => harness.issuer.token({ sub })),
  );
  const sockets = new Set<Socket>();
  const send: Send = (text, isRead) => {
    const socket = sendTo(gateway, text, isRead);
    sockets.add(socket.once('close', () => sockets.delete(socket)));
    return socket;
  };
  const row = await observe(harness, gateway, name, needs, () => run(send, token, ...tokens));
  for (const socket of sockets) socket.destroy();
  await gateway.kill();
  return row;
}

function sendTo(gateway: RunningGateway, text: string | Buffer, isRead = false): Socket {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}); // The gateway may close the connection.
  if (isRead) socket.resume();
  socket.write(text);
  return socket;
}

/**
 * Starts an attack, sends requests of another caller at a fixed rate, and measures the memory of the gateway, and how long
 * this process was busy at most, which it measures as latency.
 */
async function observe(
  harness: Harness,
  gateway: RunningGateway,
  name: string,
  { perSecond, seconds, writes = false }: Needs,
  attack: () => Promise<unknown>,
): Promise<Row> {
  const token = await harness.issuer.token({ sub: 'bystander' });
  const agent = keepAliveAgent();
  const request = (n: number) => {
    const id = `bystander-${n}`;
    const isWrite = writes && n % 2 !== 0;
    return post(gateway.url, token, isWrite ? writeMutation(id) : readQuery(id), {
      agent,
      signal: AbortSignal.timeout(20_000),
      ...(isWrite && { idempotencyKey: id, ageMs: 0 }),
    });
  };
  await Promise.all(numbers(10).map((n) => request(-n)));
  // A new Redis store waits some seconds for other instances to object.
  const isReady = async () => !writes || isSuccess(outcomeOf(await request(-11)));
  if (!(await until(isReady, 10_000))) throw new Error('The store accepts no key');
  const outcomes: string[] = [];
  const ms: number[] = [];
  let peakMb = 0;
  const attacking = attack();
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const sampling = setInterval(() => {
    peakMb = Math.max(peakMb, residentMb(gateway.pid));
  }, 50);
  await openLoop(perSecond, seconds, async (n) => {
    const response = await request(n);
    outcomes.push(outcomeOf(response));
    ms.push(response.ms);
  });
  clearInterval(sampling);
  delay.disable();
  await attacking;
  const [p95, longest, busy] = [percentile(ms, 0.95), Math.max(...ms), delay.max / 1e6];
  return {
    claim: `${name}: each request of another caller is served, 95 % within 1 s, all within 3 s, with less than ${MEMORY_MB} MB`,
    measured: `${tally(outcomes)}; p95 ${p95.toFixed(0)} ms, the longest ${longest.toFixed(0)} ms (up to ${busy.toFixed(0)} ms caused by this process); ${peakMb.toFixed(0)} MB`,
    holds:
      outcomes.length > 0 &&
      outcomes.every(isSuccess) &&
      p95 <= MAX_P95_MS &&
      longest <= MAX_MS &&
      peakMb < MEMORY_MB,
  };
}
