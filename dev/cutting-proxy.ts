import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { PROBE } from '../packages/client/src/known-intent.ts';

export type CuttingProxy = Awaited<ReturnType<typeof startCuttingProxy>>;

/**
 * Starts a TCP proxy that loses every response: it forwards requests to a server, and closes the connection
 * to the client as soon as the server responds. Only two requests get their responses, because without these a browser or the
 * client package sends nothing that could be lost: a preflight, and the question whether keys arrive. `target` is the URL of
 * that server; port 0 selects any free one.
 */
export async function startCuttingProxy({ target, port = 0 }: { target: string; port?: number }) {
  const { hostname, port: targetPort } = new URL(target);
  const clients = new Set<Socket>();

  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname);
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    let isAnswered = false;
    clients.add(client);
    client.on('error', cut).on('close', cut).pipe(upstream);
    client.on('data', (chunk: Buffer) => {
      const [method] = /^[A-Z]+ /.exec(chunk.toString('latin1', 0, 8)) ?? [];
      const isQuestion = chunk.includes(`idempotency-key: ${PROBE}`);
      if (method) isAnswered = method === 'OPTIONS ' || isQuestion;
    });
    client.once('close', () => clients.delete(client));
    upstream.on('error', cut).on('close', cut);
    upstream.on('data', (chunk) => (isAnswered ? client.write(chunk) : cut()));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');

  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return {
    /** Without a slash at the end, such as `http://127.0.0.1:4001`. */
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      for (const client of clients) client.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
