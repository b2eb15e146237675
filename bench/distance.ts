import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { portOf } from '../testkit/port.ts';

/** Starts a TCP proxy that delays what it forwards in each direction, and returns the URL of the server behind it. */
export async function atDistance(url: string, delayMs: number): Promise<string> {
  const near = new URL(url);
  const port = Number(near.port);
  const proxy = createServer({ noDelay: true }, (client) => {
    const server = connect({ port, host: near.hostname, noDelay: true });
    forward(client, server, delayMs);
    forward(server, client, delayMs);
  });
  proxy.unref().listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  near.port = String(portOf(proxy.address()));
  return near.href;
}

/** Timers of the same length end in their order, so what is forwarded keeps its order, too. */
function forward(from: Socket, to: Socket, delayMs: number): void {
  from.on('data', (chunk) => setTimeout(() => to.write(chunk), delayMs));
  from.once('close', () => setTimeout(() => to.destroy(), delayMs));
  from.on('error', () => {}); // `close` follows.
}
