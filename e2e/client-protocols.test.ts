import { once } from 'node:events';
import {
  createServer,
  request as forward,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createPrivateCa } from '../testkit/certificate.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { startFaultStack } from '../testkit/client-faults.ts';
import { portOf } from '../testkit/port.ts';
import { browsers, type Page, restart, servePackage } from './client-page.ts';

type Stack = Awaited<ReturnType<typeof startFaultStack>>;

type Listener = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;
type Certificate = { cert: string; key: string };

const servers = {
  'HTTP/1.1': (_: Certificate, listener: Listener) => createServer(listener),
  'HTTP/1.1 over TLS': (of: Certificate, listener: Listener) => createTlsServer(of, listener),
  'HTTP/2': (of: Certificate, listener: Listener) => createSecureServer(of, listener),
};

const passedHeaders = ['authorization', 'idempotency-key', 'idempotency-key-age'];

/** Starts the origin of the page. If the stack cuts a request, all connections of the browser break. */
async function startFront(protocol: keyof typeof servers, { url: target }: Stack) {
  const sockets = new Set<Socket>();
  const versions = new Set<string>();
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const listener: Listener = (request, response) => {
    const { method, url = '/', headers } = request;
    if (method !== 'POST') return void servePackage(url, response);
    versions.add(request.httpVersion);
    const passed = passedHeaders.flatMap((name) => (headers[name] ? [[name, headers[name]]] : []));
    const onward = forward(target, {
      method,
      agent: false,
      headers: { 'content-type': 'application/json', ...Object.fromEntries(passed) },
    });
    onward.once('error', cut);
    onward.once('response', (received) => received.pipe(response));
    request.pipe(onward);
  };
  const { cert, key } = await (await createPrivateCa()).issue('localhost');
  const server = servers[protocol]({ cert, key }, listener);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAfterTest(() => {
    cut();
    server.close();
  });
  const scheme = protocol === 'HTTP/1.1' ? 'http' : 'https';
  return { origin: `${scheme}://localhost:${portOf(server.address())}`, versions };
}

/** How many requests of a `fetch` without a key reach the service, if a connection breaks that was used before. */
const withoutKey: Record<string, Record<keyof typeof servers, number>> = {
  Chromium: { 'HTTP/1.1': 2, 'HTTP/1.1 over TLS': 2, 'HTTP/2': 2 },
  Firefox: { 'HTTP/1.1': 2, 'HTTP/1.1 over TLS': 2, 'HTTP/2': 1 },
  // Its HTTP library, libsoup, opens a new connection for each POST. Safari has another one.
  WebKit: { 'HTTP/1.1': 1, 'HTTP/1.1 over TLS': 1, 'HTTP/2': 1 },
};

let stack: Stack;

beforeAll(async () => {
  stack = await startFaultStack();
});

describe.each(browsers)('$name', ({ name, isMissing, open }) => {
  let page: Page;

  beforeAll(async () => {
    if (!isMissing) page = await open();
  });

  (isMissing ? test.skip : test).each(Object.keys(servers) as (keyof typeof servers)[])(
    '%s: a write arrives once with the package, whatever the browser repeats',
    async (protocol) => {
      const { origin, versions } = await startFront(protocol, stack);
      await page.goto(origin);
      stack.prepare(['none', 'cut']);
      const run = { url: `${origin}/graphql`, token: stack.token, options: stack.options };
      const bare = await page.evaluate(restart, { ...run, isBare: true }).catch(() => 'lost');
      expect([stack.arrivals(), bare]).toEqual([withoutKey[name]?.[protocol], expect.anything()]);

      stack.prepare(['none', 'cut']);
      expect(await page.evaluate(restart, run)).toMatchObject({
        member: { __typename: 'WorkflowActionCompleted' },
      });
      expect(stack.arrivals()).toBe(1);
      expect([...versions]).toEqual([protocol === 'HTTP/2' ? '2.0' : '1.1']);
    },
  );
});
