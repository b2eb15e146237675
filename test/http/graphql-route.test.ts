import { once } from 'node:events';
import { expect, jest, test } from '@jest/globals';
import { Account } from '../../src/account/account.ts';
import { Gate } from '../../src/account/gate.ts';
import { Turns } from '../../src/account/turns.ts';
import { connectTo } from '../support/raw-request.ts';
import { createTestServer } from '../support/server.ts';

/** Node's own global object, whose clock the tested modules use. */
declare const native: typeof globalThis;

/** A server that takes the `Authorization` header for the caller, and executes when the test says so. */
async function start(limits: { requests?: number; bytes?: number; turns?: Turns }) {
  const account = new Account(limits.bytes ?? 10_000_000);
  const requests = new Gate({ limit: limits.requests ?? 100, maxWaiting: 8 });
  const executions: (() => void)[] = [];
  const received: number[] = [];
  let response = 'null';
  let isHeld = false;
  const statuses: number[] = [];
  const server = await createTestServer({
    account,
    requests,
    metrics: {
      text: async () => '',
      contentType: 'text/plain',
      responded: ({ status }) => void statuses.push(status),
      shed() {},
    },
    ...(limits.turns && { turns: limits.turns }),
    authenticate: async ({ headers }) => {
      const name = headers.authorization ?? '';
      const caller = { issuer: '', subject: name, hash: name, accountKey: name };
      return { token: name, caller };
    },
    execute: async ({ scope, turn }) => {
      await turn(0);
      received.push(scope?.receivedAt ?? Infinity);
      if (isHeld) await new Promise<void>((resolve) => executions.push(resolve));
      return { status: 200, headers: [], text: response };
    },
  });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  return {
    url,
    account,
    requests,
    executions,
    received,
    statuses,
    hold() {
      isHeld = true;
    },
    respondWith(text: string) {
      response = text;
    },
    post: (authorization: string, bytes = 10, signal: AbortSignal | null = null) =>
      fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ query: 'x'.repeat(bytes) }),
        signal,
      }),
    /** Sends headers that declare a body, and nothing of it. */
    declare(authorization: string, bytes: number) {
      const socket = connectTo(url);
      socket.write(
        `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`,
      );
      return socket;
    },
  };
}

