import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { anyWrite, read, write } from '../../testkit/graphql-operation.ts';
import { metric } from '../../testkit/metric.ts';
import { json } from '../../testkit/service.ts';
import { authorized, connectTo, requestOf } from '../support/raw-request.ts';
import { startTestServer } from '../support/server.ts';
import { startHeldStack, startStack } from '../support/stack.ts';
import { scopeOf } from '../support/upstream-call.ts';

const host = 'host: gateway';
const field = anyWrite();
const completed = expect.stringContaining('WorkflowActionCompleted');

/** Starts a gateway in front of a service that responds when the test says so, and connects to it. */
async function start() {
  const { service, gateway } = await startHeldStack();
  const socket = connectTo(gateway.url);
  return {
    service,
    gateway,
    socket,
    request: (query: string, headers?: string[]) => requestOf(gateway, query, headers),
    /** The bodies of all responses on the connection, as text. */
    async bodies() {
      const responses = await text(socket);
      return responses.split(/HTTP\/1\.1 \d+ /).flatMap((one) => one.split('\r\n\r\n')[1] ?? []);
    },
    inProgress: () => metric(gateway, 'ledger_gateway_requests_in_progress'),
  };
}

test('a request whose client disconnects is logged and counted once', async () => {
  const { service, gateway, socket, request } = await start();
  socket.write(request(read));
  await service.arrived(1);
  socket.destroy();
  await service.idle();

  await gateway.graphql('{ __typename }');
  await gateway.logLine({ msg: 'request', status: 200 });
  const lines = gateway.logs.filter(({ msg, status }) => msg === 'request' && status === 499);
  expect(lines).toHaveLength(1);
  expect(await metric(gateway, 'ledger_gateway_http_requests_total', { status: '499' })).toBe(1);
});

test.each<[rest: string, (write: string) => string, count: number]>([
  ['nothing', () => '', 1],
  ['garbage', () => '\x00\x01 garbage\r\n\r\n', 1],
  ['an incomplete request', () => 'POST /graphql HTTP/1.1\r\nhost: gate', 1],
  ['a request with an invalid length', () => 'POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n', 1],
  ['a second write', (write) => write, 2],
])('a client that sends a write and %s, and closes its side, gets each outcome', async (...row) => {
  const [, rest, count] = row;
  const { service, gateway, socket, request, bodies } = await start();
  socket.end(request(write) + rest(request(write)));
  await gateway.logLine({ msg: 'sent' });
  await service.arrived(1);
  service.release();
  expect(await bodies()).toEqual(Array(count).fill(completed));
  expect(service.received).toHaveLength(count);
});

test('a write behind one with "connection: close" is not executed', async () => {
  const { service, socket, request, bodies } = await start();
  socket.write(request(write, ['connection: close']) + request(write));
  service.release();
  expect(await bodies()).toEqual([completed]);
  expect(service.received).toHaveLength(1);
});

test('when a client has disconnected, its write in flight is finished, logged and counted, and no other is sent', async () => {
  const { service, gateway, socket, request } = await start();
  const settle = 'settleWrites(idempotencyKey: "k") { isComplete }';
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const headers = ['x-request-id: request-1', `traceparent: 00-${traceId}-b7ad6b7169203331-01`];
  socket.write(request(`mutation { ${settle} a: ${field} b: ${field} c: ${field} }`, headers));
  (await service.arrived(1)).respond();
  const { respond } = await service.arrived(2);
  socket.resetAndDestroy();
  await gateway.logLine({ msg: 'request', status: 499 });
  const outcome = 'WorkflowActionCompleted';
  const labels = { operation: 'Mutation.workflowAction', outcome };
  expect(await metric(gateway, 'ledger_gateway_request_duration_seconds_count', labels)).toBe(1);
  respond();

  const line = await gateway.logLine({ msg: 'client disconnected before outcome of writes' });
  const writes = [outcome, outcome, 'CLIENT_DISCONNECTED'].map(
    (one) => `Mutation.workflowAction ${one}`,
  );
  expect(line).toMatchObject({ level: 40, requestId: 'request-1', traceId, writes });
  expect(await metric(gateway, 'ledger_gateway_operations_total', labels)).toBe(2);
  expect(service.received).toHaveLength(2);
});

test('the outcome of a write is logged if the client disconnects while it receives the response', async () => {
  const { gateway } = await startStack(json({ status: 0, message: 'x'.repeat(900_000) }));
  const aliases = Array.from({ length: 20 }, (_, n) => `a${n}: message`).join(' ');
  const fields = `__typename ... on WorkflowActionCompleted { ${aliases} }`;
  const socket = connectTo(gateway.url);
  socket.write(requestOf(gateway, write.replace('__typename', fields)));
  await once(socket, 'data');
  socket.pause().resetAndDestroy();

  const { writes } = await gateway.logLine({ msg: 'client disconnected before outcome of writes' });
  expect(writes).toEqual(['Mutation.workflowAction WorkflowActionCompleted']);
});

test('a client that closes its side after a read gets a response, and its read is cancelled', async () => {
  const { service, socket, request, bodies } = await start();
  socket.write(request(read));
  await service.arrived(1);
  socket.end();
  expect(await bodies()).toEqual([expect.stringContaining('CLIENT_DISCONNECTED')]);
  await service.idle();
});

