import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import zlib from 'node:zlib';
import { afterEach, expect, jest, test } from '@jest/globals';
import { speedUp } from '../../testkit/fast-timeouts.ts';
import { read } from '../../testkit/graphql-operation.ts';
import { json } from '../../testkit/service.ts';
import { connectTo, requestOf } from '../support/raw-request.ts';
import { startStack } from '../support/stack.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const query = read.replace('{ code }', '{ code name }');

/** Starts a gateway for lists of this many codes. */
async function start(codes: number, variables?: Record<string, string>) {
  const list = Array.from({ length: codes }, (_, n) => ({
    Code: `${n}`,
    Name: `Account ${n * 7}`,
  }));
  const reply = json({ service_status: { status: 0 }, list });
  const { gateway } = await startStack(reply, variables);
  /** Sends a request without decoding the response. */
  async function send(encoding: string, method = 'POST', path = '/graphql', accept = '*/*') {
    const isPost = method === 'POST';
    const type = isPost && { 'content-type': 'application/json' };
    const authorization = `Bearer ${gateway.token}`;
    const headers = { 'accept-encoding': encoding, accept, authorization, ...type };
    const sent = request(`${gateway.url}${path}`, { method, headers });
    sent.end(isPost ? JSON.stringify({ query }) : undefined);
    const [response] = await once(sent, 'response');
    return { headers: response.headers, status: response.statusCode, body: await buffer(response) };
  }
  return { send };
}

const decoders: Record<string, (body: Buffer) => Buffer> = {
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
  zstd: zlib.zstdDecompressSync,
};

test.each(Object.entries(decoders))(
  'a response is compressed with %s',
  async (encoding, decode) => {
    for (const codes of [100, 5000]) {
      const { send } = await start(codes);
      const plain = await send('identity');
      const { headers, body } = await send(encoding);
      expect(headers).toMatchObject({
        'content-encoding': encoding,
        'content-type': 'application/json; charset=utf-8',
        vary: expect.stringMatching(/Accept-Encoding$/),
      });
      expect(body.length).toBeLessThan(plain.body.length / 3);
      expect(decode(body).equals(plain.body)).toBe(true);
      expect(JSON.parse(plain.body.toString()).data.result.codes).toHaveLength(codes);
    }
  },
);

test.each([
  ['gzip, deflate, br, zstd', 'zstd'],
  ['gzip, deflate, br', 'br'],
  ['gzip;q=0.5, zstd', 'zstd'],
  ['br;q=0, zstd', 'zstd'],
  ['deflate', undefined],
  ['identity', undefined],
  ['br;q=0', undefined],
])('of %s, the encoding is %s', async (accepted, encoding) => {
  const { send } = await start(100);
  expect((await send(accepted)).headers['content-encoding']).toBe(encoding);
});

test.each([
  ['a response of less than a kilobyte is not', 1, undefined],
  ['with COMPRESSION=off no response is', 5000, { COMPRESSION: 'off' }],
])('%s compressed', async (_, codes, variables) => {
  const { send } = await start(codes, variables);
  const { headers, body } = await send('br');
  expect(headers['content-encoding']).toBeUndefined();
  expect(headers['content-length']).toBe(String(body.length));
  expect(JSON.parse(body.toString()).data.result.codes).toHaveLength(codes);
});

test('metrics and the page of the explorer are compressed, and HEAD gets their headers alone', async () => {
  const { send } = await start(1, { EXPLORER: 'graphiql' });
  const page = await send('gzip', 'GET', '/graphql', 'text/html');
  expect(zlib.gunzipSync(page.body).includes('<!doctype html>')).toBe(true);
  const { status, headers, body } = await send('br', 'HEAD', '/metrics');
  expect([status, headers['content-encoding']]).toEqual([200, 'br']);
  expect(Number(headers['content-length'])).toBeGreaterThan(100);
  expect(body).toHaveLength(0);
});

/** Names that hardly compress, so that the response exceeds the buffers of the connection. */
const randomCode = () => ({ Code: '1', Name: randomBytes(360).toString('base64') });
const randomList = json({
  service_status: { status: 0 },
  list: Array.from({ length: 15_000 }, randomCode),
});

/** Requests a long list over a TCP connection, and does not read the response. */
async function requestWithoutReading(encoding = 'gzip') {
  const { gateway } = await startStack(randomList);
  const socket = connectTo(gateway.url);
  const headers = ['connection: close', `accept-encoding: ${encoding}`];
  socket.write(requestOf(gateway, query, headers));
  return { gateway, socket };
}

test('a client may disconnect while its response is compressed', async () => {
  const prototype: Transform = Object.getPrototypeOf(zlib.createGzip());
  const { _transform } = prototype;
  const started = new Promise<void>((resolve) => {
    jest.spyOn(prototype, '_transform').mockImplementation(function (this: Transform, ...args) {
      // Other gateways of this process may still be compressing the files of their explorer.
      if (args[0].length > 5_000_000) resolve();
      return Reflect.apply(_transform, this, args);
    });
  });
  const { gateway, socket } = await requestWithoutReading();
  await started;
  socket.destroy();
  await gateway.logLine({ msg: 'request', status: 499, outcome: 'CLIENT_DISCONNECTED' });
  await gateway.close();
  expect(gateway.logs.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});

test.each(['gzip', 'identity'])(
  'closing the gateway does not cut off a response that is being sent: %s',
  async (encoding) => {
    const { gateway, socket } = await requestWithoutReading(encoding);
    await once(socket, 'readable');
    const closed = gateway.close();
    const response = await buffer(socket);
    const start = response.indexOf('\r\n\r\n') + 4;
    const head = response.subarray(0, start).toString();
    expect(/^content-encoding: gzip\r$/im.test(head)).toBe(encoding === 'gzip');
    expect(head).toMatch(new RegExp(`^content-length: ${response.length - start}\r$`, 'im'));
    expect(response.length).toBeGreaterThan(4_000_000);
    await closed;
  },
);

test('a client that does not read its response for a minute is disconnected', async () => {
  speedUp('setTimeout', 60_000, 50);
  const { gateway, socket } = await requestWithoutReading('identity');
  await once(socket, 'readable');
  const line = await gateway.logLine({ msg: 'request', outcome: 'CLIENT_DISCONNECTED' });
  expect(line).toMatchObject({ status: 499 });
});
