import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { operations } from '../../../src/upstream/declarations.ts';
import { until } from '../../../testkit/eventually.ts';
import { freePort } from '../../../testkit/port.ts';
import { startTcp } from '../../../testkit/tcp-server.ts';
import { retryable, startOutcomes, unknown } from '../../support/upstream-call.ts';

/** A write with a body. */
const save = { ...operations.saveApproverList.encode({}, [{}]), responseName: 'result' };

// Not sent: the write had no effect, and may be repeated.

test('a write is not sent if the connection is refused', async () => {
  const service = startOutcomes(`http://127.0.0.1:${await freePort()}/`);
  expect(await service.read()).toBe(retryable('UPSTREAM_UNAVAILABLE'));
  expect(await service.write()).toBe(retryable('UPSTREAM_UNAVAILABLE'));
  expect(await service.write(save)).toBe(retryable('UPSTREAM_UNAVAILABLE'));
});

test('a write is not sent if the host name cannot be resolved', async () => {
  const service = startOutcomes('http://nowhere.invalid/', { timeoutMs: 1000 });
  // If no name server responds, the deadline passes first.
  const either = /^retryable: UPSTREAM_(UNAVAILABLE|TIMEOUT)$/;
  expect(await service.read()).toMatch(either);
  expect(await service.write()).toMatch(either);
});

/** Reacts to the first bytes of a connection. */
const onRequest = (react: (socket: Socket) => unknown) => (socket: Socket) =>
  void socket.once('data', () => react(socket));

test.each<[name: string, 'url' | 'httpsUrl', onConnection: (socket: Socket) => unknown]>([
  ['closes each new connection', 'url', (socket) => socket.destroy()],
  ['resets each new connection', 'url', (socket) => socket.resetAndDestroy()],
  ['responds on and closes each one', 'url', (socket) => socket.end('HTTP/1.1 408 Late\r\n\r\n')],
  ['closes during the TLS handshake', 'httpsUrl', onRequest((socket) => socket.end())],
  ['resets during the TLS handshake', 'httpsUrl', onRequest((socket) => socket.resetAndDestroy())],
  ['has no TLS', 'httpsUrl', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
  [
    'has no certificate, and sends an alert',
    'httpsUrl',
    onRequest((socket) => socket.end(Buffer.of(0x15, 3, 3, 0, 2, 2, 40))),
  ],
])(
  'a write is not sent, and a read gets three attempts, if the service %s',
  async (_, protocol, onConnection) => {
    const tcp = await startTcp(onConnection);
    const service = startOutcomes(tcp[protocol]);
    expect(await service.write()).toBe(retryable('UPSTREAM_UNAVAILABLE'));
    expect(tcp.sockets).toHaveLength(1);
    expect(await service.read()).toBe(retryable('UPSTREAM_UNAVAILABLE'));
    expect(tcp.sockets).toHaveLength(4);
  },
);

// Maybe sent: the outcome of a write is unknown.

const partOfHead = 'HTTP/1.1 200 OK\r\ncontent-le';
const partOfBody = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"status":0';
const partOfChunks = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nc\r\n{"status":0}\r\n';

/** No event tells a server that its client has noticed what it sent. */
const resetLater = (socket: Socket) => setTimeout(() => socket.resetAndDestroy(), 50);
const unavailable = 'UPSTREAM_UNAVAILABLE';
const invalid = 'UPSTREAM_INVALID_RESPONSE';

test.each<[name: string, onConnection: (socket: Socket) => void, code: string]>([
  ['resets before it reads the request', (socket) => resetLater(socket.pause()), unavailable],
  ['resets after the request', onRequest((socket) => socket.resetAndDestroy()), unavailable],
  ['closes after the request', onRequest((socket) => socket.end()), unavailable],
  ['closes within the head', onRequest((socket) => socket.end(partOfHead)), unavailable],
  ['closes within the body', onRequest((socket) => socket.end(partOfBody)), invalid],
  [
    'resets within the body',
    onRequest((socket) => socket.write(partOfBody, () => resetLater(socket))),
    invalid,
  ],
  ['closes between two chunks', onRequest((socket) => socket.end(partOfChunks)), invalid],
])(
  'the outcome of a write is unknown, and a read gets three attempts, if the service %s',
  async (_, onConnection, code) => {
    const tcp = await startTcp(onConnection);
    const service = startOutcomes(tcp.url);
    expect(await service.write()).toBe(unknown(code));
    expect(await service.write(save)).toBe(unknown(code));
    expect(tcp.sockets).toHaveLength(2);
    expect(await service.read()).toBe(retryable(code));
    expect(tcp.sockets).toHaveLength(5);
  },
);

test('a large write that the service rejects before reading all of it is sent once', async () => {
  const tooLarge = 'HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n';
  const tcp = await startTcp(onRequest((socket) => socket.end(tooLarge)));
  const outcome = await startOutcomes(tcp.url).write({ ...save, body: 'x'.repeat(100_000) });
  expect(outcome).toBe('UPSTREAM_BAD_REQUEST');
  expect(tcp.sockets).toHaveLength(1);
});

test('the outcome of a write is unknown if the service switches protocols', async () => {
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
  const service = await startTcp(onRequest((socket) => socket.write(switching)));
  const outcome = await startOutcomes(service.url, { timeoutMs: 1000 }).write();
  expect(outcome).toMatch(/^unknown: /);
});

test('the deadline of a call alone limits how long a response may pause', async () => {
  const body = '{"service_status":{"status":0}}';
  // The clock by which undici ends a response that pauses.
  const timers = createRequire(import.meta.url)('undici/lib/util/timers.js');
  const { url, sockets } = await startTcp((socket) =>
    socket.once('data', () =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n{`),
    ),
  );
  const outcome = startOutcomes(url, { timeoutMs: 30_000 }).read();
  await until(() => sockets[0] !== undefined && sockets[0].bytesWritten > 0);
  for (let minutes = 0; minutes < 10; minutes++) {
    for (let n = 0; n < 20; n++) await immediate();
    timers.tick(60_000);
  }
  sockets[0]?.write(body.slice(1));
  expect(await outcome).toBe('success');
});
