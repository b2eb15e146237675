import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { operations } from '../../src/upstream/declarations.ts';
import { scopeOf, startOutcomes, upgradeToHq } from '../../test/support/upstream-call.ts';
import { endProcess } from '../../testkit/child-process.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { freePort } from '../../testkit/port.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { get } from '../client.ts';
import { type Row, type Scenario, until } from '../harness.ts';
import { forEach, numbers } from '../load.ts';
import { nginxCommand } from '../nginx.ts';
import { startChild } from '../process.ts';
import { withExamples } from '../statistics.ts';

/*
 * Writes at the worst moment: while the service closes idle connections, which it does not announce. They are sent by the part of
 * the gateway that calls the service, without a gateway, so that they leave when they should.
 */

const WRITES = 10_000;
/** How many senders there are, with connections of their own. */
const SENDERS = 100;
/** After how long the service closes an idle connection, and how often a service like Kestrel checks this, in milliseconds. */
const LIMIT_MS = 300;
const CHECK_MS = 100;

type Service = { url: string; arrivals(): Promise<Map<string, number>> };

async function startService(limitMs: number): Promise<Service> {
  const child = fork(new URL('../closing-service.ts', import.meta.url), [
    String(limitMs),
    String(CHECK_MS),
  ]);
  closeAfterTest(() => endProcess(child));
  const answer = async () => (await once(child, 'message'))[0];
  const { port } = z.object({ port: z.int() }).parse(await answer());
  return {
    url: `http://127.0.0.1:${port}/`,
    async arrivals() {
      child.send('arrivals');
      return new Map(z.array(z.tuple([z.string(), z.int()])).parse(await answer()));
    },
  };
}

/** Starts nginx, which closes idle connections, before a service that does not. */
async function startBehindNginx(): Promise<Service> {
  const service = await startService(Infinity);
  const port = await freePort();
  const lines = `keepalive_timeout ${LIMIT_MS}ms; keepalive_requests 100000;
    server { listen 127.0.0.1:${port}; location / { proxy_pass ${service.url}; } }`;
  const [command = '', ...args] = nginxCommand(await temporaryFolder(), lines);
  startChild(command, args, { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}/`;
  if (!(await until(async () => (await get(url)).status === 200, 5000)))
    throw new Error('nginx did not start');
  return { ...service, url };
}

const services: [name: string, start: () => Promise<Service>][] = [
  ['nginx', startBehindNginx],
  ['a service that checks as Kestrel does', () => startService(LIMIT_MS)],
];

/** A time within 5 ms of this one, or so much later. */
const around = (ms: number, laterMs = 0) => ms - 5 + Math.random() * (10 + laterMs);
const either = <Value>(one: Value, other: Value) => (Math.random() < 0.5 ? one : other);

/** What the gateway relies on, how long a connection is idle before a write, and which share of the outcomes may be unknown. */
const kinds = [
  {
    name: 'what is learned from reads',
    // Half of the longest time after which a read was answered is certain, which is a little less than half of the limit.
    idleMs: () => around(either(LIMIT_MS, LIMIT_MS / 2 - 10)),
    share: 0.001,
  },
  {
    name: 'UPSTREAM_KEEP_ALIVE_S=60',
    keepAliveS: 60,
    idleMs: () => around(LIMIT_MS, either(0, CHECK_MS)),
    share: 0.05,
  },
];

/** A GET and a POST that change state. */
const requests = [
  upgradeToHq,
  { ...operations.saveApproverList.encode({}, []), responseName: 'result' },
];

async function measure(
  [service, start]: (typeof services)[number],
  { name, keepAliveS, idleMs, share }: (typeof kinds)[number],
): Promise<Row> {
  const { url, arrivals } = await start();
  const outcomes = new Map<string, string>();
  let used = 0;
  const rest = numbers(WRITES).values();
  await forEach(SENDERS, numbers(SENDERS), async () => {
    let sender = startOutcomes(url);
    for (const n of rest) {
      // After the first connection that is closed early, a setting is not trusted any more. So each write is the first one.
      if (keepAliveS !== undefined) sender = startOutcomes(url, { keepAliveS });
      await sender.read();
      await sleep(idleMs());
      const { opened } = sender.counts;
      outcomes.set(`Bearer ${n}`, await sender.write(requests[n % 2], scopeOf(String(n))));
      if (sender.counts.opened === opened) used += 1;
    }
  });
  const seen = await arrivals();
  const all = [...outcomes].map(([token, outcome]) => ({ outcome, times: seen.get(token) ?? 0 }));
  const twice = all.filter(({ times }) => times > 1).length;
  const untrue = all.filter(({ outcome, times }) => !isTrue(outcome, times));
  const unknown = all.filter(({ outcome }) => outcome.startsWith('unknown'));
  return {
    claim: `${service} closes idle connections after ${LIMIT_MS} ms, and the gateway relies on ${name}: of ${WRITES} writes, none arrives twice, each outcome is true, and at most ${share * 100} % are unknown`,
    measured: withExamples(
      `${twice} twice, ${untrue.length} untrue, ${unknown.length} unknown, ${used} on a used connection`,
      untrue.map(({ outcome, times }) => `${outcome}, seen ${times} times`),
    ),
    holds:
      twice === 0 &&
      untrue.length === 0 &&
      unknown.length <= WRITES * share &&
      used > WRITES * share,
  };
}

/** Whether an outcome agrees with how often the write has arrived. */
function isTrue(outcome: string, times: number): boolean {
  if (outcome === 'success') return times === 1;
  return outcome.startsWith('unknown') ? times <= 1 : times === 0;
}

async function measureAll(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const service of services) for (const kind of kinds) rows.push(await measure(service, kind));
  return rows;
}

export const closing: Scenario = { name: 'closing', run: measureAll };
