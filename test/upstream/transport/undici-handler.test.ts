import { once } from 'node:events';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import got, { type HandlerFunction } from 'got';
import { Pool } from 'undici';
import type { Connection } from '../../../src/upstream/transport/exchange.ts';
import { createUndiciHandler } from '../../../src/upstream/transport/undici-handler.ts';
import { closeAfterTest } from '../../support/cleanup.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { read } from '../../support/graphql-operation.ts';
import { startHeldService } from '../../support/held-service.ts';
import { json, type Reply, reply, startService } from '../../support/service.ts';
import { startTcp } from '../../support/tcp-server.ts';

/** A got client that sends through undici, with handlers in front of the one that sends. */
function createClient(url: string, handlers: HandlerFunction[] = []) {
  const pool = new Pool(new URL(url).origin);
  closeAfterTest(() => pool.destroy());
  const released: unknown[] = [];
  const connect = (): Connection => ({
    dispatcher: pool,
    reset: false,
    release: (headers) => released.push(headers),
  });
  const client = got.extend({
    retry: { limit: 0 },
    throwHttpErrors: false,
    responseType: 'buffer',
    headers: { 'user-agent': 'test' },
    handlers: [...handlers, createUndiciHandler(connect, 1000)],
  });
  return { client, released };
}

const success = json({ status: 0 });

test("sends the method, URL, headers and body of got's normalized options", async () => {
  const service = await startService(success);
  const { client, released } = createClient(service.url);

  const response = await client.post(`${service.url}path/`, {
    searchParams: { project: 'north & south' },
    headers: { 'X-Request-ID': 'request-1', 'content-type': 'text/plain' },
    body: 'Zoë',
  });

  expect(service.received).toEqual([
    expect.objectContaining({
      method: 'POST',
      url: '/path/?project=north+%26+south',
      body: 'Zoë',
      headers: expect.objectContaining({
        'x-request-id': 'request-1',
        'user-agent': 'test',
        'content-type': 'text/plain',
        'content-length': '4',
      }),
    }),
  ]);
  expect([response.statusCode, String(response.rawBody)]).toEqual([200, '{"status":0}']);
  expect(response.headers['content-type']).toBe('application/json');
  expect(released).toEqual([response.headers]);
});

test('sends what the handlers before it have changed, and calls no handler after it', async () => {
  const service = await startService(success);
  const change: HandlerFunction = (options, next) => {
    options.headers['x-request-id'] = 'changed';
    options.headers['x-added'] = 'added';
    options.url = new URL(`${service.url}changed?a=b`);
    options.method = 'POST';
    options.body = 'changed body';
    return next(options);
  };
  const { client } = createClient(service.url, [change]);
  const notCalled: HandlerFunction = () => {
    throw new Error('called a handler after the one that sends');
  };

  await client.extend({ handlers: [notCalled] })(service.url, {
    headers: { 'x-request-id': 'request-1', 'x-kept': 'kept' },
  });

  expect(service.received).toEqual([
    expect.objectContaining({ method: 'POST', url: '/changed?a=b', body: 'changed body' }),
  ]);
  expect(service.received[0]?.headers).toMatchObject({
    'x-request-id': 'changed',
    'x-added': 'added',
    'x-kept': 'kept',
  });
});

test('a signal aborted before sending ends the request, which is not sent', async () => {
  const service = await startService(success);
  const { client, released } = createClient(service.url);
  const request = client(service.url, { signal: AbortSignal.abort() });
  await expect(request).rejects.toMatchObject({ name: 'UpstreamError', sent: 'no' });
  expect(released).toEqual([null]);
  expect(service.received).toEqual([]);
});

test('a signal aborted later ends the request, which may have been sent', async () => {
  const service = await startHeldService();
  const { client, released } = createClient(service.url);
  const controller = new AbortController();
  const request = client(service.url, { signal: controller.signal });
  const { response } = await service.arrived(1);
  controller.abort();
  await expect(request).rejects.toMatchObject({ name: 'UpstreamError', sent: 'maybe' });
  expect(released).toEqual([null]);
  await service.idle();
  expect(response.writableFinished).toBe(false);
});

