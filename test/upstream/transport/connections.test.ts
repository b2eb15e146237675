import dns from 'node:dns';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, jest, test } from '@jest/globals';
import { operations } from '../../../src/upstream/declarations.ts';
import { Connections } from '../../../src/upstream/transport/connections.ts';
import type { TlsFiles } from '../../../src/upstream/transport/tls-files.ts';
import { OutcomeUnknown } from '../../../src/upstream/upstream-error.ts';
import { createPrivateCa } from '../../../testkit/certificate.ts';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { until } from '../../../testkit/eventually.ts';
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

/** How long a connection rests between two exchanges, and then for how long it is used at most, in milliseconds. */
const REST_MS = 50;
const LIFE_MS = 300_000;

/** Every operation decodes it as success. */
const body = '{"service_status":{"status":0},"list":[],"status":0}';
const ok = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

let aheadMs = 0;
/** Lets so much time pass for the connections. Nothing waits for it. */
const pass = (ms: number) => {
  aheadMs += ms;
};
beforeEach(() => {
  aheadMs = 0;
  const now = native.performance.now.bind(native.performance);
  const clock = jest.spyOn(native.performance, 'now').mockImplementation(() => now() + aheadMs);
  closeAfterTest(() => clock.mockRestore());
});

type Behavior = {
  /** The `Keep-Alive: timeout` of its responses, in seconds. Without it, they have no such header. */
  announcedS?: number;
  /** Resets a connection when a second request arrives on it. */
  resetOnReuse?: boolean;
};

/** Starts a service that keeps its connections, whatever it announces, until a test closes them. */
async function startKeeping(behavior: Behavior = {}) {
  const { announcedS, resetOnReuse = false } = behavior;
  const sockets: Socket[] = [];
  /** For each request the number of its connection. */
  const used: number[] = [];
  const { server, origin } = await startHttpServer((request, response) => {
    const { socket } = request;
    const isReused = sockets.includes(socket);
    if (!isReused) sockets.push(socket);
    used.push(sockets.indexOf(socket));
    if (resetOnReuse && isReused) return void socket.resetAndDestroy();
    // Without `Connection`, Node does not send `Keep-Alive` either.
    response.removeHeader('connection');
    if (announcedS !== undefined) response.setHeader('Keep-Alive', `timeout=${announcedS}`);
    response.end(body);
  });
  server.keepAliveTimeout = 600_000;
  return {
    url: `${origin}/`,
    used,
    /** Closes the connection of the last request. */
    async close(): Promise<void> {
      sockets[used.at(-1) ?? 0]?.destroy();
      await settled();
    },
  };
}

/** Both sides notice that a connection was closed. */
async function settled(): Promise<void> {
  for (let n = 0; n < 10; n++) await immediate();
}

/** Starts calls to a service. */
function start(service: { url: string }, keepAliveS?: number, tls: TlsFiles = {}) {
  const { calls, counts } = startCalls(service, { keepAliveS, tls });
  let project = 0;
  return {
    counts,
    write: (subject = 'ada') => calls.write(upgradeToHq, scopeOf(subject, undefined, subject)),
    read(subject = 'ada') {
      project += 1;
      return calls.read(glCodesOf(`p${project}`), scopeOf(subject, undefined, subject));
    },
  };
}

/** Sends writes, each so long after the one before it. */
async function writeAfter(write: () => Promise<object>, ...idleMs: number[]): Promise<void> {
  for (const ms of idleMs) {
    pass(ms);
    expect(await write()).toMatchObject({ status: 0 });
  }
}

test('callers share connections, each of which rests after an exchange', async () => {
  const service = await startKeeping({ announcedS: 60 });
  const { read, write, counts } = start(service);
  await Promise.all([read('ada'), read('bob')]);
  await read('cyd');
  pass(REST_MS);
  await write('dan');
  await read('eve');
  // The write took the connection that was idle for the shortest time, and the read the other ones in turn.
  expect(service.used.slice(2)).toEqual([2, 2, expect.any(Number)]);
  expect(counts.opened).toBe(3);
});

// A surplus response.

