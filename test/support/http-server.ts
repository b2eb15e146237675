import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { closeAfterTest } from './cleanup.ts';
import { portOf } from './port.ts';

/** Starts an HTTP server on a free port. It closes after the test, with all its connections. */
export async function startHttpServer(listener: RequestListener) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAfterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, origin: `http://127.0.0.1:${portOf(server.address())}` };
}
