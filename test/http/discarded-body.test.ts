import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { connectTo } from '../support/raw-request.ts';
import { startTestServer } from '../support/server.ts';

/** Sends the head of a request to a server that rejects it without a token. */
async function send(head: string) {
  const { url } = await startTestServer({ introspection: false });
  const socket = connectTo(url).on('error', () => {});
  socket.write(`${head}\r\n\r\n`);
  return socket;
}

test.each([
  ['POST /graphql', 401],
  ['GET /graphql?query=x', 401],
  ['GET /livez', 200],
  ['POST /livez', 405],
  ['PUT /graphql', 405],
  ['POST /nothing', 404],
])('the response to %s does not wait for its body, whose chunks are not parsed', async (...row) => {
  const [line, status] = row;
  const headers = 'content-type: application/json\r\ntransfer-encoding: chunked';
  const socket = await send(`${line} HTTP/1.1\r\nhost: a\r\n${headers}`);
  socket.write('1\r\nx\r\n');
  const [first] = await once(socket, 'data');
  // Otherwise, a proxy may send the request of another client on this connection, which then closes.
  expect(String(first)).toMatch(/^connection: close\r$/im);
  // The parser would reject these, or wait for the end of the body.
  socket.write('1\r\nx\r\n'.repeat(20_000));
  const response = String(first) + (await text(socket));
  expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
});

test('a GET whose chunks have all arrived is the last request of its connection, too', async () => {
  const next = 'GET /livez HTTP/1.1\r\nhost: a\r\n\r\n';
  const socket = await send(
    `GET /livez HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n${next}`,
  );
  const response = await text(socket);
  expect(response).toMatch(/^connection: close\r$/im);
  expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});

test.each(['content-length: 100000000', 'transfer-encoding: chunked'])(
  'of a body that is discarded, at most 32 MB are read: %s',
  async (header) => {
    const socket = await send(`POST /graphql HTTP/1.1\r\nhost: a\r\n${header}`);
    socket.allowHalfOpen = true;
    const part = Buffer.alloc(1_000_000);
    await once(socket, 'data');
    for (let n = 0; n < 60 && !socket.destroyed; n++) {
      await new Promise((resolve) => socket.write(part, resolve));
    }
    expect(socket.destroyed).toBe(true);
  },
);

test('a client learns at once that nothing follows, while the rest of its body is discarded', async () => {
  const { server, url } = await startTestServer({ introspection: false });
  const socket = connectTo(url);
  socket.allowHalfOpen = true;
  const headers = 'host: a\r\nconnection: close\r\ncontent-length: 10';
  socket.write(`POST /graphql HTTP/1.1\r\n${headers}\r\n\r\nx`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 401/);
  const connections = await new Promise((resolve) =>
    server.getConnections((_, count) => resolve(count)),
  );
  expect(connections).toBe(1);
  socket.end('x'.repeat(9));
  await once(socket, 'close');
});
