import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { closeAfterTest } from './cleanup.ts';
import { portOf } from './port.ts';

/** Starts an HTTP server on a free port. It closes after the test, with all its connections. */
export async function startHttpServer(listener: RequestListener) {
  const server = createServer(listener);
  return { server, origin: `http://127.0.0.1:${await listen(server)}` };
}

/** Lets a server listen on a free port until the test ends, and returns the port. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAfterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  return portOf(server.address());
}
