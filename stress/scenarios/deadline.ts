import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { freePort } from '../../test/support/port.ts';
import { keepAliveAgent, outcomeOf, post, readQuery } from '../client.ts';
import type { Harness, Row, Scenario } from '../harness.ts';
import { warmUp } from '../load.ts';
import { kill, killOnExit } from '../process.ts';
import { type Behaviour, succeed } from '../service.ts';
import { tally } from '../statistics.ts';

const success = { service_status: { status: 0 }, status: 0 };

/** Documents as frontends send them: always the same ones, with variables. */
const read =
  'query ($text: String!) { result: glCodes(target: EMAIL, project: $text) { __typename } }';
const write =
  'mutation ($text: String!) { result: saveApprovers(approvers: [{ description: $text }]) { __typename } }';

const TIMEOUT_MS = 1000;
const TOLERANCE_MS = 250;

const faults: Record<string, Behaviour> = {
  'never responds': () => {},
  'responds 503 late': ({ response }) => {
    const timer = setTimeout(() => response.writeHead(503).end(), TIMEOUT_MS * 0.4);
    response.once('close', () => clearTimeout(timer));
  },
  'sends a byte at a time': ({ response }) => {
    response.write('{');
    const timer = setInterval(() => response.write(' '), 20);
    response.once('close', () => clearInterval(timer));
  },
};

const bomb = gzipSync(Buffer.alloc(64 * 1_048_576));
/** 15 MB, valid for every operation. */
const largeBody = gzipSync(
  JSON.stringify({
    ...success,
    list: Array<object>(300_000).fill({ Code: '4711', Name: 'A code', Value: '1' }),
  }),
);

/** Responses that are cheap to send and expensive to decode. The operations select nothing large. */
const expensive: Record<string, Behaviour> = {
  'a decompression bomb': ({ response }) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
  },
  '15 MB in gzip': ({ response }) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(largeBody);
  },
};

/** The deadline covers all of an operation: no response comes later than the deadline and 250 ms. */
export const deadline: Scenario = {
  name: 'deadline',
  async run(harness) {
    const rows: Row[] = [];
    for (const [name, fault] of Object.entries(faults)) {
      const service = await harness.startService(succeed);
      rows.push(
        await measure(harness, `a service that ${name}`, service.url, () => {
          service.behaviour = fault;
        }),
      );
    }
    for (const [name, fault] of Object.entries(expensive)) {
      const service = await harness.startService(succeed);
      const start = () => {
        service.behaviour = fault;
      };
      rows.push(
        await measure(harness, `a service that responds with ${name}`, service.url, start, 60),
      );
    }
    const silent = await startSilentServer(harness);
    rows.push(await measure(harness, 'a TLS handshake without a response', silent));
    const unreachable = await startUnreachableServer(harness);
    rows.push(await measure(harness, 'a connection that is never accepted', unreachable));
    return rows;
  },
};

/** Sends many requests at once, half of them writes. Uses a new gateway, whose circuit is closed. */
async function measure(
  harness: Harness,
  name: string,
  url: string,
  startFault?: () => void,
  count = 50,
): Promise<Row> {
  const gateway = await harness.startGateway({ url }, { UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS) });
  const agent = keepAliveAgent(harness);
  const { token } = harness;
  await warmUp(gateway.url, token, agent);
  if (startFault) await warmUp(gateway.url, token, agent, readQuery('warm'), 2);
  startFault?.();
  const requests = Array.from({ length: count }, (_, n) =>
    post(gateway.url, token, n % 2 === 0 ? read : write, {
      agent,
      variables: { text: `p${n}` },
      // Ends the scenario if there is no response at all.
      signal: AbortSignal.timeout(TIMEOUT_MS * 10),
    }),
  );
  const responses = await Promise.all(requests);
  await gateway.kill(); // It would take CPU time from the next one.
  const slowest = Math.max(...responses.map(({ ms }) => ms));
  return {
    claim: `${count} requests to ${name}: the last response within ${TIMEOUT_MS} + ${TOLERANCE_MS} ms`,
    measured: `${slowest.toFixed(0)} ms (${tally(responses.map(outcomeOf))})`,
    holds: slowest <= TIMEOUT_MS + TOLERANCE_MS && responses.every(({ status }) => status === 200),
  };
}

/** The https URL of a server that accepts connections and sends nothing. */
async function startSilentServer(harness: Harness): Promise<string> {
  const port = await freePort();
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    harness.defer(() => socket.destroy());
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  harness.defer(() => server.close());
  return `https://127.0.0.1:${port}/`;
}

/** The URL of a server whose process is stopped and whose backlog is full, so connecting hangs. */
async function startUnreachableServer(harness: Harness): Promise<string> {
  const script =
    "const server = require('node:net').createServer(); server.listen(0, '127.0.0.1', 1, () => {" +
    "require('node:fs').writeSync(1, String(server.address().port)); for (;;); })";
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  killOnExit(child);
  harness.defer(() => kill(child));
  const [port] = await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  for (;;) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    harness.defer(() => socket.destroy());
    const isFull = new Promise((resolve) => setTimeout(resolve, 300, true));
    if (await Promise.race([once(socket, 'connect').then(() => false), isFull])) break;
  }
  return `http://127.0.0.1:${String(port)}/`;
}
