import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** One arrival of a request. */
type Arrival = {
  /** When, in milliseconds. */
  readonly at: number;
  /** Whether an earlier request had used the connection. */
  readonly isKept: boolean;
};

/** A response that clients of REST and of GraphQL take for a success. */
const OK = '{"status":0,"data":{"a":0}}';

const used = new WeakSet<Socket>();

/**
 * Starts a server that counts how often each request arrives. The query of a request says how it is answered, and so any client
 * can ask for anything: `case` names the request, and `reply` is one of
 *
 * - `ok` (the default): 200; `last` is the same on a connection that then closes, and `cacheable` with `Cache-Control: public`
 * - `close`, `close-first`, `reset`, `reset-first`: the request is read, then the connection is closed or reset without a
 *   response, each time or for the first arrival alone
 * - `silent`, `silent-first`: no response
 * - a status, such as `503`, or `503-first`
 *
 * - `length`: 200 with the `Content-Length` of the request, or `none`
 * - `broken`: 200 and the beginning of a body, then the connection is reset
 *
 * The reply `count` says how often the request `case` has arrived, and `is-kept` whether its first arrival was on a connection
 * that had been used before.
 */
export async function startCountingServer(port = 0, host = '127.0.0.1') {
  const cases = new Map<string, Arrival[]>();
  const arrivalsOf = (name: string): readonly Arrival[] => cases.get(name) ?? [];

  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const isKept = used.has(request.socket);
    used.add(request.socket);
    const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
    const name = query.get('case') ?? '';
    const reply = query.get('reply') ?? 'ok';
    if (reply === 'count') return response.end(String(arrivalsOf(name).length));
    if (reply === 'is-kept') return response.end(String(arrivalsOf(name)[0]?.isKept));
    const arrivals = cases.get(name) ?? [];
    cases.set(name, arrivals);
    arrivals.push({ at: performance.now(), isKept });
    await readWhole(request);
    const [behaviour = '', first] = reply.split('-');
    answer(request, response, first && arrivals.length > 1 ? 'ok' : behaviour);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, arrivalsOf, server };
}

/** Reads a body, also one that breaks off. */
async function readWhole(request: IncomingMessage): Promise<void> {
  try {
    for await (const _ of request);
  } catch {
    // The client has closed the connection. The request has arrived all the same.
  }
}

function answer(request: IncomingMessage, response: ServerResponse, behaviour: string): void {
  const { socket, headers } = request;
  if (behaviour === 'silent') return;
  if (behaviour === 'close') return void socket.end();
  if (behaviour === 'reset') return void socket.resetAndDestroy();
  if (behaviour === 'last') response.setHeader('connection', 'close');
  if (behaviour === 'cacheable') response.setHeader('cache-control', 'public, max-age=60');
  if (behaviour === 'broken') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 24 });
    return void response.write('{"status":0,', () => socket.resetAndDestroy());
  }
  const status = Number(behaviour);
  if (status) return void response.writeHead(status, { 'content-type': 'text/plain' }).end('no');
  response.setHeader('content-type', 'application/json');
  response.end(behaviour === 'length' ? (headers['content-length'] ?? 'none') : OK);
}

/** Prints the port, and ends with its standard input, so that no script leaves it behind. */
async function main(): Promise<void> {
  const { port, server } = await startCountingServer();
  process.stdout.write(`${port}\n`);
  process.stdin.resume().once('end', () => {
    server.closeAllConnections();
    server.close();
  });
}

// `node findings/counting-server.ts`
if (import.meta.main) void main();
