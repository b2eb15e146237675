import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { malformedRequestBody } from '../errors/http-error-format.ts';
import { JSON_TYPE } from './media-type.ts';
import { securityHeaders } from './security-headers.ts';
import { SlowBodies } from './slow-bodies.ts';

type OpenRequest = {
  /** Called when the client closes its side of the connection. It may still read the response. */
  onDisconnect(): void;
  /** Called when the connection closes. It should remove the request. */
  end(): void;
  /** Whether its response has begun, which may be before the request is complete. */
  hasResponse(): boolean;
  /** Whether its token is verified. */
  isVerified(): boolean;
  /** Responds with an error, because the body is invalid or too slow. */
  reject(status: 400 | 408): void;
};

/** The requests on a connection without a complete response. */
type OpenRequests = Map<IncomingMessage, OpenRequest>;

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
const statusByError: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, [TIMEOUT]: 408 };

/** The connections of clients, and the open requests on each. */
export class ClientConnections {
  readonly #requests = new Map<Socket, OpenRequests>();
  /** The response to the latest request on each connection. */
  readonly #latest = new WeakMap<Socket, ServerResponse>();
  /** Connections that close after the responses to their complete requests. */
  readonly #closing = new WeakSet<Socket>();
  /** Requests that have their response, and whose body has not arrived completely. */
  readonly #responded = new WeakMap<Socket, IncomingMessage>();
  readonly #slowBodies = new SlowBodies();

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

  /**
   * Whether an earlier response on the connection is the last one. A request behind it must not be executed,
   * because the client would never receive the outcome.
   */
  isEnding({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const earlier = this.#latest.get(socket);
    if (socket.writableEnded || (earlier && isLast(earlier))) return true;
    this.#latest.set(socket, response);
    return false;
  }

  add(message: IncomingMessage, request: OpenRequest): void {
    this.#of(message)?.set(message, request);
  }

  /** Removes a request. False if it was removed before. */
  remove(message: IncomingMessage): boolean {
    const { socket } = message;
    const isRemoved = this.#of(message)?.delete(message) ?? false;
    if (!message.complete) this.addResponded(message);
    if (this.#closing.has(socket) && !this.#isBusy(socket)) socket.destroySoon();
    return isRemoved;
  }

  /** Limits the time for the body of a request that already has its response. */
  addResponded(message: IncomingMessage): void {
    this.#responded.set(message.socket, message);
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
   * Handles bytes that are not HTTP, and a request that is not complete after Node's timeouts. Only a slow
   * body gets more time. Otherwise the connection is closed: Node would continue to read, and execute a
   * request that got 408.
   */
  handleError(error: Error & { code?: string }, socket: Socket): void {
    if (this.#closing.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const open = [...(this.#requests.get(socket) ?? [])].find(([{ complete }]) => !complete);
    if (error.code === TIMEOUT && this.#isSlowBody(socket, open)) return;
    this.#closing.add(socket);
    if (open && !open[1].hasResponse()) open[1].reject(400);
    else if (!this.#isBusy(socket)) rejectMalformed(error.code, socket);
  }

  /** Whether the headers have arrived, and only the body is slow. It then gets more time. */
  #isSlowBody(socket: Socket, open: [IncomingMessage, OpenRequest] | undefined): boolean {
    const responded = this.#responded.get(socket);
    if (open) {
      this.#slowBodies.add(...open);
    } else if (responded && !responded.complete) {
      const reject = () => socket.destroy();
      this.#slowBodies.add(responded, { isVerified: () => false, reject });
    } else {
      return false;
    }
    return true;
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

/** Whether a response announces, or will announce, the end of its connection. Fastify sets the header while it closes. */
function isLast(response: ServerResponse): boolean {
  return !response.shouldKeepAlive || response.getHeader('connection') === 'close';
}

/**
 * Responds to bytes that are not HTTP, and closes the connection. Call it only if no earlier request on the
 * connection waits for its response, because the client would take this one for it.
 */
function rejectMalformed(errorCode: string | undefined, socket: Socket): void {
  const status = statusByError[errorCode ?? ''] ?? 400;
  const body = JSON.stringify(malformedRequestBody(status, randomUUID()));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}
