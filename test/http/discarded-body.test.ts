import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { connectTo } from '../support/raw-request.ts';
import { createTestServer } from '../support/server.ts';

test.each([
  ['POST /graphql', 401],
  ['GET /graphql?query=x', 401],
  ['GET /livez', 200],
  ['POST /livez', 405],
  ['POST /nothing', 404],
])('after the response to %s, its chunks are not parsed', async (line, status) => {
  const server = await createTestServer({ allowsAnonymous: false });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  const socket = connectTo(url);
  socket.write(`${line} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n`);
  // The parser would reject these, or wait for the end of the body.
  const response = new Promise<string>((resolve) => {
    socket.once('data', (first) => {
      socket.write('1\r\nx\r\n'.repeat(20_000));
      resolve(text(socket).then((rest) => String(first) + rest));
    });
  });
  expect((await response).match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
});

test.each(['content-length: 100000000', 'transfer-encoding: chunked'])(
  'of a body that is discarded, at most 32 MB are read: %s',
  async (header) => {
    const server = await createTestServer({ allowsAnonymous: false });
    const url = await server.listen({ port: 0, host: '127.0.0.1' });
    const socket = connectTo(url).on('error', () => {});
    socket.allowHalfOpen = true;
    socket.write(`POST /graphql HTTP/1.1\r\nhost: a\r\n${header}\r\n\r\n`);
    const part = Buffer.alloc(1_000_000);
    await once(socket, 'data');
    for (let n = 0; n < 60 && !socket.destroyed; n++) {
      await new Promise((resolve) => socket.write(part, resolve));
    }
    expect(socket.destroyed).toBe(true);
  },
);
