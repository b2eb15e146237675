import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { read, write } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { metric } from '../support/metric.ts';
import { connectTo, requestOf } from '../support/raw-request.ts';
import { json, startService } from '../support/service.ts';

const host = 'host: gateway';

test('a request whose client disconnects is logged and counted once', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  socket.write(requestOf(gateway, read));
  await service.arrived(1);
  socket.destroy();
  await service.idle();

  await gateway.graphql('{ __typename }');
  await gateway.logLine({ msg: 'request', status: 200 });
  const lines = gateway.logs.filter(({ msg, status }) => msg === 'request' && status === 499);
  expect(lines).toHaveLength(1);
  expect(await metric(gateway, 'ledger_gateway_http_requests_total', { status: '499' })).toBe(1);
});

/** The bodies of the responses on a connection, as text. */
function bodiesOf(responses: string): string[] {
  return responses
    .split(/HTTP\/1\.1 \d+ /)
    .flatMap((response) => response.split('\r\n\r\n')[1] ?? []);
}

test('a client that closes its side after a write gets the outcome', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  socket.end(requestOf(gateway, write));
  const { respond } = await service.arrived(1);
  await gateway.logLine({ msg: 'sent' });
  respond();

  expect(bodiesOf(await responses)).toEqual([expect.stringContaining('WorkflowActionCompleted')]);
});

test('after the connection of a client has closed, no further write of its mutation is sent', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const twice =
    'mutation { a: workflowAction(action: RESTART) { __typename } b: workflowAction(action: UPGRADE_TO_HQ) { __typename } }';
  socket.write(requestOf(gateway, twice));
  const { respond } = await service.arrived(1);
  socket.resetAndDestroy();
  await gateway.logLine({ msg: 'request', status: 499 });
  respond();

  const { writes } = await gateway.logLine({ msg: 'client disconnected before outcome of writes' });
  expect(writes).toEqual([
    'Mutation.workflowAction WorkflowActionCompleted',
    'Mutation.workflowAction CLIENT_DISCONNECTED',
  ]);
  expect(service.requests).toHaveLength(1);
});

test('the outcome of a write is logged if the client disconnects while it receives the response', async () => {
  const service = await startService(json({ status: 0, message: 'x'.repeat(900_000) }));
  const gateway = await startTestGateway(service);
  const aliases = Array.from({ length: 20 }, (_, n) => `a${n}: message`).join(' ');
  const long = write.replace(
    '__typename',
    `__typename ... on WorkflowActionCompleted { ${aliases} }`,
  );
  const socket = connectTo(gateway.url);
  socket.write(requestOf(gateway, long));
  await once(socket, 'data');
  socket.pause().resetAndDestroy();

  const { writes } = await gateway.logLine({ msg: 'client disconnected before outcome of writes' });
  expect(writes).toEqual(['Mutation.workflowAction WorkflowActionCompleted']);
});

test('a client that closes its side after a read gets a response, and its read is cancelled', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  socket.write(requestOf(gateway, read));
  await service.arrived(1);
  socket.end();

  expect(bodiesOf(await responses)).toEqual([expect.stringContaining('CLIENT_DISCONNECTED')]);
  await service.idle();
});

test('a client that closes its side between two pipelined writes gets both outcomes', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  socket.end(requestOf(gateway, write) + requestOf(gateway, write));
  service.release();

  const outcome = expect.stringContaining('WorkflowActionCompleted');
  expect(bodiesOf(await responses)).toEqual([outcome, outcome]);
});

test.each([
  ['garbage', '\x00\x01 garbage\r\n\r\n'],
  ['an incomplete request', 'POST /graphql HTTP/1.1\r\nhost: gate'],
  ['a request with an invalid length', 'POST /graphql HTTP/1.1\r\ncontent-length: x\r\n\r\n'],
])('after a write and %s, the client gets the outcome of the write', async (_, rest) => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  socket.end(requestOf(gateway, write) + rest);
  const { respond } = await service.arrived(1);
  await gateway.logLine({ msg: 'sent' });
  respond();

  expect(bodiesOf(await responses)).toEqual([expect.stringContaining('WorkflowActionCompleted')]);
});

test('after a write and more data behind "connection: close", the client gets the outcome', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  socket.write(requestOf(gateway, write, ['connection: close']) + requestOf(gateway, write));
  const { respond } = await service.arrived(1);
  respond();

  expect(bodiesOf(await responses)).toEqual([expect.stringContaining('WorkflowActionCompleted')]);
  expect(service.requests).toHaveLength(1);
});

