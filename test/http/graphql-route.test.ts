import { once } from 'node:events';
import { expect, jest, test } from '@jest/globals';
import { until } from '../../testkit/eventually.ts';
import { later } from '../../testkit/fast-timeouts.ts';
import { createGate, createLane, createMemory, type Lane } from '../support/admission.ts';
import { connectTo } from '../support/raw-request.ts';
import { silentMetrics, startTestServer } from '../support/server.ts';

const head = (caller: string, rest: string) =>
  `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: ${caller}\r\ncontent-type: application/json\r\n${rest}`;

/** A server that takes the `Authorization` header for the caller, and executes when the test says so. */
async function start(limits: { requests?: number; bytes?: number; lane?: Lane } = {}) {
  const { lane = createLane() } = limits;
  const memory = createMemory(limits.bytes ?? 10_000_000);
  const requests = createGate({ limit: limits.requests ?? 100, maxWaiting: 8, idle: memory.idle });
  const executions: (() => void)[] = [];
  const received: number[] = [];
  const statuses: number[] = [];
  const state = { response: 'null', isHeld: false };
  const { url } = await startTestServer({
    memory,
    requests,
    lane,
    metrics: { ...silentMetrics, responded: ({ status }) => void statuses.push(status) },
    authenticator: {
      async authenticate({ headers: { authorization: name = '' } }) {
        const caller = { issuer: '', subject: name, hash: name, admissionKey: name };
        return { tokenHash: 'hash', token: name, caller };
      },
    },
    execute: async ({ scope }) => {
      received.push(scope?.receivedAt ?? Infinity);
      if (state.isHeld) await new Promise<void>((resolve) => executions.push(resolve));
      return { status: 200, headers: [], body: state.response };
    },
  });
  /** Sends the rest of a request after its first headers. */
  const send = (caller: string, rest: string) => {
    const socket = connectTo(url);
    socket.write(head(caller, rest));
    return socket;
  };
  return {
    url,
    memory,
    requests,
    executions,
    received,
    statuses,
    send,
    /** Whether executions wait for the test, and their response. */
    state,
    post(authorization: string, bytes = 10, signal: AbortSignal | null = null) {
      const headers = { authorization, 'content-type': 'application/json' };
      const body = JSON.stringify({ query: 'x'.repeat(bytes) });
      return fetch(`${url}/graphql`, { method: 'POST', headers, body, signal });
    },
    /** Sends headers that declare a body, and nothing of it. */
    declare: (caller: string, bytes: number) => send(caller, `content-length: ${bytes}\r\n\r\n`),
    /** Requests a long response, and does not read it. */
    async requestWithoutReading() {
      state.response = JSON.stringify('x'.repeat(40_000_000));
      const socket = send('a', 'content-length: 12\r\n\r\n{"query":""}').pause();
      await until(() => memory.held > 39_000_000);
      state.response = 'null';
      return socket;
    },
  };
}

/** Turns of which the first ones are taken when the test says so. */
function holdTurns() {
  const lane = createLane();
  const turn = Promise.withResolvers<void>();
  const take = jest.spyOn(lane, 'turn').mockReturnValueOnce(turn.promise);
  const taken = () => until(() => take.mock.calls.length > 0);
  return { lane, turn, take, taken };
}

