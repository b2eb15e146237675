import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { freePort } from '../../testkit/port.ts';
import { type Reply, reply, success } from '../../testkit/service.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { isSuccess, keepAliveAgent, outcomeOf, post, readQuery, writeMutation } from '../client.ts';
import { startHaproxy } from '../haproxy.ts';
import {
  after,
  type Harness,
  type Row,
  type RunningGateway,
  type Scenario,
  startService,
  until,
} from '../harness.ts';
import { forEach, numbers, openLoop } from '../load.ts';
import { isConsistent, percentile, tally, withExamples } from '../statistics.ts';

/*
 * Reads and writes beside a fault of the service, of connections, of clients, of the log or of the gateway itself, and what
 * must hold. Outcomes of writes always agree with what the service received.
 */

type Sample = { id: string; isWrite: boolean; at: number; ms: number; outcome: string };

/** Sends reads and writes, each with an id of its own, and keeps their outcomes. */
function createLoad(harness: Harness, url: string, { seen }: Service) {
  const samples: Sample[] = [];
  const agent = keepAliveAgent();
  const outcomes = () => samples.map(({ outcome }) => outcome);
  return {
    samples,
    agent,
    outcomes,
    /** Connects, and lets the code of reads be compiled. */
    async warmUp(): Promise<void> {
      const query = readQuery('warm');
      await forEach(50, numbers(150), () => post(url, harness.token, query, { agent }));
    },

    async send(
      id: string,
      isWrite: boolean,
      options: Parameters<typeof post>[3] = {},
    ): Promise<Sample> {
      const at = performance.now();
      const query = isWrite ? writeMutation(id) : readQuery(id);
      const response = await post(url, harness.token, query, { agent, ...options });
      const sample = { id, isWrite, at, ms: response.ms, outcome: outcomeOf(response) };
      samples.push(sample);
      return sample;
    },

    /** Every outcome of a write agrees with what the service received; with `once`, it received each of them. */
    agreement(name: string, once = false): Row {
      const writes = samples.filter(({ isWrite }) => isWrite);
      const timesOf = ({ id }: Sample) => seen.get(id) ?? 0;
      const arrived = writes.filter((write) => timesOf(write) === 1).length;
      const unknown = writes.filter(({ outcome }) => outcome === 'LedgerOutcomeUnknown').length;
      const mismatches = writes
        .filter((write) => !isConsistent(write.outcome, timesOf(write)))
        .map((write) => `${write.outcome}, seen ${timesOf(write)} times`);
      return {
        claim: `${name}: every outcome of a write agrees with what the service received${once ? ', each once' : ''}`,
        measured: withExamples(
          `${writes.length} writes, ${arrived} arrived once, ${unknown} unknown, ${mismatches.length} mismatches`,
          mismatches,
        ),
        holds: mismatches.length === 0 && writes.length > 0 && (!once || arrived === writes.length),
      };
    },

    /** Every request is served. */
    served(name: string, count: number): Row {
      const all = outcomes();
      const ms = samples.map((sample) => sample.ms);
      return {
        claim: `${name}: each of at least ${count} reads and writes is served`,
        measured: `${tally(all)}; p99 ${percentile(ms, 0.99).toFixed(0)} ms`,
        holds: all.length >= count && all.every(isSuccess),
      };
    },
  };
}

type Service = Awaited<ReturnType<typeof startCounting>>;

/** Starts a service that counts requests, and how often each write arrives, by its id. Its reply may be replaced. */
async function startCounting(initial: Reply, keepAliveS?: number) {
  const service = { calls: 0, seen: new Map<string, number>(), reply: initial };
  const { url } = await startService((response, received) => {
    service.calls += 1;
    const id = /"description":"([^"]+)"/.exec(received.body)?.[1];
    if (id !== undefined) service.seen.set(id, (service.seen.get(id) ?? 0) + 1);
    service.reply(response, received);
  }, keepAliveS);
  return Object.assign(service, { url });
}

async function start(
  harness: Harness,
  behaviour: Reply,
  variables: Record<string, string> = {},
  { keepAliveS, ...options }: { keepAliveS?: number; stdout?: number } = {},
) {
  const service = await startCounting(behaviour, keepAliveS);
  const gateway = await harness.startGateway(service, variables, options);
  return { service, gateway, load: createLoad(harness, gateway.url, service) };
}

