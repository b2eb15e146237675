import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { malformedRequestBody } from '../errors.ts';
import { securityHeaders } from './security-headers.ts';

type OpenRequest = {
  /** Called when the client closes its side of the connection. It may still read the response. */
  onDisconnect(): void;
  /** Called when the connection closes. It should remove the request. */
  end(): void;
  /** Whether its response has begun, which may be before the request is complete. */
  hasResponse(): boolean;
};

/** The requests on a connection without a complete response. */
type OpenRequests = Map<IncomingMessage, OpenRequest>;

const statusByError: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The connections of clients, and the open requests on each. */
export class ClientConnections {
  readonly #requests = new Map<Socket, OpenRequests>();
  /** Connections that close after the responses to their complete requests. */
  readonly #closing = new WeakSet<Socket>();

  watch(server: Server): void {
    // A client that closes its side still gets its response (docs/decisions/0016).
    Reflect.set(server, 'httpAllowHalfOpen', true);
    server.on('connection', (socket: Socket) => {
      const requests: OpenRequests = new Map();
      this.#requests.set(socket, requests);
      socket.once('end', () => {
        for (const { onDisconnect } of requests.values()) onDisconnect();
      });
      socket.once('close', () => {
        // Node emits `close` only for the first of several pipelined requests.
        for (const { end } of [...requests.values()]) end();
        this.#requests.delete(socket);
      });
    });
  }

  add(message: IncomingMessage, request: OpenRequest): void {
    this.#of(message)?.set(message, request);
  }

  /** Removes a request. False if it was removed before. */
  remove(message: IncomingMessage): boolean {
    const { socket } = message;
    const isRemoved = this.#of(message)?.delete(message) ?? false;
    if (this.#closing.has(socket) && !this.#isBusy(socket)) socket.destroySoon();
    return isRemoved;
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
   * and execute a request that it responded to with 408. Earlier requests on the connection get their
   * responses first, and the client would mistake this one for another of them, so none is sent.
   */
  rejectMalformed(error: Error & { code?: string }, socket: Socket): void {
    if (this.#closing.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    this.#closing.add(socket);
    if (this.#isBusy(socket)) return;
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

  #isBusy(socket: Socket): boolean {
    return [...(this.#requests.get(socket) ?? [])].some(
      ([{ complete }, request]) => complete || request.hasResponse(),
    );
  }

  #of({ socket }: IncomingMessage): OpenRequests | undefined {
    return this.#requests.get(socket);
  }
}
