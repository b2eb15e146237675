import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { expect, jest, test } from '@jest/globals';
import { bytesOf } from '../../src/lib/short-text.ts';
import type { RequestScope } from '../../src/request-scope.ts';
import { operations } from '../../src/upstream/declarations.ts';
import { Connections } from '../../src/upstream/transport/connections.ts';
import type { UpstreamError } from '../../src/upstream/upstream-error.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { anyWrite, write, writes } from '../../testkit/graphql-operation.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';
import { json, startService, success } from '../../testkit/service.ts';
import { startTcp } from '../../testkit/tcp-server.ts';
import { createMemory, createReservation } from '../support/admission.ts';
import { startHeldStack } from '../support/stack.ts';
import {
  glCodesOf,
  openPolicy,
  retryable,
  scopeOf,
  startCalls,
  startOutcomes,
  unknown,
  upgradeToHq,
} from '../support/upstream-call.ts';

/** The timeout, in milliseconds. `npm run stress` measures that a response is at most 250 ms late. */
const TIMEOUT_MS = 500;

/** Sends a read and a write at the same time, and returns their outcomes, which must not come before the deadline. */
async function outcomesAtDeadline(url: string): Promise<string[]> {
  const { read, write } = startOutcomes(url, { timeoutMs: TIMEOUT_MS });
  const start = performance.now();
  const outcomes = await Promise.all([read(), write()]);
  expect(performance.now() - start).toBeGreaterThan(TIMEOUT_MS * 0.9);
  return outcomes;
}