const unavailable = reply(503);
const reset: Reply = (response) => response.socket?.resetAndDestroy();
const neverRespond: Reply = () => {};
const TIMEOUT_MS = 1000;
const TOLERANCE_MS = 250;
const bomb = gzipSync(Buffer.alloc(64 * 1_048_576));
const sendBomb: Reply = (response) =>
  response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
const trickle: Reply = (response) => {
  response.write('{');
  const timer = setInterval(() => response.write(' '), 20);
  response.once('close', () => clearInterval(timer));
};

/** What the service does, and how many requests are sent at once, half of them writes. */
const late: [name: string, Reply, count: number][] = [
  ['never responds', neverRespond, 50],
  ['responds 503 late', after(TIMEOUT_MS * 0.4, unavailable), 50],
  ['sends a byte at a time', trickle, 50],
  ['responds with a decompression bomb', sendBomb, 60],
];

/** The deadline ends an operation until it decodes: no response comes later than the deadline and 250 ms. */
async function deadline(harness: Harness): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, behaviour, count] of late) {
    const variables = { UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS) };
    const { service, gateway, load } = await start(harness, success, variables);
    await load.warmUp();
    service.reply = behaviour;
    await Promise.all(numbers(count).map((n) => load.send(`p${n}`, n % 2 === 0)));
    await gateway.kill(); // It would take CPU time from the next one.
    const longest = Math.max(...load.samples.map(({ ms }) => ms));
    rows.push({
      claim: `${count} requests to a service that ${name}: the last response within ${TIMEOUT_MS} + ${TOLERANCE_MS} ms`,
      measured: `${longest.toFixed(0)} ms (${tally(load.outcomes())})`,
      holds: longest <= TIMEOUT_MS + TOLERANCE_MS && !load.outcomes().includes('no response'),
    });
  }
  return rows;
}

/** The duration of each kind of outage. */
const KIND_MS = 7000;

/** An outage does not multiply the load, clients learn of it at once, and the gateway recovers. */
async function outage(harness: Harness): Promise<Row[]> {
  // Short, so that requests without a response end during their outage.
  const { service, gateway, load } = await start(harness, success, { UPSTREAM_TIMEOUT_MS: '2000' });
  await load.warmUp();
  const sending = openLoop(100, (3 * KIND_MS) / 1000 + 14, (n) =>
    load.send(`outage-${n}`, n % 5 === 0),
  );
  await sleep(2000);
  const before = service.calls;
  const started = performance.now();
  for (const kind of [neverRespond, reset, unavailable]) {
    service.reply = kind;
    await sleep(KIND_MS);
  }
  const calls = service.calls - before;
  service.reply = success;
  const ended = performance.now();
  const isClosed = async () => (await gateway.metric('ledger_gateway_circuit_state')) === 0;
  const closes = await until(isClosed, 10_000);
  const closedMs = performance.now() - ended;
  await sending;
  const during = load.samples.filter(({ at }) => at >= started && at < ended);
  const rejected = during.filter(({ outcome }) => outcome === 'UPSTREAM_UNAVAILABLE');
  const after = load.samples.filter(({ at }) => at >= ended + closedMs + 100);
  const rejectedMs = rejected.map(({ ms }) => ms);
  const p99 = percentile(rejectedMs, 0.99);
  return [
    {
      claim:
        'an outage of 21 s (no response, resets, 503): at most 1.1 requests to the service per request, rejections within 100 ms (p99)',
      measured: `${(calls / during.length).toFixed(3)} (${calls} for ${during.length}); ${rejected.length} rejected, ${p99.toFixed(1)} ms`,
      holds:
        calls <= during.length * 1.1 &&
        during.length > 1500 &&
        p99 <= 100 &&
        rejected.length > during.length / 2,
    },
    {
      claim: 'the circuit closes within 10 s of recovery; after that, every request is served',
      measured: `${(closedMs / 1000).toFixed(1)} s, ${tally(after.map(({ outcome }) => outcome))}`,
      holds: closes && after.length > 0 && after.every(({ outcome }) => isSuccess(outcome)),
    },
    load.agreement('an outage'),
  ];
}