test.each(['transfer-encoding: chunked', 'content-length: 9'])(
  'a client that closes its side within the body of a GET (%s) gets the response',
  async (header) => {
    const { service, gateway, socket, bodies } = await start();
    const line = `GET /graphql?query=${encodeURIComponent(read)} HTTP/1.1\n${host}`;
    const head = `${line}\n${authorized(gateway)}${header}\n\n`.replaceAll('\n', '\r\n');
    socket.write(`${head}3\r\nab`);
    await service.arrived(1);
    socket.end();
    expect(await bodies()).toEqual([expect.stringContaining('CLIENT_DISCONNECTED')]);
  },
);

test('a client that closes its side while its repeat waits is told to ask again', async () => {
  const { service, gateway, socket, request } = await start();
  const keyed = request(write, ['idempotency-key: a']);
  connectTo(gateway.url).write(keyed);
  const { respond } = await service.arrived(1);
  socket.end(keyed);
  const response = await text(socket);
  expect(response).toMatch(/\r\nidempotent-in-progress: true\r\n.*IN_PROGRESS/s);
  respond();
  expect(service.received).toHaveLength(1);
});

const unsupported = `${host}\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`;
test.each<[string, first: (write: string) => string]>([
  ['two Host headers', () => 'POST /graphql HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n'],
  ['no Host header', () => 'GET /livez HTTP/1.1\r\n\r\n'],
  ['an unsupported transfer coding', () => `POST /graphql HTTP/1.1\r\n${unsupported}`],
  ['an invalid body', (write) => write.replace('{', '[')],
])('a write behind a request with %s is not executed', async (_, first) => {
  const { service, gateway, socket, request } = await start();
  service.release();
  await gateway.graphql(write); // Now the token is cached, and nothing delays the next write.
  socket.write(first(request(write)) + request(write));
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*connection: close/is);
  await gateway.graphql(write);
  expect(service.received).toHaveLength(2);
});

test('a write behind the last response before a shutdown is not executed', async () => {
  const { service, gateway, socket, request, bodies } = await start();
  socket.write(request(write));
  const { respond } = await service.arrived(1);
  const closed = gateway.close();
  await expect(fetch(gateway.url)).rejects.toThrow(); // The port is closed.
  socket.write(request(write) + request(write));
  respond();
  (await service.arrived(2)).respond();
  expect(await bodies()).toEqual([completed, completed]);
  await closed;
  expect(service.received).toHaveLength(2);
});

test('a request whose body turns out not to be HTTP, behind another one, leaves nothing behind', async () => {
  const { gateway, request, inProgress } = await start();
  const headers = `${authorized(gateway)}transfer-encoding: chunked`;
  const head = `POST /graphql HTTP/1.1\n${host}\n${headers}\n\n`.replaceAll('\n', '\r\n');
  const ended = Array.from({ length: 20 }, async () => {
    const socket = connectTo(gateway.url);
    socket.write(`${request('{ __typename }')}${head}1\r\n{\r\nZZ\r\n`);
    return text(socket).catch(() => '');
  });
  for (const responses of await Promise.all(ended)) expect(responses).toContain('"__typename"');
  expect(await inProgress()).toBe(0);
});

test('a client whose body is invalid while its response is compressed is disconnected', async () => {
  const { gateway, socket } = await start();
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  const headers = `${host}\r\naccept-encoding: gzip\r\ntransfer-encoding: chunked`;
  await new Promise((resolve) => {
    socket.write(`GET /metrics HTTP/1.1\r\n${headers}\r\n\r\n`, resolve);
  });
  socket.resume().write('zz\r\n');
  await closed;
  await gateway.graphql('{ __typename }');
  expect(gateway.logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

test.each(['x-name: value', 'expect: 100-continue', 'expect: other'])(
  'a connection with a long pipeline of requests with %s is closed',
  async (header) => {
    const { service, socket, request, inProgress } = await start();
    socket.on('error', () => {});
    const closed = once(socket.resume(), 'close');
    const next = `GET /livez HTTP/1.1\r\n${host}\r\n${header}\r\n\r\n`;
    socket.write(request(read) + next.repeat(20));
    await closed;
    await service.idle();
    expect(await inProgress()).toBe(0);
  },
);

test('a request that waits behind another one of its connection has arrived before that', async () => {
  const received: number[] = [];
  const begun: number[] = [];
  const { caller } = scopeOf();
  const { url } = await startTestServer({
    authenticator: { authenticate: async () => ({ token: 'token', tokenHash: 'hash', caller }) },
    async execute({ scope }) {
      begun.push(performance.now());
      if (scope) received.push(scope.receivedAt);
      return { status: 200, headers: [], body: '{"data":null}' };
    },
  });
  const socket = connectTo(url);
  socket.end(requestOf({ token: 'token' }, read).repeat(2));
  await text(socket);
  expect(received).toHaveLength(2);
  expect(received[1]).toBeLessThan(Number(begun[0]));
});

test('what waits behind other requests of a connection is only read when these have been served', async () => {
  const { service, socket, request } = await start();
  const next = `GET /livez HTTP/1.1\r\n${host}\r\nx-long: ${'x'.repeat(15_000)}\r\n\r\n`;
  socket.end(request(read) + next.repeat(40));
  (await service.arrived(1)).respond();
  expect((await text(socket)).match(/HTTP\/1\.1 200/g)).toHaveLength(41);
});
