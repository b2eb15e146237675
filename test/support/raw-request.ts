import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { closeAfterTest } from './cleanup.ts';

/** Opens a TCP connection to the server at a URL. It closes after the test. */
export function connectTo(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  closeAfterTest(() => socket.destroy());
  return socket;
}

/** Sends an HTTP request byte by byte, and reads everything until the server closes the connection. */
export async function exchange(url: string, request: string): Promise<string> {
  const socket = connectTo(url);
  socket.write(request.replaceAll(/\r?\n/g, '\r\n'));
  return text(socket);
}

/** A GraphQL request, as it goes over the connection. */
export function requestOf(
  gateway: { token: string },
  query: string,
  headers: string[] = [],
): string {
  const body = JSON.stringify({ query });
  return [
    'POST /graphql HTTP/1.1',
    'host: gateway',
    `authorization: Bearer ${gateway.token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
}
