import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { portOf } from '../testkit/port.ts';

/**
 * The stub service. Lists are created once, so that it uses almost no CPU. A project `codes-<n>`, or
 * `codes-<n>-<anything>`, has n codes. The response contains the name of the project, so that swapped responses are noticed.
 *
 * Its argument is a `ServiceSetup` as JSON. It sends its port to the parent process, and then its counts after each message.
 *
 * The stub of the tests would take 72 µs of CPU time for a request in place of 44: it also reads headers and bodies, and
 * the load generator may be on the same core.
 */
export type ServiceSetup = {
  /** Files of a certificate and its key, for TLS. */
  tls?: { certFile: string; keyFile: string };
  /** Whether responses announce with a header `Keep-Alive` how long an idle connection stays open. */
  announces: boolean;
};

/** What arrived since the start: requests, and the connections on which they arrived. */
export type ServiceCounts = { calls: number; connections: number };

const { tls, announces }: ServiceSetup = JSON.parse(process.argv[2] ?? '');
const counts: ServiceCounts = { calls: 0, connections: 0 };
const connections = new WeakSet<Socket>();

const status = Buffer.from('{"invoice_id":4711,"message":"done","status":0}');
const lists = new Map<number, Buffer>();

const server = tls
  ? https.createServer({ cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) }, handle)
  : http.createServer(handle);

// Long enough that connections stay open while other peers are measured.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => process.send?.(portOf(server.address())));
process.on('message', () => process.send?.(counts));

function handle({ url = '/', socket }: http.IncomingMessage, response: http.ServerResponse): void {
  counts.calls += 1;
  if (!connections.has(socket)) {
    connections.add(socket);
    counts.connections += 1;
  }
  const { pathname, searchParams } = new URL(url, 'http://service');
  const body = pathname === '/getGLCodes5' ? codesOf(searchParams.get('project') ?? '') : [status];
  // Without the header `Connection`, Node does not send `Keep-Alive` either, and keeps the connection open all the same.
  if (!announces) response.removeHeader('connection');
  const length = body.reduce((sum, { byteLength }) => sum + byteLength, 0);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  response.end(body.length === 1 ? body[0] : Buffer.concat(body, length));
}

function codesOf(project: string): Buffer[] {
  const count = Number(/^codes-(\d+)/.exec(project)?.[1] ?? 0);
  const record = { invoice_id: 4711, message: project, status: 0 };
  return [
    Buffer.from(`{"service_status":${JSON.stringify(record)},"list":`),
    listOf(count),
    Buffer.from('}'),
  ];
}

function listOf(count: number): Buffer {
  const known = lists.get(count);
  if (known) return known;
  const codes = Array.from({ length: count }, (_, index) => ({
    Code: String(40_000 + index),
    Name: `Travel and accommodation ${index}`,
    Value: `${40_000 + index} - Travel and accommodation`,
    Hide: index % 7 === 0 ? 1 : 0,
  }));
  const list = Buffer.from(JSON.stringify(codes));
  lists.set(count, list);
  return list;
}
