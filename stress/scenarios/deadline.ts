import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import {
  type Behaviour,
  endWithUs,
  fine,
  freePort,
  keptConnections,
  kill,
  outcomeOf,
  post,
  type Row,
  readOf,
  type Scenario,
  tally,
  type World,
  warmUp,
  writeOf,
} from '../harness.ts';

const TIMEOUT_MS = 1000;
const GRACE_MS = 250;

const faults: Record<string, Behaviour> = {
  hangs: () => {},
  'answers 503 late': ({ response }) => {
    const timer = setTimeout(() => response.writeHead(503).end(), TIMEOUT_MS * 0.4);
    response.once('close', () => clearTimeout(timer));
  },
  trickles: ({ response }) => {
    response.write('{');
    const timer = setInterval(() => response.write(' '), 20);
    response.once('close', () => clearInterval(timer));
  },
};

/** One deadline for all of a call: nothing answers later than it and 250 ms. */
export const deadline: Scenario = {
  name: 'deadline',
  async run(world) {
    const rows: Row[] = [];
    for (const [name, fault] of Object.entries(faults)) {
      const service = await world.startService(fine);
      rows.push(
        await measure(world, `a service that ${name}`, service.url, () => {
          service.behaviour = fault;
        }),
      );
    }
    rows.push(await measure(world, 'a TLS handshake that hangs', await startMute(world)));
    rows.push(await measure(world, 'a connection that is never made', await startDeaf(world)));
    return rows;
  },
};

/** Asks 50 at a time, half of them writes. A gateway each: the last fault opened its circuit. */
async function measure(world: World, name: string, url: string, begin?: () => void): Promise<Row> {
  const gateway = await world.startGateway({ url }, { UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS) });
  const agent = keptConnections(world);
  const { token } = world;
  await warmUp(gateway.url, token, agent);
  if (begin) await warmUp(gateway.url, token, agent, readOf('warm'), 2);
  begin?.();
  const asked = Array.from({ length: 50 }, (_, n) =>
    post(gateway.url, token, n % 2 === 0 ? readOf(`p${n}`) : writeOf(`w${n}`), {
      agent,
      // Whoever waits for ten times the deadline has seen enough.
      signal: AbortSignal.timeout(TIMEOUT_MS * 10),
    }),
  );
  const answers = await Promise.all(asked);
  const worst = Math.max(...answers.map(({ ms }) => ms));
  return {
    claim: `50 calls to ${name}: the last answer within ${TIMEOUT_MS} + ${GRACE_MS} ms`,
    measured: `${worst.toFixed(0)} ms (${tally(answers.map(outcomeOf))})`,
    holds: worst <= TIMEOUT_MS + GRACE_MS && answers.every(({ status }) => status === 200),
  };
}

/** A port that takes connections and says nothing, asked for TLS. */
async function startMute(world: World): Promise<string> {
  const port = await freePort();
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    world.defer(() => socket.destroy());
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  world.defer(() => server.close());
  return `https://127.0.0.1:${port}/`;
}

/** A port whose kernel lets nobody in: its process hangs, and its line of connections is full. */
async function startDeaf(world: World): Promise<string> {
  const script =
    "const server = require('node:net').createServer(); server.listen(0, '127.0.0.1', 1, () => {" +
    "require('node:fs').writeSync(1, String(server.address().port)); for (;;); })";
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  endWithUs(child);
  world.defer(() => kill(child));
  const [port] = await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  for (;;) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    world.defer(() => socket.destroy());
    const full = new Promise((resolve) => setTimeout(resolve, 300, true));
    if (await Promise.race([once(socket, 'connect').then(() => false), full])) break;
  }
  return `http://127.0.0.1:${String(port)}/`;
}
