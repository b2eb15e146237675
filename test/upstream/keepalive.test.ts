import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { readStatus } from '../../src/upstream/wire.ts';
import {
  closeAfterTest,
  portOf,
  read,
  startTcp,
  startTestGateway,
  write,
  writes,
} from '../helper.ts';
import { never, readOf, startCalls, writeOf } from './held.ts';

const answer = '{"service_status":{"status":0},"list":[],"status":0}';

type Behaviour = {
  /** Drops a connection that has been idle for so long, in milliseconds. */
  idleMs?: number;
  /** Resets a connection as soon as a second request comes on it. */
  once?: boolean;
  /** For how long it says that it keeps a connection, in seconds. */
  announcedS?: number;
};

/** A service that keeps connections, and drops them as it likes, whatever it says. */
async function startDropping({ idleMs, once: onlyOnce = false, announcedS = 0 }: Behaviour) {
  const calls: { path: string; socket: Socket; reused: boolean }[] = [];
  const idle = new Map<Socket, NodeJS.Timeout>();
  const seen = new Set<Socket>();
  const server = createServer((request, response: ServerResponse) => {
    const { socket } = request;
    const reused = seen.has(socket);
    seen.add(socket);
    clearTimeout(idle.get(socket));
    calls.push({ path: request.url?.split('?')[0] ?? '', socket, reused });
    if (onlyOnce && reused) {
      socket.resetAndDestroy();
      return;
    }
    if (idleMs !== undefined) {
      response.once('finish', () =>
        idle.set(
          socket,
          setTimeout(() => socket.destroy(), idleMs),
        ),
      );
    }
    response.end(answer);
  });
  server.keepAliveTimeout = announcedS * 1000; // With 0, nothing is said.
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAfterTest(async () => {
    for (const timer of idle.values()) clearTimeout(timer);
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${portOf(server.address())}/`,
    calls,
    of: (path: string) => calls.filter((call) => call.path === path),
  };
}

test('a service that gives no hint is one that reads keep connections to', async () => {
  const service = await startDropping({});
  const gateway = await startTestGateway(service);
  for (let n = 0; n < 5; n++) await gateway.graphql(read);
  expect(service.calls.map(({ reused }) => reused)).toEqual([false, true, true, true, true]);
});

// The passing of time is what these are about.
const idleTimes: [idleMs: number, announcedS: number, gapMs: (n: number) => number][] = [
  [12, 0, (n) => 9 + (n % 6)],
  [4, 0, (n) => 1 + (n % 5)],
  [12, 5, (n) => 9 + (n % 6)],
  [4, 5, (n) => 1 + (n % 5)],
];

test.each(idleTimes)(
  '200 writes beside connections dropped after %d ms, announced for %d s, have an outcome',
  async (...times) => {
    const [idleMs, announcedS, gapMs] = times;
    const service = await startDropping({ idleMs, announcedS });
    const { call } = startCalls(service);
    const reading: Promise<unknown>[] = [];
    for (let n = 0; n < 200; n++) {
      // Reads leave idle connections behind, which a write could take.
      if (n % 4 === 0) reading.push(call(readOf('token', `p${n}`), (value) => value, never));
      expect(await call(writeOf('token'), readStatus, never)).toMatchObject({ status: 0 });
      await sleep(gapMs(n));
    }
    expect(await Promise.all(reading)).toEqual(Array(50).fill(JSON.parse(answer)));

    const sent = service.of('/upgradeToHQ');
    expect(sent).toHaveLength(200);
    expect(sent.filter(({ reused }) => reused)).toEqual([]);
  },
);

test('the writes of one operation survive a service that hangs up after each answer', async () => {
  const service = await startDropping({ idleMs: 0 });
  const gateway = await startTestGateway(service, { MAX_WRITES_PER_OPERATION: '20' });
  const fields = Array.from({ length: 20 }, (_, n) => `w${n}: ${writes.upgradeToHQ}`);
  for (let n = 0; n < 5; n++) {
    const { data } = await gateway.graphql(`mutation { ${fields.join(' ')} }`);
    for (const result of Object.values(data)) {
      expect(result).toMatchObject({ __typename: 'WorkflowActionCompleted' });
    }
  }
  expect(service.of('/upgradeToHQ')).toHaveLength(100);
});

test('a write beside connections that are dropped under whoever uses them is sent once', async () => {
  const service = await startDropping({ once: true });
  const gateway = await startTestGateway(service);
  await gateway.graphql(read); // Leaves a connection that the next request on it would lose.
  for (let n = 0; n < 10; n++) {
    const { data } = await gateway.graphql(write);
    expect(data.result.__typename).toBe('WorkflowActionCompleted');
  }
  expect(service.of('/upgradeToHQ')).toHaveLength(10);
});

test('a read whose connection is dropped under it is answered by another attempt', async () => {
  const service = await startDropping({ once: true });
  const gateway = await startTestGateway(service);
  for (let n = 0; n < 5; n++) {
    const { data, errors } = await gateway.graphql(read);
    expect(errors).toBeUndefined();
    expect(data.result.__typename).toBe('GlCodeList');
  }
  // Every second attempt found a connection that had been used.
  expect(service.calls.filter(({ reused }) => reused)).toHaveLength(4);
});

test('a write tells the service that its connection is not kept', async () => {
  const service = await startDropping({});
  const gateway = await startTestGateway(service);
  await gateway.graphql(write);
  const [call] = service.calls;
  if (call && !call.socket.closed) await once(call.socket, 'close');
  expect(call?.socket.closed).toBe(true);
});

type Dropping = Awaited<ReturnType<typeof startDropping>>;

/** Waits until the connection of the n-th call was closed, by whichever side, and both sides know. */
async function closed({ calls }: Dropping, n: number): Promise<void> {
  const socket = calls.at(n)?.socket;
  if (socket && !socket.closed) await once(socket, 'close');
  await immediate();
  await immediate();
}

test('writes go out on a kept connection once the service has kept its word', async () => {
  const service = await startDropping({ announcedS: 2 });
  const { call } = startCalls(service);
  const send = () => call(writeOf('token'), readStatus, never);
  // The first is left open, and nothing sent on it, for a second less than was announced.
  await send();
  await send();
  await closed(service, 0);
  for (let n = 0; n < 4; n++) await send();
  expect(service.calls.map(({ reused }) => reused)).toEqual([
    ...[false, false],
    ...[false, true, true, true],
  ]);

  // A word that is broken is not believed again.
  const [, , kept] = service.calls;
  kept?.socket.destroy();
  await closed(service, 2);
  for (let n = 0; n < 4; n++) expect(await send()).toMatchObject({ status: 0 });
  expect(service.calls.slice(6).map(({ reused }) => reused)).toEqual(Array(4).fill(false));
});

test('writes at once go out on connections of their own, and keep those', async () => {
  const service = await startDropping({ announcedS: 2 });
  const { call } = startCalls(service);
  const send = () => call(writeOf('token'), readStatus, never);
  await send();
  await closed(service, 0);
  for (let round = 0; round < 2; round++) await Promise.all([send(), send(), send()]);
  expect(service.calls.map(({ reused }) => reused)).toEqual([
    false,
    ...[false, false, false],
    ...[true, true, true],
  ]);
});

test.each([0, 1])('a connection announced for %d s is not kept for a write', async (announcedS) => {
  const service = await startDropping({ announcedS });
  const { call } = startCalls(service);
  const send = () => call(writeOf('token'), readStatus, never);
  for (let n = 0; n < 3; n++) {
    await send();
    await closed(service, n);
  }
  expect(service.calls.filter(({ reused }) => reused)).toEqual([]);
});

test('a write that was lost on a kept connection ends the keeping', async () => {
  // It leaves idle connections alone, and resets whoever uses one again.
  const service = await startDropping({ announcedS: 2, once: true });
  const { call } = startCalls(service);
  const send = () => call(writeOf('token'), readStatus, never).catch((error: unknown) => error);
  await send();
  await closed(service, 0);
  await send();
  expect(await send()).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', effect: 'possible' });
  for (let n = 0; n < 5; n++) expect(await send()).toMatchObject({ status: 0 });
  expect(service.calls.slice(3).map(({ reused }) => reused)).toEqual(Array(5).fill(false));
});

test('an announcement on a connection that is not kept is none', async () => {
  const { url, sockets } = await startTcp((socket) => {
    // Without a length, the answer lasts until the connection ends.
    socket.once('data', () => {
      socket.end(`HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\n\r\n${answer}`);
    });
  });
  const { call } = startCalls({ url });
  for (let n = 0; n < 4; n++) {
    expect(await call(writeOf('token'), readStatus, never)).toMatchObject({ status: 0 });
  }
  expect(sockets).toHaveLength(4);
});