/** Sends a head after the request has arrived, then one part after another until the connection closes. */
function trickle(head: string, part: string) {
  return (socket: Socket) => {
    socket.once('data', () => {
      socket.write(head, 'latin1');
      const timer = setInterval(() => socket.write(part, 'latin1'), 30);
      socket.once('close', () => clearInterval(timer));
    });
  };
}

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n`;
const gzipHead = `content-encoding: gzip\r\n\r\na\r\n${gzipSync('').toString('latin1', 0, 10)}\r\n`;
/** A block of a gzip stream with one space. */
const gzipPart = '6\r\n\0\x01\0\xfe\xff \r\n';

test.each<[name: string, onConnection: (socket: Socket) => void]>([
  ['reads nothing', (socket) => socket.pause()],
  ['sends nothing', (socket) => socket.resume()],
  ['trickles early hints', trickle('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')],
  ['trickles its status line', trickle('HTTP/1.1 200 ', 'O')],
  ['trickles its headers', trickle(ok, 'x-a: b\r\n')],
  ['trickles its body', trickle(`${ok}content-length: 100000\r\n\r\n{`, ' ')],
  ['trickles its chunks', trickle(`${chunked}\r\n`, '1\r\n \r\n')],
  ['trickles a compressed body', trickle(chunked + gzipHead, gzipPart)],
  ['trickles a body of unknown length', trickle(`${ok}connection: close\r\n\r\n{`, ' ')],
])(
  'calls to a service that %s end at the deadline, after one attempt, and close their connections',
  async (_, onConnection) => {
    const { url, sockets } = await startTcp(onConnection);
    expect(await outcomesAtDeadline(url)).toEqual([
      retryable('UPSTREAM_TIMEOUT'),
      unknown('UPSTREAM_TIMEOUT'),
    ]);
    expect(sockets).toHaveLength(2);
    for (const socket of sockets) {
      socket.resume(); // A paused socket does not notice that the other side has closed.
      if (!socket.closed) await once(socket, 'close');
    }
  },
);

test.each([
  ['never ends', (socket: Socket) => socket.resume()],
  // The head of a handshake record of 16 KB, followed by single bytes.
  ['trickles', trickle('\x16\x03\x03\x40\x00\x02', '\x00')],
])('a write whose TLS handshake %s was not sent at the deadline', async (_, onConnection) => {
  const { httpsUrl } = await startTcp(onConnection);
  const timedOut = retryable('UPSTREAM_TIMEOUT');
  expect(await outcomesAtDeadline(httpsUrl)).toEqual([timedOut, timedOut]);
});

test('the timeout includes the time in the queue', async () => {
  const service = await startService();
  const { calls } = startCalls(service, { maxConcurrency: 5, timeoutMs: 1000 });
  const held = ['p1', 'p2', 'p3'].map((project) => calls.read(glCodesOf(project), scopeOf()));
  await service.arrived(3);
  const ended: string[] = [];
  const end = (name: string) => (error: UpstreamError) => ended.push(`${name} ${error.code}`);
  const queued = calls.read(glCodesOf('queued'), scopeOf()).catch(end('queued'));
  const later = calls.read(glCodesOf(), scopeOf('token', undefined, 'bob')).catch(end('later'));
  await service.arrived(4);
  for (const { respond } of service.received.slice(0, 3)) respond();
  await Promise.all([...held, queued, later]);
  expect(ended).toEqual(['queued UPSTREAM_TIMEOUT', 'later UPSTREAM_TIMEOUT']);
  expect(service.received).toHaveLength(5);
});

test('each write of a GraphQL operation has its own deadline', async () => {
  const { service, gateway } = await startHeldStack({ UPSTREAM_TIMEOUT_MS: String(TIMEOUT_MS) });
  const { data } = await gateway.graphql(write.replace('result:', `first: ${anyWrite()} result:`));
  expect(data.first).toEqual({ __typename: 'LedgerOutcomeUnknown' });
  expect(data.result).toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  expect(service.received).toHaveLength(2);
});

/** A turn that nobody gets before it is aborted. */
async function noTurn(signal?: AbortSignal): Promise<void> {
  if (signal && !signal.aborted) await once(signal, 'abort');
  throw new Error('aborted');
}

/** A turn to send a call, and never one to decode a response. */
function onlyToSend(): RequestScope['turn'] {
  let turns = 0;
  return (signal) => {
    turns += 1;
    return turns === 1 ? undefined : noTurn(signal);
  };
}

test('reads whose responses wait too long to be decoded time out, but do not open the circuit', async () => {
  const service = await startService(success);
  const { calls } = startCalls(service, { timeoutMs: 1000 });
  const reads = Array.from({ length: 12 }, (_, n) =>
    calls
      .read(glCodesOf(`p${n}`), {
        ...scopeOf('token', undefined, `caller ${n}`),
        turn: onlyToSend(),
      })
      .catch(({ code, sent }) => ({ code, sent })),
  );
  // The response to a write is read nevertheless, because it tells the outcome.
  const turn = async () => void (await Promise.all(reads));
  const writing = calls.write(upgradeToHq, { ...scopeOf(), turn });
  expect(await Promise.all(reads)).toEqual(
    Array(12).fill({ code: 'UPSTREAM_TIMEOUT', sent: 'yes' }),
  );
  expect(await writing).toMatchObject({ status: 0 });
  expect([calls.admission.circuit.state, calls.admission.gate.held]).toEqual(['closed', 0]);
});

test('a read takes a turn before it is sent, and is neither sent nor logged if its client disconnects before', async () => {
  const service = await startService(success);
  const recorder = createLogRecorder();
  const { calls } = startCalls(service, { log: recorder.createLogger() });
  const client = new AbortController();
  const asked = Promise.withResolvers<void>();
  const turn: RequestScope['turn'] = (signal) => {
    asked.resolve();
    return noTurn(signal);
  };
  const reading = calls.read(glCodesOf(), { ...scopeOf('token', client.signal), turn });
  await asked.promise;
  client.abort();
  await expect(reading).rejects.toMatchObject({ code: 'CLIENT_DISCONNECTED' });
  expect([service.received, recorder.lines]).toEqual([[], []]);
});

test('an unexpected error is logged with its stack and its cause', async () => {
  jest.spyOn(operations.upgradeToHQ.response, 'decode').mockImplementationOnce(() => {
    throw new TypeError('a bug', { cause: new Error('the cause') });
  });
  const recorder = createLogRecorder();
  const log = recorder.createLogger('error');
  const { calls } = startCalls(await startService(success), { log });
  const outcome = await calls.write(upgradeToHq, scopeOf());
  expect(outcome).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
  const [stack, cause] = [/TypeError: a bug\n +at /, /Error: the cause\n +at /];
  const error = { stack: expect.stringMatching(stack), cause: expect.stringMatching(cause) };
  expect(recorder.lines).toMatchObject([{ msg: 'internal error', requestId: 'request-1', error }]);
});

test('a read that does not fit into the memory now is OVERLOADED, one that never will is invalid, and a write is received or its outcome unknown', async () => {
  const message = 'x'.repeat(100_000);
  const body = JSON.stringify({ status: 0, service_status: { status: 0 }, message });
  const service = await startService((response) => {
    response.write(body); // Without a declared length.
    response.end();
  });
  const long = await startService(json({ status: 0, message: 'x'.repeat(200_000) }));
  const memory = createMemory(75_000);
  const { calls } = startCalls(service, { memory });
  const reading = calls.read(glCodesOf(), scopeOf());
  await expect(reading).rejects.toMatchObject({ code: 'OVERLOADED', sent: 'yes' });
  const decoding = startCalls(service, { memory: createMemory(250_000) }).calls.read(
    glCodesOf(),
    scopeOf(),
  );
  await expect(decoding).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', sent: 'yes' });
  expect(await calls.write(upgradeToHq, scopeOf())).toMatchObject({ status: 0, message });
  const writing = startCalls(long, { memory }).calls.write(upgradeToHq, scopeOf());
  expect(await writing).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
  expect([memory.held, calls.admission.gate.held]).toEqual([0, 0]);
});

test('the outcome of a write is booked when it arrives, and cut if there is no memory for it', async () => {
  const message = 'x'.repeat(100_000);
  const memory = createMemory(1_000_000);
  const { calls } = startCalls(await startService(json({ status: 0, message })));
  const writes = Array.from({ length: 8 }, () =>
    calls.write(upgradeToHq, { ...scopeOf(), reservation: createReservation(memory, 'a') }),
  );
  const lengths = (await Promise.all(writes)).map((outcome) => Number(outcome.message?.length));
  const sorted = lengths.toSorted((one, other) => one - other);
  expect(sorted).toEqual([...Array(6).fill(10_001), ...Array(2).fill(100_000)]);
  expect(memory.held).toBe(2 * bytesOf({ status: 0, message, invoiceId: null }));
});

test.each(['declared', 'not declared'])(
  'a long list whose length is %s is received when there is memory to decode it',
  async (how) => {
    const list = Array(10_000).fill({ Hide: null });
    const body = JSON.stringify({ service_status: { status: 0 }, list });
    const service = await startService((response) => {
      if (how === 'declared') response.setHeader('content-length', body.length);
      else response.flushHeaders();
      response.end(body);
    });
    const memory = createMemory(2_000_000);
    const other = createReservation(memory, 'other');
    other.resize(1_500_000);
    const { calls } = startCalls(service, { memory });
    let isRead = false;
    const reading = calls.read(glCodesOf(), scopeOf()).finally(() => {
      isRead = true;
    });
    while (memory.waiting === 0) await immediate();
    expect(isRead).toBe(false);
    expect(memory.held).toBeLessThan(1_700_000);
    other.close();
    expect((await reading).list).toHaveLength(10_000);
    expect(memory.held).toBe(0);
  },
);

test('a list is decoded when its caller holds no more than its share', async () => {
  const service = await startService(
    json({ service_status: { status: 0 }, list: [{ Code: '1' }] }),
  );
  const memory = createMemory(1_000_000);
  const others = createReservation(memory, 'ada');
  others.resize(600_000);
  const { calls, counts } = startCalls(service, { memory });
  const reading = calls.read(glCodesOf(), scopeOf());
  while (memory.waiting === 0) await immediate();
  expect(counts.attempted).toBe(0);
  others.close();
  expect((await reading).list).toEqual([{ Code: '1' }]);
  expect(memory.held).toBe(0);
});

/** A service in a thread, which responds while the event loop of the test is blocked. */
const serviceInThread = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { state, body, headers } = workerData;
  const set = (value) => (Atomics.store(state, 0, value), Atomics.notify(state, 0));
  const server = require('node:http').createServer((request, response) => {
    set(1);
    Atomics.wait(state, 0, 1);
    response.writeHead(200, headers).end(body, () => set(3));
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

test('a response that arrived while the process was frozen counts, even after the deadline', async () => {
  const state = new Int32Array(new SharedArrayBuffer(4));
  const compressed = { headers: { 'content-encoding': 'gzip' }, body: gzipSync('{"status":0}') };
  const workerData = { state, ...compressed };
  const thread = new Worker(serviceInThread, { eval: true, workerData });
  closeAfterTest(() => thread.terminate());
  const [port] = await once(thread, 'message');
  const { calls } = startCalls({ url: `http://127.0.0.1:${port}/` }, { timeoutMs: 300 });
  const start = performance.now();
  const writing = calls.write(upgradeToHq, scopeOf());
  while (Atomics.load(state, 0) !== 1) await immediate();
  Atomics.store(state, 0, 2);
  Atomics.notify(state, 0);
  Atomics.wait(state, 0, 2);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, start + 400 - performance.now());
  expect(await writing).toMatchObject({ status: 0 });
});

