import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { closeAfterTest } from './cleanup.ts';
import { portOf } from './port.ts';

/** Starts a TCP server on a free port, with TLS if there are options for it. It destroys its connections after the test. */
export async function startTcp(onConnection: (socket: Socket) => void, tls?: TlsOptions) {
  const sockets: Socket[] = [];
  const accept = (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => {}); // The client may reset the connection.
    onConnection(socket);
  };
  // Like servers of HTTP: otherwise a write waits until the client has acknowledged the one before it.
  const server = tls ? createTlsServer({ noDelay: true, ...tls }, accept) : createServer(accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  closeAfterTest(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}/`, httpsUrl: `https://127.0.0.1:${port}/`, sockets };
}
