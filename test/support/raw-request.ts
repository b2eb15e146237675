import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { closeAfterTest } from '../../testkit/cleanup.ts';

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

/** A request that is the only one of its connection, such as `requestOnly('GET /livez', 'x-a: b')`. */
export function requestOnly(line: string, headers = '', body = ''): string {
  const length = body && `content-length: ${Buffer.byteLength(body)}\n`;
  const head = `${line} HTTP/1.1\nhost: a\nconnection: close\n${length}`;
  return `${head}${headers.replace(/(?<=.)\n?$/s, '\n')}\n${body}`;
}

/** The headers of a GraphQL request with a valid token. */
export const authorized = ({ token }: { token: string }) =>
  `authorization: Bearer ${token}\ncontent-type: application/json\n`;

/** A GraphQL request, as it goes over the connection. */
export function requestOf(
  gateway: { token: string },
  query: string,
  headers: string[] = [],
): string {
  const all = `${authorized(gateway)}${headers.join('\n')}`;
  const request = requestOnly('POST /graphql', all, JSON.stringify({ query }));
  return request.replace('connection: close\n', '').replaceAll('\n', '\r\n');
}
