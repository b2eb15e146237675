import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Defer } from './harness.ts';

/** A TCP address that follows the primary, as a DNS name or a proxy does. */
export async function startSwitch(port: number, defer: Defer) {
  let target = port;
  const sockets = new Set<Socket>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          client.destroy();
          upstream.destroy();
          sockets.delete(socket);
        });
    }
    client.pipe(upstream).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(() => {
    cut();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** Leads to another port from now on, and cuts what leads elsewhere. */
    to(other: number) {
      target = other;
      cut();
    },
  };
}
