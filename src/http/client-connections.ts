import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { malformedRequestBody } from '../errors.ts';
import { securityHeaders } from './security-headers.ts';

/** The requests on a connection without a complete response, each with the function that ends it. */
type OpenRequests = Map<IncomingMessage, () => void>;

const statusByError: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The connections of clients, and the open requests on each. */
export class ClientConnections {
  readonly #requests = new Map<Socket, OpenRequests>();

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const requests: OpenRequests = new Map();
      this.#requests.set(socket, requests);
      socket.once('close', () => {
        // Node emits `close` only for the first of several pipelined requests.
        for (const end of [...requests.values()]) end();
        this.#requests.delete(socket);
      });
    });
  }

  /** Adds a request. `end` is called if its connection closes; it should remove the request. */
  add(message: IncomingMessage, end: () => void): void {
    this.#of(message)?.set(message, end);
  }

  /** Removes a request. False if it was removed before. */
  remove(message: IncomingMessage): boolean {
    return this.#of(message)?.delete(message) ?? false;
  }

  /** Whether the connection of a request has no other open request. */
  isIdle(message: IncomingMessage): boolean {
    return (this.#of(message)?.size ?? 0) === 0;
  }

  /** Closes the connections without an open request, including those that never sent one. */
  closeIdle(): void {
    for (const [socket, { size }] of this.#requests) if (size === 0) socket.destroy();
  }

  /**
   * Responds to bytes that are not HTTP, and closes the connection: Node would otherwise continue to read,
   * and execute a request that it responded to with 408. If an earlier request on the connection still
   * waits for its response, the client would mistake this one for it, so none is sent.
   */
  rejectMalformed(error: Error & { code?: string }, socket: Socket): void {
    const requests = [...(this.#requests.get(socket)?.keys() ?? [])];
    const isBusy = requests.some(({ complete }) => complete);
    if (error.code === 'ECONNRESET' || !socket.writable || isBusy) {
      socket.destroy();
      return;
    }
    const status = statusByError[error.code ?? ''] ?? 400;
    const body = JSON.stringify(malformedRequestBody(randomUUID()));
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    socket.destroySoon();
  }

  #of({ socket }: IncomingMessage): OpenRequests | undefined {
    return this.#requests.get(socket);
  }
}
