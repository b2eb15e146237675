import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createGzip } from 'node:zlib';
import { expect, test } from '@jest/globals';
import {
  closeAfterTest,
  type Reply,
  read,
  reply,
  startService,
  startTcp,
  startTestGateway,
  write,
} from '../helper.ts';
import { metricIs, startHeldService } from './held.ts';

/**
 * The deadline, and what an answer may be late, in milliseconds: less than another deadline. Other tests
 * run beside these; that it is 250 at most is measured by `npm run stress`.
 */
const TIMEOUT_MS = 500;
const GRACE_MS = 450;

/** A gateway that has answered once: its start is not what is timed here. */
async function startGateway(url: string, variables: Record<string, string> = {}) {
  const gateway = await startTestGateway(
    { url },
    { UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS), LOG_LEVEL: 'silent', ...variables },
  );
  await gateway.graphql('{ __typename }');
  return gateway;
}

type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Asks, and tells the outcome: it came within the deadline and not by giving up early. */
async function outcomeOf(gateway: Gateway, query: string): Promise<unknown> {
  const start = performance.now();
  const { data, errors } = await gateway.graphql(query);
  const ms = performance.now() - start;
  expect(ms).toBeLessThan(TIMEOUT_MS + GRACE_MS);
  expect(ms).toBeGreaterThan(TIMEOUT_MS * 0.9);
  return errors?.[0]?.extensions.code ?? data.result.code;
}

/** A read and a write, side by side. */
async function expectTimeouts(gateway: Gateway): Promise<void> {
  const outcomes = [read, write].map((query) => outcomeOf(gateway, query));
  expect(await Promise.all(outcomes)).toEqual(['UPSTREAM_TIMEOUT', 'UPSTREAM_TIMEOUT']);
}

/** Writes a piece now and then, from a request's arrival on and for as long as anybody listens. */
function trickle(head: string, piece: string) {
  return (socket: Socket) => {
    socket.once('data', () => {
      socket.write(head);
      const timer = setInterval(() => socket.write(piece), 30);
      socket.once('close', () => clearInterval(timer));
    });
  };
}

const ok = 'HTTP/1.1 200 OK\r\n';

const slowAnswers: [name: string, onConnection: (socket: Socket) => void][] = [
  ['reads nothing', (socket) => socket.pause()],
  ['says nothing', (socket) => socket.resume()],
  ['trickles early hints', trickle('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')],
  ['trickles its status line', trickle('HTTP/1.1 200 ', 'O')],
  ['trickles its headers', trickle(ok, 'x-a: b\r\n')],
  ['trickles its body', trickle(`${ok}content-length: 100000\r\n\r\n{`, ' ')],
  ['trickles its chunks', trickle(`${ok}transfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n')],
  ['trickles a body without an end', trickle(`${ok}connection: close\r\n\r\n{`, ' ')],
];

test.each(slowAnswers)('a service that %s meets the deadline', async (_, onConnection) => {
  const { url, sockets } = await startTcp(onConnection);
  const gateway = await startGateway(url);
  await expectTimeouts(gateway);
  for (const socket of sockets) {
    socket.resume(); // Whoever reads nothing does not learn that the other side is gone.
    if (!socket.closed) await once(socket, 'close');
  }
});

test('a compressed body that trickles meets the deadline', async () => {
  const service = await startService((response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const gzip = createGzip();
    gzip.pipe(response);
    const timer = setInterval(() => {
      gzip.write(' ');
      gzip.flush();
    }, 30);
    response.once('close', () => clearInterval(timer));
  });
  const gateway = await startGateway(service.url);
  await expectTimeouts(gateway);
});

test('a TLS handshake that trickles meets the deadline', async () => {
  // The head of a handshake record of 16 KB, and then a byte at a time.
  const { httpsUrl } = await startTcp(trickle('\x16\x03\x03\x40\x00\x02', '\x00'));
  const gateway = await startGateway(httpsUrl);
  await expectTimeouts(gateway);
});

/** A port whose kernel lets nobody in any more: its process hangs and its line of connections is full. */
async function startDeafService(): Promise<string> {
  const script =
    "const server = require('node:net').createServer(); server.listen(0, '127.0.0.1', 1, () => {" +
    "require('node:fs').writeSync(1, String(server.address().port)); for (;;); })";
  const child: ChildProcess = spawn(process.execPath, ['-e', script]);
  closeAfterTest(async () => child.kill('SIGKILL'));
  if (!child.stdout) throw new Error('no output');
  const [port] = await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  for (;;) {
    const socket = connect(Number(port), '127.0.0.1');
    closeAfterTest(async () => socket.destroy());
    // Only the passing of time shows a connection that is not made.
    const full = new Promise((resolve) => setTimeout(resolve, 300, true));
    if (await Promise.race([once(socket, 'connect').then(() => false), full])) break;
  }
  return `http://127.0.0.1:${String(port)}/`;
}

test('a connection that is never made meets the deadline and carried no write', async () => {
  const gateway = await startGateway(await startDeafService());
  expect(await outcomeOf(gateway, read)).toBe('UPSTREAM_TIMEOUT');
  const { errors } = await gateway.graphql(write);
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'UPSTREAM_TIMEOUT', retryable: true });
});

test('the time in line counts', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service.url, { UPSTREAM_MAX_CONCURRENCY: '1' });
  const first = outcomeOf(gateway, write);
  await service.arrived(1);
  const others = Array.from({ length: 4 }, (_, n) =>
    outcomeOf(gateway, n % 2 === 0 ? write : read.replace('north', `p${n}`)),
  );
  await metricIs(gateway, 'ledger_gateway_calls_queued', 4);
  expect(await Promise.all([first, ...others])).toEqual(Array(5).fill('UPSTREAM_TIMEOUT'));
});

test('the attempts of a read and the waits between them count', async () => {
  const late: Reply = (response, received) => {
    const timer = setTimeout(() => reply(503)(response, received), TIMEOUT_MS * 0.55);
    response.once('close', () => clearTimeout(timer));
  };
  const service = await startService(late);
  const gateway = await startGateway(service.url);
  const start = performance.now();
  const { errors } = await gateway.graphql(read);
  expect(performance.now() - start).toBeLessThan(TIMEOUT_MS + GRACE_MS);
  expect(errors?.[0]?.extensions.code).toMatch(/^UPSTREAM_(TIMEOUT|FAILED)$/);
  expect(service.received.length).toBeLessThanOrEqual(2);
});

test('many calls at once meet their deadlines', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service.url);
  await outcomeOf(gateway, read); // Code that runs for the first time is not what is timed here.
  const asked = Array.from({ length: 20 }, (_, n) =>
    outcomeOf(gateway, n % 2 === 0 ? write : read.replace('north', `p${n}`)),
  );
  expect(await Promise.all(asked)).toEqual(Array(20).fill('UPSTREAM_TIMEOUT'));
});

test('each write of an operation has a deadline of its own', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service.url);
  const { data } = await gateway.graphql(
    write.replace('result:', 'first: workflowAction(action: RESTART) { __typename } result:'),
  );
  expect(data.first).toEqual({ __typename: 'LedgerOutcomeUnknown' });
  expect(data.result).toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  expect(service.calls).toHaveLength(2);
});
