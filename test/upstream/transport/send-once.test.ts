import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { Connections } from '../../../src/upstream/transport/connections.ts';
import { defineRequest } from '../../../src/upstream/transport/got-client.ts';
import { Exchange } from '../../../src/upstream/transport/send-once.ts';
import { UpstreamError } from '../../../src/upstream/upstream-error.ts';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { speedUp } from '../../../testkit/fast-timeouts.ts';
import { json, type Reply, reply, startService } from '../../../testkit/service.ts';
import { startTcp } from '../../../testkit/tcp-server.ts';
import { neverAborted } from '../../support/upstream-call.ts';

type Limits = Partial<ConstructorParameters<typeof Exchange>[0]>;

/** Sends requests to a service, each as an exchange. */
function createClient(url: string, maxBytes = 1000) {
  const observer = { opened() {}, closedEarly() {}, surplus() {} };
  const baseUrl = new URL(url);
  const connections = new Connections({ baseUrl, timeoutMs: 10_000, tls: {}, observer });
  closeAfterTest(() => connections.close());
  const released: unknown[] = [];
  const release = connections.release.bind(connections);
  jest.spyOn(connections, 'release').mockImplementation((...[connection, headers, sent]) => {
    released.push(headers);
    release(connection, headers, sent);
  });
  const request = defineRequest(new URL('path', url), 'GET');
  return {
    released,
    send(limits: Limits = {}) {
      const none = () => undefined;
      const own = {
        effect: 'read' as const,
        signal: neverAborted,
        maxBytes,
        tryReserve: () => true,
        read: none,
        reserve: none,
      };
      const exchange = new Exchange({ ...own, ...limits });
      const response = exchange.send({ ...request, body: null }, connections);
      return { exchange, response };
    },
  };
}

const success = json({ status: 0 });

test('a signal aborted before sending ends the request, which is not sent', async () => {
  const service = await startService(success);
  const { send, released } = createClient(service.url);
  const { exchange, response } = send({ signal: AbortSignal.abort() });
  await expect(response).rejects.toMatchObject({ name: 'UpstreamError' });
  expect([exchange.sent, released, service.received]).toEqual(['no', [], []]);
});

test('a request that may not start any more when it has its connection is not sent', async () => {
  const service = await startService(success);
  const { send, released } = createClient(service.url);
  const rejection = new UpstreamError('OPERATION_STOPPED', { fault: 'policy', message: 'Stop.' });
  const mayStart = () => {
    throw rejection;
  };
  const { exchange, response } = send({ mayStart });
  await expect(response).rejects.toBe(rejection);
  expect([exchange.sent, released, service.received]).toEqual(['no', [null], []]);
  expect((await send({ mayStart: () => {} }).response).statusCode).toBe(200);
});

test('a request that undici starts again is not sent', async () => {
  const service = await startService(success);
  const { exchange, response } = createClient(service.url).send();
  const start = exchange.onRequestStart.bind(exchange);
  jest.spyOn(exchange, 'onRequestStart').mockImplementation((controller) => {
    start(controller);
    start(controller);
  });
  await expect(response).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
  expect([exchange.sent, service.received]).toEqual(['maybe', []]);
});

test('whether a request was sent is decided only here, also for an error before an attempt', () => {
  const root = new URL('../../../src/', import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const decisions = files
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const text = readFileSync(new URL(name, root), 'utf8').replace(/^export type Sent = .*/m, '');
      return [name, text.match(/(?<![!=]== )'(no|maybe|yes)'/g)] as const;
    });
  expect(Object.fromEntries(decisions.filter(([, found]) => found !== null))).toEqual({
    'upstream/transport/send-once.ts': ["'no'", "'maybe'", "'yes'"],
  });
});

// A hostile service.

test('a flood of informational responses ends the request', async () => {
  const flood = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(50_000);
  const { url } = await startTcp((socket) => socket.once('data', () => socket.write(flood)));
  const { exchange, response } = createClient(url).send();
  await expect(response).rejects.toMatchObject({
    code: 'UPSTREAM_INVALID_RESPONSE',
    fault: 'more than 100 informational responses',
  });
  expect(exchange.sent).toBe('maybe');
});

const tiny = '1\r\n \r\n'.repeat(1500);
const long = `ffff\r\n${' '.repeat(65_535)}\r\n`;

