import { once } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startHttpServer } from '../../testkit/http-server.ts';
import { startTcp } from '../../testkit/tcp-server.ts';
import { connectTo } from '../support/raw-request.ts';

/*
 * What `client-connections.ts` relies on, and the documentation of Node does not promise.
 */
const get = (path = '/') => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
const chunked = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';

/** The next request that a server gets. */
async function requestOn(server: Server): Promise<[IncomingMessage, ServerResponse]> {
  const [message, response] = await once(server, 'request');
  return [message, response];
}

test.each([true, false])(
  'a client that has closed its side gets the response: %s, as httpAllowHalfOpen says',
  async (isAllowed) => {
    const { server, origin } = await startHttpServer(() => {});
    Reflect.set(server, 'httpAllowHalfOpen', isAllowed);
    const socket = connectTo(origin);
    socket.end(get());
    const [{ socket: accepted }, response] = await requestOn(server);
    if (!accepted.readableEnded) await once(accepted, 'end');
    await nextIteration();
    response.setHeader('connection', 'close').end('outcome');
    expect((await text(socket)).includes('outcome')).toBe(isAllowed);
  },
);

test('pipelined requests are emitted before the response to the first, as many as fit into 64 KB', async () => {
  const paths: unknown[] = [];
  const { server, origin } = await startHttpServer(({ url }) => void paths.push(url));
  server.on('request', ({ socket }) => queueMicrotask(() => socket.pause()));
  const socket = connectTo(origin);
  socket.write(get().repeat(10_000));
  await requestOn(server);
  for (let n = 0; n < 10; n++) await nextIteration();
  expect(paths.length).toBeGreaterThan(1);
  expect(paths.length).toBeLessThanOrEqual(65_536 / get().length + 1);
});

test('Node resumes reading after the listener of a request, so only a microtask can pause it', async () => {
  const states: boolean[] = [];
  const { server, origin } = await startHttpServer(({ socket }) => {
    socket.pause();
    setImmediate(() => states.push(socket.isPaused()));
  });
  connectTo(origin).write(get());
  await requestOn(server);
  await nextIteration();
  server.removeAllListeners('request');
  server.on('request', ({ socket }) => {
    queueMicrotask(() => socket.pause());
    setImmediate(() => states.push(socket.isPaused()));
  });
  connectTo(origin).write(get());
  await requestOn(server);
  await nextIteration();
  expect(states).toEqual([false, true]);
});

test('Node calls `destroySoon` of the socket after a response with "connection: close"', async () => {
  const { server, origin } = await startHttpServer(() => {});
  const socket = connectTo(origin);
  socket.write(get());
  const [message, response] = await requestOn(server);
  const called = new Promise<string>((resolve) => {
    message.socket.destroySoon = () => {
      resolve('called');
      Socket.prototype.destroySoon.call(message.socket);
    };
  });
  response.setHeader('connection', 'close').end();
  expect(await called).toBe('called');
  expect(await text(socket)).toContain('200 OK');
});

test('a listener for `data` of the socket gets the bytes of a chunked body unparsed, if it is the only one', async () => {
  const { server, origin } = await startHttpServer(() => {});
  const socket = connectTo(origin);
  socket.write(chunked);
  const [message] = await requestOn(server);
  const parsed: unknown[] = [];
  message.on('data', (chunk) => parsed.push(chunk));
  message.socket.removeAllListeners('data');
  const received = once(message.socket, 'data');
  socket.write('4\r\nbody\r\n');
  expect(String((await received)[0])).toBe('4\r\nbody\r\n');
  await nextIteration();
  expect(parsed).toEqual([]);
});

test('after an error of a client, Node goes on to read, and emits the next request', async () => {
  const { server, origin } = await startHttpServer(() => {});
  server.requestTimeout = 0;
  const errors: unknown[] = [];
  server.on('clientError', (error) => errors.push(error));
  const socket = connectTo(origin);
  socket.write(chunked);
  const [message] = await requestOn(server);
  server.emit('clientError', new Error('a timeout'), message.socket);
  socket.write(`0\r\n\r\n${get('/next')}`);
  message.resume();
  const [{ url }] = await requestOn(server);
  expect([errors.length, url]).toEqual([1, '/next']);
});

test('a response can be written to a socket without a request', async () => {
  const { url } = await startTcp((socket) => {
    const response = new ServerResponse(new IncomingMessage(socket));
    response.assignSocket(socket);
    response.writeHead(400, { 'content-length': 4 }).end('text');
    socket.destroySoon();
  });
  expect(await text(connectTo(url))).toMatch(/^HTTP\/1.1 400 Bad Request\r\n.*\r\n\r\ntext$/s);
});