/** Waits until a value is as expected. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

test('bodies that are declared and not sent hold places of their caller only, and no memory', async () => {
  const { requests, account, declare, post } = await start({ requests: 8 });
  const sockets = Array.from({ length: 12 }, () => declare('a', 65_536));
  await until(() => requests.waiting === 6);
  expect([requests.held, account.bytes]).toEqual([6, 0]);
  expect((await post('b')).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await until(() => requests.held + requests.waiting === 0);
});

test('callers whose bodies do not arrive lose their places when others need them, but not for a body that arrives', async () => {
  const { requests, account, executions, hold, declare, post } = await start({ requests: 8 });
  hold();
  const executed = post('a');
  await until(() => executions.length === 1);
  const arriving = declare('a', 65_536);
  await until(() => requests.held === 2);
  const sockets = ['a', 'a', 'a', 'a', 'b', 'b'].map((caller) => declare(caller, 65_536));
  await until(() => requests.held === 8);
  arriving.write('x'.repeat(60_000));
  await until(() => account.bytes > 0);
  const now = native.performance.now.bind(native.performance);
  const clock = jest.spyOn(native.performance, 'now').mockImplementation(() => now() + 2000);
  const others = ['c', 'd'].map((caller) => post(caller));
  await until(() => executions.length === 3);
  clock.mockRestore();
  for (const execute of executions) execute();
  expect((await executed).status).toBe(200);
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200]);
  expect(arriving.destroyed).toBe(false);
  for (const socket of [...sockets, arriving]) socket.destroy();
  await until(() => requests.held + requests.waiting === 0);
});

test('bodies are booked to their caller until they have been executed', async () => {
  const { account, executions, hold, post } = await start({ bytes: 1_000_000 });
  hold();
  const first = post('a', 150_000);
  await until(() => executions.length === 1);
  expect(account.bytes).toBeGreaterThan(600_000);
  const second = await post('a', 150_000);
  expect(second.status).toBe(503);
  const client = new AbortController();
  const lost = post('b', 50_000, client.signal).catch(() => {});
  await until(() => executions.length === 2);
  client.abort();
  await lost;
  expect(account.bytes).toBeGreaterThan(800_000);
  for (const execute of executions) execute();
  expect((await first).status).toBe(200);
  await until(() => account.bytes === 0);
});

test('a body in parts of one byte is booked with what the parts take', async () => {
  const { account, declare } = await start({});
  const socket = declare('a', 65_536);
  socket.setNoDelay(true);
  let bytes = 0;
  for (; account.bytes === 0; bytes++) {
    socket.write('x');
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(bytes).toBeLessThan(16_384);
  socket.destroy();
  await until(() => account.bytes === 0);
});

test('a body in many parts is read on only in the turn of its caller', async () => {
  const turns = new Turns();
  const turn = Promise.withResolvers<void>();
  const take = jest.spyOn(turns, 'take').mockReturnValueOnce(turn.promise);
  const { url } = await start({ turns });
  const socket = connectTo(url);
  const head = `host: a\r\nauthorization: a\r\ncontent-type: application/json`;
  const chunk = `40\r\n${' '.repeat(64)}\r\n`;
  socket.write(
    `POST /graphql HTTP/1.1\r\n${head}\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(300)}`,
  );
  await until(() => take.mock.calls.length > 0);
  expect(take.mock.calls[0]?.[0]).toBe('a');
  const response = once(socket, 'data');
  socket.write('c\r\n{"query":""}\r\n0\r\n\r\n');
  turn.resolve();
  expect(String(await response)).toMatch(/^HTTP\/1\.1 200 /);
});

test('a rejection of a token takes a turn of those without one', async () => {
  const turns = new Turns();
  const turn = Promise.withResolvers<void>();
  const take = jest.spyOn(turns, 'take').mockReturnValueOnce(turn.promise);
  const server = await createTestServer({ turns, allowsAnonymous: false });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  const response = fetch(`${url}/graphql`);
  await until(() => take.mock.calls.length > 0);
  expect(take.mock.calls[0]?.[0]).toBe('anonymous');
  turn.resolve();
  expect((await response).status).toBe(401);
});

test('a response is booked until its client has read it', async () => {
  const { account, requests, declare, respondWith } = await start({ bytes: 100_000_000 });
  respondWith(JSON.stringify('x'.repeat(40_000_000)));
  const socket = declare('a', 12);
  socket.pause();
  socket.write('{"query":""}');
  await until(() => account.bytes > 39_000_000);
  expect(requests.held).toBe(1);
  socket.resume();
  await until(() => account.bytes === 0);
  expect(requests.held).toBe(0);
});

test.each([
  ['memory', {}, 'a', 12_000_000],
  ['place', { requests: 1 }, 'b', 10],
])(
  'a response that nobody reads is dropped when its %s is needed',
  async (_, limits, caller, bytes) => {
    const { account, requests, declare, respondWith, post } = await start({
      bytes: 100_000_000,
      ...limits,
    });
    respondWith(JSON.stringify('x'.repeat(40_000_000)));
    const socket = declare('a', 12);
    socket.pause();
    socket.write('{"query":""}');
    await until(() => account.bytes > 39_000_000);
    respondWith('null');
    const closed = once(socket, 'close');
    const now = native.performance.now.bind(native.performance);
    const clock = jest.spyOn(native.performance, 'now').mockImplementation(() => now() + 2000);
    expect((await post(caller, bytes)).status).toBe(200);
    clock.mockRestore();
    await until(() => requests.held === 0 && account.bytes === 0);
    socket.resume();
    await closed;
  },
);

test('a response that is longer than what was booked for it is booked, or not sent', async () => {
  const { account, respondWith, post } = await start({ bytes: 4_000_000 });
  respondWith(JSON.stringify('x'.repeat(2_000_000)));
  expect((await post('a')).status).toBe(200);
  respondWith(JSON.stringify('x'.repeat(4_000_000)));
  expect((await post('a')).status).toBe(503);
  await until(() => account.bytes === 0);
});

const longBody = JSON.stringify({ query: 'x'.repeat(30_000) });
const inChunks = longBody.replaceAll(
  /.{1,64}/g,
  (text) => `${text.length.toString(16)}\r\n${text}\r\n`,
);

test.each([
  ['a body', `content-length: ${longBody.length}\r\n\r\n${longBody}`],
  ['many parts of a body', `transfer-encoding: chunked\r\n\r\n${inChunks}0\r\n\r\n`],
])(
  'a request whose client disconnects while %s waits for its turn holds it until then, and is not executed',
  async (_, rest) => {
    const turns = new Turns();
    const turn = Promise.withResolvers<void>();
    const take = jest.spyOn(turns, 'take').mockReturnValue(turn.promise);
    const { url, account, requests, executions, statuses, hold } = await start({ turns });
    hold();
    const socket = connectTo(url);
    const head = 'host: a\r\nauthorization: a\r\ncontent-type: application/json';
    socket.write(`POST /graphql HTTP/1.1\r\n${head}\r\n${rest}`);
    await until(() => take.mock.calls.length > 0);
    socket.resetAndDestroy();
    await until(() => statuses.includes(499));
    expect([requests.held, account.bytes > 100_000]).toEqual([1, true]);
    turn.resolve();
    await until(() => requests.held === 0);
    expect([account.bytes, executions.length]).toEqual([0, 0]);
  },
);

test('many requests at once are executed in several iterations of the event loop', async () => {
  const gateway = await start({});
  gateway.hold();
  const sockets = Array.from({ length: 40 }, () => connectTo(gateway.url));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  let iterations = 0;
  await until(() => iterations++ > 2 * sockets.length); // Node accepts one connection in each.
  const head = 'host: a\r\nauthorization: a\r\ncontent-type: application/json';
  const body = '{"query":"x"}';
  for (const socket of sockets) {
    socket.write(
      `POST /graphql HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  }
  let before = 0;
  let most = 0;
  await until(() => {
    most = Math.max(most, gateway.executions.length - before);
    before = gateway.executions.length;
    return before === sockets.length;
  });
  expect(most).toBeLessThanOrEqual(16);
  for (const execute of gateway.executions) execute();
  for (const socket of sockets) socket.destroy();
});

test('a request is received when its headers have arrived, before it waits for a place', async () => {
  const { requests, executions, received, hold, post } = await start({ requests: 1 });
  hold();
  const first = post('a');
  await until(() => executions.length === 1);
  const second = post('a');
  await until(() => requests.waiting === 1);
  const waitingSince = performance.now();
  executions[0]?.();
  await until(() => executions.length === 2);
  executions[1]?.();
  await Promise.all([first, second]);
  expect(received[1]).toBeLessThan(waitingSince);
});