test.each([
  ['a body in parts of one byte ends the request', [tiny], 'in tiny parts'],
  ['a long part does not make up for tiny ones after it', [long, tiny], 'in tiny parts'],
  ['a body of some tiny parts is received', [tiny.slice(0, 6000), long, tiny.slice(0, 6000)], null],
])('%s', async (_, parts, fault) => {
  const body = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${parts.join('')}0\r\n\r\n`;
  const { url } = await startTcp((socket) => socket.once('data', () => socket.write(body)));
  const { response } = createClient(url, 100_000).send();
  const result = await response.then(
    () => null,
    (error) => error.fault,
  );
  expect(result).toBe(fault);
});

test('a response that pauses between its parts is received', async () => {
  const reading = Promise.withResolvers<void>();
  const { url } = await startTcp((socket) =>
    socket.once('data', async () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n${' '.repeat(100_000)}`);
      await reading.promise;
      for (let iteration = 0; iteration < 5000; iteration++) await immediate();
      socket.write(' '.repeat(100_000));
    }),
  );
  const read = async () => {
    reading.resolve();
    await immediate();
  };
  const { rawBody } = await createClient(url, 200_000).send({ read }).response;
  expect(rawBody).toHaveLength(200_000);
});

test.each(['content-length: 1000000', 'connection: close'])(
  'a response whose parts wait is complete although the service closes the connection (%s)',
  async (header) => {
    const response = `HTTP/1.1 200 OK\r\n${header}\r\n\r\n${' '.repeat(1_000_000)}`;
    const { url } = await startTcp((socket) => socket.once('data', () => socket.end(response)));
    const read = async () => void (await immediate());
    const { rawBody } = await createClient(url, 1_000_000).send({ read }).response;
    expect(rawBody).toHaveLength(1_000_000);
  },
);

test('a response that waits for memory ends with its request', async () => {
  const service = await startService(json(' '.repeat(1_000_000)));
  const controller = new AbortController();
  const reserve = async () => {
    controller.abort();
    throw new Error('the client has disconnected');
  };
  const { send, released } = createClient(service.url, 2_000_000);
  const { exchange, response } = send({ signal: controller.signal, reserve });
  await expect(response).rejects.toThrow();
  expect([exchange.sent, released]).toEqual(['yes', [null]]);
});

test('a response for which there is no memory ends its connection', async () => {
  const closed = Promise.withResolvers<void>();
  const { url } = await startTcp((socket) => {
    socket.once('close', () => closed.resolve());
    const part = ' '.repeat(500_000);
    socket.once('data', () =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${part}`),
    );
  });
  const reserve = async () => {
    throw new Error('no memory');
  };
  const { send, released } = createClient(url, 2_000_000);
  await expect(send({ reserve }).response).rejects.toThrow('no memory');
  await closed.promise;
  expect(released).toEqual([null]);
});

test('a connection that receives bytes without a request is closed', async () => {
  const { url, sockets } = await startTcp((socket) =>
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')),
  );
  const { send } = createClient(url);
  await send().response;
  const [socket] = sockets;
  socket?.write('HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nsurplus');
  if (socket) await once(socket, 'close');
  expect(String((await send().response).rawBody)).toBe('{}');
  expect(sockets).toHaveLength(2);
});

// The body of a response with an error status is read within limits.

/** The time limit of a body. With a long one, only its length and its parts can end it. */
const [SOON_MS, LATE_MS] = [50, 600_000];

test.each<[string, number, Reply]>([
  [
    'is endless',
    LATE_MS,
    (response) => {
      response.writeHead(403);
      const send = () => void (response.destroyed || response.write(' '.repeat(10_000), send));
      send();
    },
  ],
  [
    'is longer than 64 KB',
    LATE_MS,
    (response) => void response.writeHead(403).write(' '.repeat(65_537)),
  ],
  [
    'arrives in tiny parts',
    LATE_MS,
    (response) => {
      response.writeHead(403).flushHeaders();
      response.socket?.write(tiny);
    },
  ],
  ['never arrives', SOON_MS, (response) => response.writeHead(403).flushHeaders()],
  [
    'breaks off',
    LATE_MS,
    (response) => response.writeHead(403).write('short', () => response.destroy()),
  ],
])(
  'the status of an error is reported and its connection is closed if its body %s',
  async (_, limitMs, reaction) => {
    speedUp('setTimeout', 1000, limitMs);
    const closed: Promise<unknown>[] = [];
    const service = await startService((response, received) => {
      closed.push(once(response, 'close'));
      return reaction(response, received);
    });
    const { send, released } = createClient(service.url);
    const { statusCode, rawBody } = await send().response;
    expect([statusCode, String(rawBody)]).toEqual([403, '']);
    expect(await Promise.all(closed)).toHaveLength(1);
    while (released.length === 0) await immediate();
    expect(released).toEqual([null]);
  },
);

test('an error response whose body has arrived leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const service = await startService(reply(403, 'short'));
  const { send, released } = createClient(service.url);
  const before = timers();
  const { statusCode, rawBody } = await send().response;
  expect([statusCode, String(rawBody)]).toEqual([403, 'short']);
  while (released.length === 0) await immediate();
  expect(released).toEqual([expect.anything()]); // The connection stays open.
  expect(timers()).toBeLessThanOrEqual(before); // Timers of earlier tests may have ended.
});