test('a write is not sent late, after the machine was suspended together with its monotonic clock', async () => {
  const service = await startService(success);
  const resumedAt = Date.now() + 3_600_000;
  const flush = () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(resumedAt);
    closeAfterTest(() => clock.mockRestore());
  };
  const log = createLogRecorder().createLogger('info', { flush });
  const { calls } = startCalls(service, { log });
  const writing = calls.write(upgradeToHq, scopeOf());
  await expect(writing).rejects.toMatchObject({ fault: 'too late to send', sent: 'no' });
  expect(service.received).toEqual([]);
});

test.each(['before they have a place', 'before they have a connection'])(
  'writes that are too late because the machine was suspended %s do not open the circuit',
  async (when) => {
    const service = await startService(success);
    let suspendedMs = 0;
    const { now } = Date;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + suspendedMs);
    closeAfterTest(() => clock.mockRestore());
    const suspend = () => {
      suspendedMs += 3_600_000;
    };
    const { calls } = startCalls(service, {
      log: createLogRecorder().createLogger('info', { flush: suspend }),
    });
    for (let n = 0; n < 10; n++) {
      const scope = scopeOf();
      if (when === 'before they have a place') suspend();
      const writing = calls.write(upgradeToHq, scope);
      await expect(writing).rejects.toMatchObject({ fault: 'too late to send' });
    }
    expect(calls.admission.circuit.state).toBe('closed');
  },
);