test('a signal aborted within the body ends the request, which was sent', async () => {
  const service = await startHeldService();
  const controller = new AbortController();
  const { client } = createClient(service.url);
  const request = client(service.url, { signal: controller.signal });
  const { response } = await service.arrived(1);
  response.writeHead(200, { 'content-length': 100 }).write('{');
  await sleep(50); // No event tells that the client has read the head of the response.
  controller.abort();
  await expect(request).rejects.toMatchObject({ name: 'UpstreamError', sent: 'yes' });
});

test('a request that gets its connection too late is not sent', async () => {
  const service = await startService(success);
  const { client, released } = createClient(service.url);
  const request = client(service.url, { timeout: { connect: 0 } });
  await expect(request).rejects.toMatchObject({
    code: 'UPSTREAM_TIMEOUT',
    sent: 'no',
    fault: 'too late to send',
  });
  expect(released).toEqual([null]);
  expect(service.received).toEqual([]);
  expect((await client(service.url, { timeout: { connect: 60_000 } })).statusCode).toBe(200);
});

// The body of an error response is discarded, so that its connection can be reused.

/** Starts a service that counts its connections. */
async function startCounting(reply: Reply) {
  const service = await startService(reply);
  let connections = 0;
  service.server.on('connection', () => {
    connections += 1;
  });
  return { ...service, connections: () => connections };
}

test('a read keeps its connection after an error with a small body', async () => {
  const service = await startCounting(reply(403, 'x'.repeat(1000)));
  const gateway = await startTestGateway(service);
  for (let n = 0; n < 5; n++) {
    const { errors } = await gateway.graphql(read);
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'FORBIDDEN' });
  }
  expect(service.received).toHaveLength(5);
  expect(service.connections()).toBe(1);
});

test('a read keeps its connection after an error whose body ends later', async () => {
  const finishing: (() => void)[] = [];
  const service = await startCounting((response, received) => {
    if (received.url !== '/bad') return success(response, received);
    response.writeHead(403).write('the first part');
    finishing.push(() => response.end('the last part'));
  });
  const { client, released } = createClient(service.url);
  expect((await client(`${service.url}bad`)).statusCode).toBe(403);
  expect(released).toEqual([]);

  for (const finish of finishing) finish();
  while (released.length === 0) await immediate();
  await immediate(); // undici reuses a connection in the next iteration of the event loop.
  await client(`${service.url}good`);
  expect(service.connections()).toBe(1);
});

test.each<[string, Reply]>([
  [
    'is endless',
    (response) => {
      response.writeHead(403);
      const send = () => void (response.destroyed || response.write(' '.repeat(10_000), send));
      send();
    },
  ],
  ['is longer than 64 KB', (response) => void response.writeHead(403).write(' '.repeat(65_537))],
  ['never arrives', (response) => response.writeHead(403).flushHeaders()],
])(
  'an error is reported at once and its connection is closed if its body %s',
  async (_, reaction) => {
    const closed: Promise<unknown>[] = [];
    const service = await startCounting((response, received) => {
      closed.push(once(response, 'close'));
      return reaction(response, received);
    });
    const { client, released } = createClient(service.url);
    const { statusCode, rawBody } = await client(service.url);
    expect([statusCode, rawBody.length]).toEqual([403, 0]);
    expect(await Promise.all(closed)).toHaveLength(1);
    expect(released).toEqual([null]);
  },
);

test('an error response that breaks off is reported as that error', async () => {
  const { url } = await startTcp((socket) => {
    socket.once('data', () =>
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 100\r\n\r\nshort'),
    );
  });
  const { client, released } = createClient(url);
  expect((await client(url)).statusCode).toBe(403);
  while (released.length === 0) await immediate();
  expect(released).toEqual([null]);
});
