import { connect } from 'node:net';
import { PROBE } from '../packages/client/src/known-intent.ts';
import { startTcp } from '../testkit/tcp-server.ts';

/**
 * Starts a TCP proxy in front of an HTTP server that can lose responses and stall requests. If a response is
 * lost, the request reaches the server, and then the connection is reset before the client gets a byte. If a
 * request is stalled, the server gets half of its body, and the client gets what the server responds. The question whether keys
 * arrive, which precedes the first write of a page, is passed on.
 */
export async function startFaultyProxy(target: string) {
  const { hostname, port } = new URL(target);
  let responsesToLose = 0;
  let requestsToStall = 0;
  /** For each lost response and stalled request, whether the client had already used the connection. */
  const lost: { wasReused: boolean }[] = [];
  const stalled: { wasReused: boolean }[] = [];

  const { url } = await startTcp((client) => {
    const upstream = connect(Number(port), hostname);
    let exchanges = 0;
    let isLosing = false;
    let bytesToForward = Number.POSITIVE_INFINITY;
    client.on('data', (chunk: Buffer) => {
      if (chunk.includes('POST /graphql') && !chunk.includes(PROBE)) {
        if (responsesToLose > 0) {
          responsesToLose -= 1;
          isLosing = true;
        } else if (requestsToStall > 0) {
          requestsToStall -= 1;
          stalled.push({ wasReused: exchanges > 0 });
          bytesToForward = chunk.indexOf('\r\n\r\n') + 4 + contentLength(chunk) / 2;
        }
      }
      upstream.write(chunk.subarray(0, bytesToForward));
      bytesToForward -= chunk.length;
      if (bytesToForward <= 0) client.pause();
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
    stalled,
    /** Loses the responses of the next GraphQL requests, and forgets what happened before. */
    lose(count: number) {
      responsesToLose = count;
      lost.length = 0;
    },
    /** Stalls the next GraphQL requests whose responses are not lost, and forgets what happened before. */
    stall(count: number) {
      requestsToStall = count;
      stalled.length = 0;
    },
  };
}

function contentLength(head: Buffer): number {
  return Number(/content-length: (\d+)/i.exec(head.toString('latin1'))?.[1]);
}