test('a write is not sent if the machine was suspended during an earlier write of its mutation', async () => {
  const { service, gateway } = await startHeldStack();
  const [first, second] = [writes.restartWorkflow2, writes.reStoreSolution];
  const sending = gateway.graphql(`mutation { first: ${first} second: ${second} }`);
  const { respond } = await service.arrived(1);
  const resumedAt = Date.now() + 3_600_000;
  const clock = jest.spyOn(Date, 'now').mockReturnValue(resumedAt);
  closeAfterTest(() => clock.mockRestore());
  service.respondWith(success);
  respond();
  const { data, errors } = await sending;
  expect(data).toMatchObject({ first: { __typename: 'WorkflowActionCompleted' }, second: null });
  expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_TIMEOUT' } }]);
  expect(service.received).toHaveLength(1);
});

test('a write that cannot be counted because of a bug was not sent, and its outcome is no unknown one', async () => {
  const service = await startService(success);
  const count = () => Promise.reject(new TypeError('a bug'));
  const { calls } = startCalls(service, { policy: { ...openPolicy, count } });
  const writing = calls.write(upgradeToHq, scopeOf());
  await expect(writing).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', sent: 'no' });
  expect(service.received).toEqual([]);
});

test('writes of the same iteration are sent after their log lines are written, and are pending until they end', async () => {
  const service = await startService(success);
  const recorder = createLogRecorder();
  const events: string[] = [];
  const { acquire } = Connections.prototype;
  const acquiring = jest.spyOn(Connections.prototype, 'acquire');
  acquiring.mockImplementation(function (this: Connections, effect) {
    events.push(effect);
    return acquire.call(this, effect);
  });
  closeAfterTest(() => acquiring.mockRestore());
  const flush = () => setImmediate(() => events.push('written'));
  const { calls } = startCalls(service, { log: recorder.createLogger('info', { flush }) });
  const writing = [1, 2].map(() => calls.write(upgradeToHq, scopeOf()));
  while (events.length < 4) await immediate();
  expect(events).toEqual(['written', 'write', 'written', 'write']);
  const sent = { requestId: 'request-1', operation: 'upgradeToHQ' };
  const lines = recorder.lines.filter(({ msg }) => msg === 'sent');
  expect(lines).toMatchObject([sent, sent]);
  expect(calls.pendingWrites).toMatchObject(Array(2).fill({ scope: { requestId: 'request-1' } }));
  await Promise.all(writing);
  expect(service.received).toHaveLength(2);
  expect(calls.pendingWrites).toEqual([]);
});

test('a write that waits for its place is not pending, because a forced exit loses no outcome of it', async () => {
  const service = await startService();
  const { calls } = startCalls(service, { maxConcurrency: 2 });
  const scopes = ['ada', 'bob', 'eve'].map((name) => {
    return { ...scopeOf(name, undefined, name), requestId: name };
  });
  const writing = scopes.map((scope) => calls.write(upgradeToHq, scope));
  await service.arrived(2);
  const pending = [...calls.pendingWrites];
  service.release();
  await Promise.all(writing);
  expect(pending).toMatchObject(['ada', 'bob'].map((requestId) => ({ scope: { requestId } })));
});
