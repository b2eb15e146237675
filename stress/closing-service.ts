import { createServer } from 'node:http';
import type { Socket } from 'node:net';

/*
 * A service in a process of its own, so that it closes connections at any moment of the gateway's event loop. It closes idle
 * connections as Kestrel does: without an announcement, in a check that runs every so often. `fork` it with the two durations in
 * milliseconds. It sends its port, and for each message that it gets, how often each token has arrived.
 */

const [limitMs = Infinity, everyMs = 1000] = process.argv.slice(2).map(Number);
const arrivals = new Map<string, number>();
const idleSince = new Map<Socket, number>();

const server = createServer((request, response) => {
  const { socket } = request;
  const token = request.headers.authorization ?? '';
  arrivals.set(token, (arrivals.get(token) ?? 0) + 1);
  idleSince.delete(socket);
  response.once('finish', () => idleSince.set(socket, performance.now()));
  request.resume().once('end', () => response.end('{"service_status":{"status":0},"status":0}'));
});
server.on('connection', (socket) => socket.once('close', () => idleSince.delete(socket)));
server.keepAliveTimeout = 0; // Node closes no idle connections, and sends no `Keep-Alive`.
setInterval(() => {
  const now = performance.now();
  for (const [socket, since] of idleSince) if (now - since > limitMs) socket.end();
}, everyMs);
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
process.on('message', () => process.send?.([...arrivals]));
process.on('disconnect', () => process.exit());