test.each([0, 1, 3, 10, 30])(
  'no caller gets a second response that a service sends %d ms after the first one',
  async (laterMs) => {
    const requests: number[] = [];
    const { url } = await startTcp((socket) => {
      const index = requests.push(0) - 1;
      socket.on('data', (request) => {
        requests[index] = (requests[index] ?? 0) + 1;
        const message = /Bearer (\w+)/i.exec(String(request))?.[1];
        const text = JSON.stringify({
          service_status: { status: 0, message },
          list: [],
          status: 0,
          message,
        });
        const response = `HTTP/1.1 200 OK\r\nkeep-alive: timeout=60\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
        if (laterMs === 0) return void socket.write(response + response);
        socket.write(response);
        setTimeout(() => socket.writable && socket.write(response), laterMs);
      });
    });
    const { read, write, counts } = start({ url });
    const names = ['ada', 'bob', 'cyd', 'dan'];
    for (let n = 0; n < 150; n++) {
      const calls = names.map((name) => (n % 3 === 0 ? write(name) : read(name)));
      expect(await Promise.all(calls)).toEqual(
        names.map((message) => expect.objectContaining({ message })),
      );
      // What a busy machine delays is no surplus any more, but the response to nothing.
      await sleep(n % 4);
    }
    expect(counts.surplus).toBe(1);
    // After the first surplus, which is noticed before a connection is used again, none is.
    expect(Math.max(...requests)).toBe(1);
  },
);

test('after a surplus response, the connections of all callers end, and each request has a new one', async () => {
  const heads: string[] = [];
  const { url, sockets } = await startTcp((socket) =>
    socket.on('data', (head) => {
      heads.push(String(head));
      socket.write(ok);
    }),
  );
  const { read, write, counts } = start({ url }, 60);
  await Promise.all([read('ada'), read('bob')]);
  const closed = sockets.map((socket) => once(socket, 'close'));
  sockets[0]?.write(ok);
  await Promise.all(closed);
  for (const call of [read, write, read]) {
    pass(REST_MS);
    await call();
  }
  expect(sockets).toHaveLength(5);
  expect(heads.slice(2)).toEqual(Array(3).fill(expect.stringContaining('connection: close')));
  expect(counts.surplus).toBe(1);
});

test.each(['url', 'httpsUrl'] as const)(
  'what arrives just before a connection is used again is noticed, and the request goes on a new one (%s)',
  async (protocol) => {
    const ca = await createPrivateCa();
    const { [protocol]: url, sockets } = await startTcp(
      (socket) => socket.on('data', () => socket.write(ok)),
      protocol === 'httpsUrl' ? await ca.issue('service') : undefined,
    );
    const { read, write, counts } = start({ url }, 60, { ca: ca.cert });
    await read();
    pass(REST_MS);
    sockets[0]?.write(ok.replace('"status":0}', '"status":3}'));
    expect(await write()).toMatchObject({ status: 0 });
    expect(counts).toMatchObject({ surplus: 1, opened: 2 });
  },
);

test('the log says once that the service has sent a surplus response', async () => {
  const { url } = await startTcp((socket) => socket.on('data', () => socket.write(ok + ok)));
  const gateway = await startTestGateway({ url });
  for (let n = 0; n < 3; n++) await gateway.post({ query: write });
  await gateway.close();
  const lines = gateway.logs.filter(({ msg }) => /surplus/.test(String(msg)));
  expect(lines).toEqual([expect.objectContaining({ level: 50, service: 'ledger' })]);
});

test.each([
  ['a 408 with its last bytes', 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n', true],
  ['a 408 before it closes', 'HTTP/1.0 408 Request Time-out\r\nconnection: close\r\n\r\n', false],
  ['a line break', '\r\n', false],
  ['a series of line breaks', '\r\n'.repeat(20), false],
])(
  '%s on an idle connection is no surplus response, but ends the connection',
  async (_, bytes, closes) => {
    const { url, sockets } = await startTcp((socket) => socket.on('data', () => socket.write(ok)));
    const { read, write, counts } = start({ url }, 60);
    await Promise.all([read('ada'), read('bob')]);
    const closed = sockets.slice(0, 1).map((socket) => once(socket, 'close'));
    if (closes) sockets[0]?.end(bytes);
    else sockets[0]?.write(bytes);
    await Promise.all(closed);
    await settled();
    pass(REST_MS);
    for (const call of [read, write]) expect(await call()).toMatchObject({ status: 0 });
    // The read took the other connection, and the write, for which nothing is certain any more, has a new one.
    expect(counts).toMatchObject({ surplus: 0, closedEarly: 1, opened: 3 });
  },
);

test('a 408 in response to a request is its response', async () => {
  const { url } = await startTcp((socket) =>
    socket.on('data', () =>
      socket.end('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n'),
    ),
  );
  expect(await startOutcomes(url).write()).toBe('unknown: UPSTREAM_FAILED');
});

// An exchange that has not ended whole.

test('a connection is not used again if the service responded before it received the whole request, which is sent to its end', async () => {
  const { url, sockets } = await startTcp((socket) =>
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    }),
  );
  const { write } = startOutcomes(url, { keepAliveS: 60 });
  const upload = {
    ...upgradeToHq,
    operation: operations.updateWorkflowCSV,
    body: 'x'.repeat(12_000_000),
  };
  for (let n = 0; n < 2; n++) {
    expect(await write(upload)).toBe('FORBIDDEN');
    pass(REST_MS);
  }
  expect(sockets).toHaveLength(2);
  const [first] = sockets;
  first?.resume();
  await until(() => Number(first?.bytesRead) > upload.body.length);
});

test.each(['Connection: close', 'Connection: Keep-Alive, Close'])(
  'a connection is not used again after a response with `%s`',
  async (header) => {
    const { url, sockets } = await startTcp((socket) =>
      socket.on('data', () => socket.write(ok.replace('\r\n', `\r\n${header}\r\n`))),
    );
    const { read } = start({ url });
    for (let n = 0; n < 3; n++) {
      await read();
      pass(REST_MS);
    }
    expect(sockets).toHaveLength(3);
  },
);

// When a write is sent on a connection that was used before.

test('a write is sent on a used connection as long as the service announces that it keeps one, minus a margin', async () => {
  const service = await startKeeping({ announcedS: 60 });
  const { write } = start(service);
  await writeAfter(write, 0, REST_MS, 57_900, 58_100, 100);
  expect(service.used).toEqual([0, 0, 0, 1, 1]);
});

test.each([0, 1])('a connection is not kept if the service announces %d s', async (announcedS) => {
  const service = await startKeeping({ announcedS });
  const { read, write } = start(service);
  for (const call of [read, write, read]) {
    await call();
    pass(REST_MS);
  }
  expect(service.used).toEqual([0, 1, 2]);
});

test('with UPSTREAM_KEEP_ALIVE_S, a write is sent on a used connection from the start', async () => {
  const service = await startKeeping();
  const { write } = start(service, 30);
  await writeAfter(write, 0, REST_MS, 27_900, 28_100);
  expect(service.used).toEqual([0, 0, 0, 1]);
});

test('without an announcement, a write waits for half as long as the longest time after which a read was answered', async () => {
  const service = await startKeeping();
  const { read, write } = start(service);
  await writeAfter(write, 0, REST_MS);
  expect(service.used).toEqual([0, 1]); // Nothing is known yet, and no write tries it out.
  pass(1000);
  await read();
  await writeAfter(write, 400, 1100);
  expect(service.used.slice(3)).toEqual([service.used[2], 2]);
});

test('nothing is learned from a read whose connection the service closes just before', async () => {
  const { url, sockets } = await startTcp((socket) => socket.on('data', () => socket.write(ok)));
  const { read, write } = start({ url });
  await read();
  pass(1000);
  sockets[0]?.end();
  await read();
  await writeAfter(write, 400);
  expect(sockets).toHaveLength(3);
});

test('however long the service keeps connections, none is used for a write after more than a minute', async () => {
  const service = await startKeeping();
  const { read, write } = start(service);
  for (let n = 0; n < 2; n++) {
    await read();
    pass(200_000);
  }
  await read();
  await writeAfter(write, 59_900, 60_100);
  const [first, second, ...rest] = service.used.slice(2);
  expect(second).toBe(first);
  expect(rest).not.toContain(first);
});

test('after a connection has closed early, nothing is learned for a minute, and announcements no longer count', async () => {
  const service = await startKeeping({ announcedS: 60 });
  const { read, write, counts } = start(service);
  await write();
  pass(1000);
  await service.close();
  await writeAfter(write, 0, REST_MS, REST_MS);
  expect(service.used).toEqual([0, 1, 2, 3]);
  pass(1000);
  await read(); // On a used connection, but too early to learn from it.
  await writeAfter(write, 200);
  pass(60_000);
  await writeAfter(write, REST_MS);
  const before = service.used.length;
  await read();
  pass(1000);
  await read();
  await writeAfter(write, 400);
  const [, second, third] = service.used.slice(before);
  expect(third).toBe(second);
  expect(new Set(service.used.slice(0, before)).size).toBe(before - 1);
  expect(counts.closedEarly).toBe(1);
});

test('a connection that closes later than was certain is no surprise, but nothing beyond is certain any more', async () => {
  const service = await startKeeping();
  const { read, write, counts } = start(service);
  await read();
  pass(1000);
  await read();
  pass(700);
  await service.close();
  await writeAfter(write, 0);
  await writeAfter(write, 400);
  await writeAfter(write, 300);
  expect(service.used).toEqual([0, 0, 1, 2, 2]);
  expect(counts.closedEarly).toBe(0);
});

test('a write lost on a used connection is not repeated, and ends the use of others', async () => {
  const service = await startKeeping({ announcedS: 60, resetOnReuse: true });
  const { write, counts } = start(service);
  await write();
  pass(REST_MS);
  const lost = await write();
  expect(lost).toBeInstanceOf(OutcomeUnknown);
  expect(lost).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
  await writeAfter(write, REST_MS, REST_MS);
  expect(service.used).toEqual([0, 0, 1, 2]);
  expect(counts.closedEarly).toBe(1);
});

test('a read succeeds at the next attempt if its used connection is reset', async () => {
  const service = await startKeeping({ resetOnReuse: true });
  const { read } = startOutcomes(service.url);
  for (let n = 0; n < 5; n++) {
    expect(await read()).toBe('success');
    pass(REST_MS);
  }
  expect(service.used).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4]);
});

test('a write is not sent on a connection that was closed together with the response before it', async () => {
  let closes = false;
  const { url, sockets } = await startTcp((socket) =>
    socket.on('data', () => (closes ? socket.end(ok) : socket.write(ok))),
  );
  const { write } = start({ url }, 60);
  await writeAfter(write, 0);
  closes = true;
  await writeAfter(write, REST_MS, REST_MS, REST_MS);
  expect(sockets).toHaveLength(3);
});

test('a write is not sent on a connection that the service closes just before', async () => {
  const { url, sockets } = await startTcp((socket) => socket.on('data', () => socket.write(ok)));
  const { write, counts } = start({ url }, 60);
  await writeAfter(write, 0);
  sockets[0]?.end();
  await writeAfter(write, REST_MS);
  expect(sockets).toHaveLength(2);
  expect(counts).toMatchObject({ opened: 2, closedEarly: 1 });
});

// Depends on time: connections are closed shortly before, while and after they are used.
test('writes all have an outcome if connections close after 55, 110 or 160 ms, which nobody announces', async () => {
  const sendTo = async (closeAfterMs: number) => {
    const timers = new Map<Socket, NodeJS.Timeout>();
    const { url } = await startTcp((socket) =>
      socket.on('data', () => {
        clearTimeout(timers.get(socket));
        timers.set(
          socket,
          setTimeout(() => socket.end(), closeAfterMs),
        );
        socket.write(ok);
      }),
    );
    const { read, write } = start({ url });
    for (let n = 0; n < 30; n++) {
      const reading = n % 3 === 0 ? read() : undefined;
      expect([closeAfterMs, await write()]).toMatchObject([closeAfterMs, { status: 0 }]);
      await reading;
      await sleep(closeAfterMs - 3 + (n % 6));
    }
    for (const timer of timers.values()) clearTimeout(timer);
  };
  await Promise.all([55, 110, 160].map(sendTo));
});

test('the log says that the service has closed a connection early', async () => {
  const service = await startKeeping();
  const gateway = await startTestGateway(service, { UPSTREAM_KEEP_ALIVE_S: '60' });
  for (let n = 0; n < 2; n++) {
    await gateway.post({ query: write });
    await service.close();
  }
  await gateway.close();
  const lines = gateway.logs.filter(({ msg }) => msg === 'service closed a connection early');
  expect(lines).toEqual([expect.objectContaining({ level: 40, service: 'ledger' })]);
});

// How many connections there are, and for how long.

/** Starts a service with this name as its list's message, on an address of its own. */
async function startInstance(name: string, host: string, port = 0) {
  const server: Server = createServer((_request, response) => {
    const status = { status: 0, message: name };
    response.end(JSON.stringify({ service_status: status, list: [], ...status }));
  });
  server.keepAliveTimeout = 600_000;
  server.listen(port, host);
  await once(server, 'listening');
  closeAfterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** Starts two instances of a service, and calls to its name, which resolves to the first one until a test changes that. */
async function startTwo() {
  const first = await startInstance('first', '127.0.0.1');
  await startInstance('second', '127.0.0.2', first.port);
  let address = '127.0.0.1';
  const lookup = jest
    .spyOn(dns, 'lookup')
    .mockImplementation(((
      _name: string,
      _options: object,
      callback: (error: null, all: object[]) => void,
    ) => callback(null, [{ address, family: 4 }])) as typeof dns.lookup);
  closeAfterTest(() => lookup.mockRestore());
  return {
    first,
    ...start({ url: `http://service.test:${first.port}/` }),
    resolveToSecond() {
      address = '127.0.0.2';
    },
  };
}

test('an instance of the service that goes away is left at once for the one that its name resolves to', async () => {
  const { read, write, first, resolveToSecond } = await startTwo();
  for (const call of [read, write]) expect(await call()).toMatchObject({ message: 'first' });
  resolveToSecond();
  first.server.closeAllConnections();
  first.server.close();
  await settled();
  pass(REST_MS);
  for (const call of [read, write]) expect(await call()).toMatchObject({ message: 'second' });
});

test('a name that resolves elsewhere is followed within five minutes, while the first instance stays', async () => {
  const { read, resolveToSecond } = await startTwo();
  expect(await read()).toMatchObject({ message: 'first' });
  resolveToSecond();
  pass(LIFE_MS / 2);
  expect(await read()).toMatchObject({ message: 'first' });
  pass(LIFE_MS / 2);
  expect(await read()).toMatchObject({ message: 'second' });
});

test('at most 512 connections are idle after their rest, and those that were idle for longest end', async () => {
  const connections = new Connections({
    ...{ baseUrl: new URL('http://127.0.0.1:1'), timeoutMs: 1000, tls: {} },
    observer: { opened() {}, closedEarly() {}, surplus() {} },
  });
  closeAfterTest(() => connections.close());
  const taken = Array.from({ length: 514 }, () => connections.acquire('read'));
  for (const open of taken) connections.release(open, {}, 'yes');
  expect(taken.some(({ dispatcher }) => Reflect.get(dispatcher, 'destroyed'))).toBe(false);
  pass(REST_MS);
  connections.acquire('read');
  const isDestroyed = taken.map(({ dispatcher }) => Reflect.get(dispatcher, 'destroyed'));
  expect(isDestroyed.indexOf(false)).toBe(2);
  expect(isDestroyed.lastIndexOf(true)).toBe(1);
});

test('closing ends idle connections at once, and those in use after their response', async () => {
  const connections = new Connections({
    ...{ baseUrl: new URL('http://127.0.0.1:1'), timeoutMs: 1000, tls: {} },
    observer: { opened() {}, closedEarly() {}, surplus() {} },
  });
  const [idle, inUse] = [connections.acquire('read'), connections.acquire('read')];
  connections.release(idle, {}, 'yes');
  connections.close();
  expect(idle.dispatcher).toMatchObject({ destroyed: true });
  expect(inUse.dispatcher).toMatchObject({ destroyed: false });
  connections.release(inUse, {}, 'yes');
  expect(inUse.dispatcher).toMatchObject({ closed: true });
});