test('a client that closes its side while its repeat waits is told to ask again', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const request = requestOf(gateway, write, ['idempotency-key: a']);
  connectTo(gateway.url).write(request);
  const { respond } = await service.arrived(1);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  socket.end(request);

  const response = await responses;
  expect(bodiesOf(response)).toEqual([expect.stringContaining('IN_PROGRESS')]);
  expect(response).toContain('\r\nidempotent-in-progress: true\r\n');
  respond();
  expect(service.requests).toHaveLength(1);
});

test.each([
  ['two Host headers', 'POST /graphql HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n'],
  ['no Host header', 'GET /livez HTTP/1.1\r\n\r\n'],
  [
    'an unsupported transfer coding',
    'POST /graphql HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  ],
])(
  'a write behind a request with %s, whose response closes the connection, is not executed',
  async (_, first) => {
    const service = await startHeldService();
    service.release();
    const gateway = await startTestGateway(service);
    await gateway.graphql(write); // Now the token is cached, and nothing delays the next write.
    const socket = connectTo(gateway.url);
    const responses = text(socket);
    socket.write(first + requestOf(gateway, write));

    expect(await responses).toMatch(/^HTTP\/1\.1 400 .*connection: close/is);
    await gateway.graphql(write);
    expect(gateway.logs.filter(({ msg }) => msg === 'sent')).toHaveLength(2);
  },
);

test('a write behind an invalid body gets its outcome', async () => {
  const service = await startHeldService();
  service.release();
  const gateway = await startTestGateway(service);
  await gateway.graphql(write);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  const invalid = requestOf(gateway, write).replace('{', '[');
  socket.end(invalid + requestOf(gateway, write));

  const outcome = expect.stringContaining('WorkflowActionCompleted');
  expect(bodiesOf(await responses)).toEqual([expect.stringContaining('BAD_REQUEST'), outcome]);
});

test('a write behind the last response before a shutdown is not executed', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  socket.write(requestOf(gateway, write));
  const { respond } = await service.arrived(1);
  const closed = gateway.close();
  await expect(fetch(gateway.url)).rejects.toThrow(); // The port is closed.
  socket.write(requestOf(gateway, write) + requestOf(gateway, write));
  respond();
  (await service.arrived(2)).respond();

  const outcome = expect.stringContaining('WorkflowActionCompleted');
  expect(bodiesOf(await responses)).toEqual([outcome, outcome]);
  await closed;
  expect(service.requests).toHaveLength(2);
});

test('a request whose body turns out not to be HTTP, behind another one, leaves nothing behind', async () => {
  const service = await startHeldService();
  service.release();
  const gateway = await startTestGateway(service);
  const head = `POST /graphql HTTP/1.1\r\n${host}\r\nauthorization: Bearer ${gateway.token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  const ended = Array.from({ length: 20 }, async () => {
    const socket = connectTo(gateway.url);
    const responses = text(socket).catch(() => '');
    socket.write(`${requestOf(gateway, '{ __typename }')}${head}1\r\n{\r\nZZ\r\n`);
    return responses;
  });
  for (const responses of await Promise.all(ended)) expect(responses).toContain('"__typename"');
  const held = await metric(gateway, 'ledger_gateway_requests_in_progress');
  expect(held).toBe(0);
});

test.each(['x-name: value', 'expect: 100-continue', 'expect: other'])(
  'a connection with a long pipeline of requests with %s is closed',
  async (header) => {
    const service = await startHeldService();
    const gateway = await startTestGateway(service);
    const socket = connectTo(gateway.url);
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    const next = `GET /livez HTTP/1.1\r\n${host}\r\n${header}\r\n\r\n`;
    socket.write(requestOf(gateway, read) + next.repeat(20));
    await closed;
    await service.idle();
    expect(await metric(gateway, 'ledger_gateway_requests_in_progress')).toBe(0);
  },
);

test('what waits behind other requests of a connection is only read when these have been served', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const socket = connectTo(gateway.url);
  const responses = text(socket);
  const next = `GET /livez HTTP/1.1\r\n${host}\r\nx-long: ${'x'.repeat(15_000)}\r\n\r\n`;
  socket.end(requestOf(gateway, read) + next.repeat(40));
  (await service.arrived(1)).respond();

  expect((await responses).match(/HTTP\/1\.1 200/g)).toHaveLength(41);
});
