import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { closeAfterTest } from './cleanup.ts';
import { portOf } from './port.ts';

/** Starts a TCP server on a free port. It destroys its connections after the test. */
export async function startTcp(onConnection: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {}); // The client may reset the connection.
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  closeAfterTest(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}/`, httpsUrl: `https://127.0.0.1:${port}/`, sockets };
}