test('bodies that are declared and not sent hold places of their caller only, and no memory', async () => {
  const { requests, memory, declare, post } = await start({ requests: 8 });
  const sockets = Array.from({ length: 12 }, () => declare('a', 65_536));
  await until(() => requests.waiting === 4);
  expect([requests.held, memory.held]).toEqual([4, 0]);
  expect((await post('b')).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await until(() => requests.held + requests.waiting === 0);
});

test('callers whose bodies do not arrive lose their places when others need them, but not for a body that arrives', async () => {
  const { requests, memory, executions, state, declare, post } = await start({ requests: 8 });
  state.isHeld = true;
  const executed = post('a');
  await until(() => executions.length === 1);
  const arriving = declare('a', 65_536);
  await until(() => requests.held === 2);
  const sockets = ['a', 'a', 'b', 'b', 'c', 'd'].map((caller) => declare(caller, 65_536));
  await until(() => requests.held === 8);
  arriving.write('x'.repeat(60_000));
  await until(() => memory.held > 0);
  const all = [executed];
  await later(async () => {
    all.push(post('e'), post('f'));
    await until(() => executions.length === 3);
  });
  for (const execute of executions) execute();
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(arriving.destroyed).toBe(false);
  for (const socket of [...sockets, arriving]) socket.destroy();
  await until(() => requests.held + requests.waiting === 0);
});

test('bodies are booked to their caller until they have been executed', async () => {
  const { memory, executions, state, post } = await start({ bytes: 1_500_000 });
  state.isHeld = true;
  const first = post('a', 150_000);
  await until(() => executions.length === 1);
  expect(memory.held).toBeGreaterThan(600_000);
  const second = await post('a', 150_000);
  expect(second.status).toBe(503);
  const client = new AbortController();
  const lost = post('b', 50_000, client.signal).catch(() => {});
  await until(() => executions.length === 2);
  client.abort();
  await lost;
  expect(memory.held).toBeGreaterThan(800_000);
  for (const execute of executions) execute();
  expect((await first).status).toBe(200);
  await until(() => memory.held === 0);
});

test('a request is executed in a turn of its caller', async () => {
  const { lane, turn, take, taken } = holdTurns();
  const { post, received } = await start({ lane });
  const response = post('a');
  await taken();
  expect(take.mock.calls[0]?.[0]).toBe('a');
  expect(received).toEqual([]);
  turn.resolve();
  expect((await response).status).toBe(200);
});

test('a rejection of a token takes a turn of those without one', async () => {
  const { lane, turn, take, taken } = holdTurns();
  const { url } = await startTestServer({ lane, introspection: false });
  const response = fetch(`${url}/graphql`);
  await taken();
  expect(take.mock.calls[0]?.[0]).toBe('anonymous');
  turn.resolve();
  expect((await response).status).toBe(401);
});

test.each([
  ['memory', {}, 'a', 12_000_000],
  ['place', { requests: 1 }, 'b', 10],
])('a response that nobody reads is dropped when its %s is needed', async (...row) => {
  const [, limits, caller, bytes] = row;
  const gateway = await start({ bytes: 100_000_000, ...limits });
  const { memory, requests, post } = gateway;
  const socket = await gateway.requestWithoutReading();
  const closed = once(socket, 'close');
  await later(async () => expect((await post(caller, bytes)).status).toBe(200));
  await until(() => requests.held === 0 && memory.held === 0);
  socket.resume();
  await closed;
});

test('a response that has just been sent is not dropped, although its memory is needed', async () => {
  const gateway = await start({ bytes: 100_000_000 });
  const socket = await gateway.requestWithoutReading();
  // On a busy machine, the request takes longer than the response may wait.
  const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  expect((await gateway.post('a', 12_000_000)).status).toBe(503);
  clock.mockRestore();
  expect(gateway.memory.held).toBeGreaterThan(39_000_000);
  socket.destroy();
  await until(() => gateway.memory.held === 0);
});

test('a response that is longer than what was booked for it is booked, or not sent', async () => {
  const { memory, state, post } = await start({ bytes: 5_000_000 });
  state.response = JSON.stringify('x'.repeat(2_000_000));
  expect((await post('a')).status).toBe(200);
  state.response = JSON.stringify('x'.repeat(4_000_000));
  expect((await post('a')).status).toBe(503);
  await until(() => memory.held === 0);
});

const longBody = JSON.stringify({ query: 'x'.repeat(30_000) });

test('a request whose client disconnects while its body waits for its turn holds it until then, and is not executed', async () => {
  const { lane, turn, take, taken } = holdTurns();
  take.mockReturnValue(turn.promise);
  const { memory, requests, executions, statuses, state, send } = await start({ lane });
  state.isHeld = true;
  const socket = send('a', `content-length: ${longBody.length}\r\n\r\n${longBody}`);
  await taken();
  socket.resetAndDestroy();
  await until(() => statuses.includes(499));
  expect([requests.held, memory.held > 100_000]).toEqual([1, true]);
  turn.resolve();
  await until(() => requests.held === 0);
  expect([memory.held, executions.length]).toEqual([0, 0]);
});

test('a request is received when its headers have arrived, before it waits for a place', async () => {
  const { requests, executions, received, state, post } = await start({ requests: 1 });
  state.isHeld = true;
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
