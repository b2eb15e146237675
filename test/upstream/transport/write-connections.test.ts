import type { Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { WriteConnections } from '../../../src/upstream/transport/write-connections.ts';
import { OutcomeUnknown } from '../../../src/upstream/upstream-error.ts';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { startTestGateway } from '../../../testkit/gateway.ts';
import { write } from '../../../testkit/graphql-operation.ts';
import { startHttpServer } from '../../../testkit/http-server.ts';
import { startTcp } from '../../../testkit/tcp-server.ts';
import {
  glCodesOf,
  scopeOf,
  startCalls,
  startOutcomes,
  upgradeToHq,
} from '../../support/upstream-call.ts';

/** Node's own global object, whose clock the connections use. */
declare const native: typeof globalThis;

/** Every operation decodes it as success. */
const body = '{"service_status":{"status":0},"list":[],"status":0}';

/** A keep-alive timeout that no test waits for, in seconds. */
const LONG_S = 60;

type Behavior = {
  /** Closes a connection that has been idle for so long, in milliseconds. */
  closeAfterIdleMs?: number;
  /** Resets a connection when a second request arrives on it. */
  resetOnReuse?: boolean;
  /** The `Keep-Alive: timeout` of its responses, in seconds. 0 sends none. */
  announcedS?: number;
};

/** Starts a service that keeps and closes its connections independently of what it announces. */
async function startKeepAliveService(behavior: Behavior) {
  const { closeAfterIdleMs, resetOnReuse = false, announcedS = 0 } = behavior;
  /** `reused`: whether an earlier request arrived on the same connection. */
  const requests: { path: string; socket: Socket; reused: boolean }[] = [];
  const idleTimers = new Map<Socket, NodeJS.Timeout>();
  const used = new Set<Socket>();
  const { server, origin } = await startHttpServer((request, response) => {
    const { socket } = request;
    const reused = used.has(socket);
    used.add(socket);
    clearTimeout(idleTimers.get(socket));
    requests.push({ path: request.url?.split('?')[0] ?? '', socket, reused });
    if (resetOnReuse && reused) {
      socket.resetAndDestroy();
      return;
    }
    const closeLater = () => setTimeout(() => socket.destroy(), closeAfterIdleMs);
    if (closeAfterIdleMs) response.once('finish', () => idleTimers.set(socket, closeLater()));
    response.end(body);
  });
  server.keepAliveTimeout = announcedS * 1000;
  closeAfterTest(() => idleTimers.forEach(clearTimeout));
  return {
    url: `${origin}/`,
    requests,
    /** Announces this time from now on. */
    announce(seconds: number): void {
      server.keepAliveTimeout = seconds * 1000;
    },
    /** Waits until the connection of the n-th request is closed. */
    closed: (n: number) => closed(requests.at(n)?.socket),
  };
}

/** Waits until a connection is closed and both sides have noticed. */
async function closed(socket: Socket | undefined): Promise<void> {
  // `once` would reject if the gateway resets the connection.
  if (socket && !socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  await immediate();
  await immediate();
}

/** Starts calls to a service, with a function that sends the smallest write. */
function startWrites(service: { url: string }, keepAliveS?: number) {
  // A connection that is announced for 2 s may be idle for 0.3 s.
  const { calls } = startCalls(service, { idleMarginMs: 1700, keepAliveS });
  return {
    calls,
    write: (subject = 'ada') => calls.write(upgradeToHq, scopeOf(undefined, undefined, subject)),
  };
}

/** Starts calls to a service whose keep-alive is verified: writes reuse connections from now on. */
async function startVerified(behavior: Behavior = {}) {
  const service = await startKeepAliveService({ announcedS: 2, ...behavior });
  const { write } = startWrites(service);
  await write(); // Its connection is observed while idle, until shortly before the announced timeout.
  await service.closed(0);
  service.announce(LONG_S); // A connection is still open when a busy machine reuses it.
  /** For each request since then, whether it arrived on a connection used before. */
  const reuse = () => service.requests.slice(1).map(({ reused }) => reused);
  return { service, write, reuse };
}

// Depends on time: connections are closed shortly before, while and after they are used.
test.each([
  [12, 0],
  [4, 0],
  [12, 5],
  [4, 5],
])(
  'writes all have an outcome if connections close after %d ms, and %d s are announced',
  async (closeAfterIdleMs, announcedS) => {
    const service = await startKeepAliveService({ closeAfterIdleMs, announcedS });
    const { calls, write } = startWrites(service);
    const reads: Promise<unknown>[] = [];
    for (let n = 0; n < 40; n++) {
      // Reads leave idle connections, which a write must not use.
      if (n % 4 === 0) reads.push(calls.read(glCodesOf(`p${n}`), scopeOf()));
      expect(await write()).toMatchObject({ status: 0 });
      await sleep(closeAfterIdleMs - 3 + (n % 6));
    }
    const list = { invoiceId: null, message: null, status: 0, list: [], bytes: body.length };
    expect(await Promise.all(reads)).toEqual(Array(10).fill(list));
    const sent = service.requests.filter(({ path }) => path === '/upgradeToHQ');
    expect(sent.map(({ reused }) => reused)).toEqual(Array(40).fill(false));
  },
);

test('a read succeeds at the next attempt if its reused connection is reset', async () => {
  const service = await startKeepAliveService({ resetOnReuse: true });
  const { read } = startOutcomes(service.url);
  for (let n = 0; n < 5; n++) {
    expect(await read()).toBe('success');
    await immediate();
  }
  // Each read after the first one used the connection of the read before it.
  expect(service.requests.filter(({ reused }) => reused)).toHaveLength(4);
});

test('concurrent writes have connections of their own, which writes reuse until one closes early', async () => {
  const { service, write, reuse } = await startVerified();
  await Promise.all([write(), write()]);
  for (let n = 0; n < 2; n++) await write();
  service.requests.at(-1)?.socket.destroy();
  await service.closed(-1);
  for (let n = 0; n < 4; n++) expect(await write()).toMatchObject({ status: 0 });
  expect(reuse()).toEqual([false, false, true, true, ...Array(4).fill(false)]);
});

test('after a connection has closed early, none is reused for ten minutes', async () => {
  const { service, write, reuse } = await startVerified();
  await write();
  service.requests.at(-1)?.socket.destroy();
  await service.closed(-1);
  const now = native.performance.now.bind(native.performance);
  const clock = jest.spyOn(native.performance, 'now');
  closeAfterTest(() => clock.mockRestore());
  for (const laterMs of [0, 600_000]) {
    clock.mockImplementation(() => now() + laterMs);
    service.announce(2);
    await write(); // After ten minutes, its connection is observed.
    await service.closed(-1);
    service.announce(LONG_S);
    for (let n = 0; n < 2; n++) await write();
  }
  expect(reuse()).toEqual([...Array(6).fill(false), true]);
});

test('writes of a caller do not use the idle connections of another one', async () => {
  const { write, reuse } = await startVerified();
  for (const subject of ['ada', 'bob', 'ada', 'bob']) await write(subject);
  expect(reuse()).toEqual([false, false, true, true]);
});

test('a write is not sent on a connection that was closed together with the response before', async () => {
  let announcedS = 2;
  let closes = false;
  const { url, sockets } = await startTcp((socket) => {
    socket.on('data', () => {
      const head = `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=${announcedS}\r\nContent-Length: ${body.length}\r\n\r\n`;
      if (closes) socket.end(head + body);
      else socket.write(head + body);
    });
  });
  const { write } = startWrites({ url });
  await write();
  const [observed] = sockets;
  await closed(observed);
  announcedS = LONG_S;
  await write(); // Its connection is kept.
  closes = true;
  for (let n = 0; n < 3; n++) expect(await write()).toMatchObject({ status: 0 });
  expect(sockets).toHaveLength(4);
});

test.each([0, 1])(
  'a connection is not kept for writes if the announced timeout is %p s',
  async (announcedS) => {
    const service = await startKeepAliveService({ announcedS });
    const { write } = startWrites(service);
    for (let n = 0; n < 3; n++) {
      await write();
      await service.closed(n);
    }
    expect(service.requests.filter(({ reused }) => reused)).toEqual([]);
  },
);

test('connections are reused once the service announces for how long it keeps them', async () => {
  const service = await startKeepAliveService({});
  const { write } = startWrites(service);
  for (let n = 0; n < 2; n++) await write();
  service.announce(2);
  await write(); // Its connection is observed.
  await service.closed(2);
  service.announce(LONG_S);
  for (let n = 0; n < 2; n++) await write();
  const reuse = service.requests.map(({ reused }) => reused);
  expect(reuse).toEqual([false, false, false, false, true]);
});

test('a connection that closes at once does not show for how long the service keeps one', async () => {
  let version = '1.0'; // It keeps no connection.
  const { url, sockets } = await startTcp((socket) => {
    socket.on('data', () => {
      const head = `HTTP/${version} 200 OK\r\nKeep-Alive: timeout=${LONG_S}\r\nContent-Length: ${body.length}\r\n\r\n`;
      socket.write(head + body);
    });
  });
  const { write } = startWrites({ url });
  await write();
  await closed(sockets[0]);
  version = '1.1';
  for (let n = 0; n < 2; n++) await write();
  expect(sockets).toHaveLength(3);
});

test('with UPSTREAM_KEEP_ALIVE_S, connections are reused from the first write on, though the service announces nothing', async () => {
  const service = await startKeepAliveService({});
  const { write } = startWrites(service, LONG_S);
  for (let n = 0; n < 3; n++) expect(await write()).toMatchObject({ status: 0 });
  await write('bob');
  service.requests.at(0)?.socket.destroy();
  await service.closed(0);
  // The service keeps connections for less than configured. Until that is verified, none is reused.
  for (let n = 0; n < 3; n++) expect(await write()).toMatchObject({ status: 0 });
  const reuse = service.requests.map(({ reused }) => reused);
  expect(reuse).toEqual([false, true, true, false, false, false, false]);
});

test('the log says once that the service has closed a connection early', async () => {
  const service = await startKeepAliveService({});
  const gateway = await startTestGateway(service, { UPSTREAM_KEEP_ALIVE_S: `${LONG_S}` });
  for (let n = 0; n < 2; n++) {
    await gateway.post({ query: write });
    service.requests.at(-1)?.socket.destroy();
    await service.closed(-1);
  }
  await gateway.close();
  const lines = gateway.logs.filter(({ msg }) => msg === 'service closed a connection early');
  expect(lines).toEqual([expect.objectContaining({ level: 40, service: 'ledger' })]);
});

test('an announced time that is shorter than UPSTREAM_KEEP_ALIVE_S counts', async () => {
  const service = await startKeepAliveService({ announcedS: 1 });
  const { write } = startWrites(service, LONG_S);
  for (let n = 0; n < 3; n++) await write();
  expect(service.requests.map(({ reused }) => reused)).toEqual([false, false, false]);
});

test('a write lost on a reused connection ends the reuse', async () => {
  const { write, reuse } = await startVerified({ resetOnReuse: true });
  await write();
  const lost = await write();
  expect(lost).toBeInstanceOf(OutcomeUnknown);
  expect(lost).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
  for (let n = 0; n < 5; n++) expect(await write()).toMatchObject({ status: 0 });
  expect(reuse()).toEqual([false, true, ...Array(5).fill(false)]);
});

test('closing ends idle connections at once, and those in use after their response', async () => {
  const writes = new WriteConnections(
    'http://127.0.0.1:1',
    { keepAliveTimeoutThreshold: 1000 },
    60,
    () => {},
  );
  const announced = { 'keep-alive': 'timeout=60' };
  const idle = await writes.take('ada');
  idle.release(announced, 'yes');
  writes.close();
  expect(idle.dispatcher).toMatchObject({ destroyed: true });
  const inUse = await writes.take('ada');
  writes.close();
  expect(inUse.dispatcher).toMatchObject({ destroyed: false });
  inUse.release(announced, 'yes');
  expect(inUse.dispatcher).toMatchObject({ closed: true });
});
