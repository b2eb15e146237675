import { connect } from 'node:net';
import { startTcp } from '../test/support/tcp-server.ts';

/**
 * Starts a TCP proxy in front of an HTTP server that can lose responses: the request reaches the server, and
 * then the connection is reset before the client gets a byte of the response.
 */
export async function startLossyProxy(target: string) {
  const { hostname, port } = new URL(target);
  let responsesToLose = 0;
  /** For each lost response, whether the client had already used the connection. */
  const lost: { wasReused: boolean }[] = [];

  const { url } = await startTcp((client) => {
    const upstream = connect(Number(port), hostname);
    let exchanges = 0;
    let isLosing = false;
    client.on('data', (chunk) => {
      if (responsesToLose > 0 && chunk.includes('POST /graphql')) {
        responsesToLose -= 1;
        isLosing = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (isLosing) {
        lost.push({ wasReused: exchanges > 0 });
        client.resetAndDestroy();
        upstream.destroy();
      } else {
        exchanges += 1;
        client.write(chunk);
      }
    });
    upstream.on('error', () => client.destroy());
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });

  return {
    /** Ends with a slash. */
    url,
    lost,
    /** Loses the responses of the next GraphQL requests, and forgets the earlier ones. */
    lose(count: number) {
      responsesToLose = count;
      lost.length = 0;
    },
  };
}