/** A connection that the service closes just as a write is sent does not cause an unknown outcome. */
async function idle(harness: Harness): Promise<Row[]> {
  const writes = 400;
  const { load } = await start(harness, success, {}, { keepAliveS: 2 });
  const reads: Promise<Sample>[] = [];
  for (const n of numbers(writes)) {
    // Reads leave idle connections behind, as they do in production.
    if (n % 10 === 0) reads.push(load.send(`idle-${n}`, false));
    await load.send(`idle-${n}`, true);
    // The gateway relies on a connection that is announced for 2 s for one second.
    await sleep(n % 40 === 0 ? 985 + n / 10 : 2);
  }
  await Promise.all(reads);
  const name = 'connections that are announced for 2 s';
  return [load.served(name, writes), load.agreement(name, true)];
}

/** A pipe to which the log is written and that nobody reads does not block the gateway. */
async function logReader(harness: Harness): Promise<Row[]> {
  const pipe = `${await temporaryFolder()}/pipe`;
  execFileSync('mkfifo', [pipe]);
  // For reading and writing, because opening it for one of them waits for the other.
  const stdout = openSync(pipe, 'r+');
  closeAfterTest(() => closeSync(stdout));
  const variables = { LOG_LEVEL: 'info', SHUTDOWN_DELAY_MS: '0', SHUTDOWN_TIMEOUT_MS: '3000' };
  const { gateway, load } = await start(harness, success, variables, { stdout });
  // Their log lines are more than a pipe and the gateway keep.
  await forEach(20, numbers(5000), (n) => load.send(`log-${n}`, n % 2 === 0));
  const dropped = await gateway.metric('ledger_gateway_log_lines_dropped_total');
  const stopped = performance.now();
  const exitCode = await gateway.stop();
  const ms = performance.now() - stopped;
  return [
    load.served('nobody reads the log', 5000),
    {
      claim: 'dropped lines are counted, and the process exits within SHUTDOWN_TIMEOUT_MS (3 s)',
      measured: `${dropped} lines; exit code ${exitCode} after ${ms.toFixed(0)} ms`,
      holds: dropped > 0 && exitCode === 0 && ms <= 3000,
    },
  ];
}

/** A rolling restart behind a load balancer with nothing configured but a health check loses no request. */
async function rolling(harness: Harness): Promise<Row[]> {
  const service = await startCounting((...exchange) => {
    setTimeout(success, 5 + Math.random() * 40, ...exchange);
  });
  const ports = [await freePort(), await freePort()];
  const startOn = (port: number) => harness.startGateway(service, { PORT: String(port) });
  const gateways = new Map<number, RunningGateway>();
  for (const port of ports) gateways.set(port, await startOn(port));
  const haproxy = await startHaproxy(ports);
  const load = createLoad(harness, haproxy.url, service);
  const exitCodes: unknown[] = [];
  const restart = async () => {
    await sleep(1000);
    for (const port of [...ports, ...ports]) {
      exitCodes.push(await gateways.get(port)?.stop());
      gateways.set(port, await startOn(port));
      const isSeen = await until(() => haproxy.isUp(port), 30_000);
      if (!isSeen) throw new Error('HAProxy does not see the restarted gateway');
    }
  };
  let isRestarting = true;
  const restarting = restart().finally(() => {
    isRestarting = false;
  });
  // Some on new connections and some on kept ones.
  while (isRestarting || load.samples.length < 2000) {
    const from = load.samples.length;
    await openLoop(80, 1, (n) => {
      const agent = n % 3 === 0 ? undefined : load.agent;
      return load.send(`rolling-${from + n}`, n % 2 === 0, { agent });
    });
  }
  await restarting;
  return [
    load.served('four restarts behind HAProxy', 2000),
    load.agreement('four restarts behind HAProxy', true),
    {
      claim: 'each gateway shuts down with exit code 0',
      measured: `exit codes ${exitCodes.join(', ')}`,
      holds: exitCodes.length === 4 && exitCodes.every((code) => code === 0),
    },
  ];
}

export const faults: Scenario[] = [
  { name: 'deadline', run: deadline },
  { name: 'outage', run: outage },
  { name: 'idle', run: idle },
  { name: 'log-reader', run: logReader },
  { name: 'rolling', run: rolling },
];
