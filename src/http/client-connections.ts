import {
  createServer,
  IncomingMessage,
  maxHeaderSize,
  type RequestListener,
  type Server,
  type ServerOptions,
  ServerResponse,
} from 'node:http';
import { Socket } from 'node:net';
import { createIterationLimit } from '../admission/gate.ts';
import { entryOf, type GatewayError, httpError } from '../errors/gateway-error.ts';
import { wallOffsetNow } from '../lib/suspension.ts';
import { JSON_TYPE, securityHeaders } from './headers.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** When its headers had arrived, in the time of `performance.now()`. It may wait behind other requests after that. */
    receivedAt?: number;
    /** How far the wall clock was ahead of it. */
    wallOffset?: number;
  }
}

/** The request that a connection serves. */
type OpenRequest = {
  readonly message: IncomingMessage;
  /** Called when the client closes its side of the connection. It may still read the response. */
  onDisconnect(): void;
  /** Responds with an error, because the body is invalid or too slow. */
  reject(status: 400 | 408): void;
};

class Connection {
  isServing = false;
  /** The request that is being served. Undefined if it was rejected without the framework. */
  current: OpenRequest | undefined;
  /** Functions that start the requests that arrived behind it, in their order. */
  queue: (() => void)[] = [];
  /** Whether bytes followed that are not HTTP. The connection then closes after the current response. */
  isBroken = false;
}

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
const largeHeaders = `The headers of the request are larger than ${maxHeaderSize} bytes. The token may be too long.`;
const errors: Record<string, GatewayError> = {
  HPE_HEADER_OVERFLOW: httpError(431, largeHeaders),
  [TIMEOUT]: httpError(408),
};

/**
 * The connections of clients. Each serves one request at a time. Pipelined requests wait for the response before theirs, so
 * many of them do not block the event loop, and none is executed behind the last response of a connection, where its outcome
 * would be lost. While a request waits, the connection is not read, so that waiting requests do not fill the memory.
 */
export class ClientConnections {
  readonly #connections = new Map<Socket, Connection>();
  /** One pipelined request starts in an iteration of the event loop, because Node accepts only one connection in each. */
  readonly #starting = createIterationLimit(1);
  #isClosing = false;

  /** Creates a server that calls `serve` for a request when the responses to all earlier ones of its connection have been sent. */
  createServer(options: ServerOptions, serve: RequestListener): Server {
    const accept = this.#accept.bind(this, serve);
    const server = createServer(options, accept);
    // Only the route decides whether a client that sent `Expect` should send its body. By default, Node responds itself,
    // at once and without a limit.
    server.on('checkContinue', accept).on('checkExpectation', accept);
    // A client that closes its side still gets the outcome of its write (docs/decisions/0016).
    Reflect.set(server, 'httpAllowHalfOpen', true);
    return server.on('connection', (socket: Socket) => {
      const connection = new Connection();
      this.#connections.set(socket, connection);
      socket.once('end', () => connection.current?.onDisconnect());
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  #accept(serve: RequestListener, message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    message.receivedAt = performance.now();
    message.wallOffset = wallOffsetNow();
    const connection = this.#connections.get(socket);
    if (!connection) return; // It has closed.
    const start = () => {
      if (socket.destroyed) return; // While the request waited for the one before it.
      // If the bytes that follow are not HTTP, the rest of this request never arrives.
      if (connection.isBroken) return socket.destroySoon();
      connection.isServing = true;
      response.shouldKeepAlive &&= !this.#isClosing;
      response.once('close', () => this.#serveNext(message, connection, response));
      // The body of another method is never read.
      if (message.method !== 'POST' && hasChunks(message)) discardBody(message, response);
      serve(message, response);
    };
    if (!connection.isServing) start();
    // The queue takes little memory, because Node reads at most 64 KB at a time.
    else if (connection.queue.push(start) > 16) socket.destroy();
    // Node resumes reading at the end of each request.
    else queueMicrotask(() => connection.queue.length > 0 && socket.pause());
  }

  /** Watches the connection for a request that has been started. */
  watchRequest(request: OpenRequest): void {
    const connection = this.#connections.get(request.message.socket);
    if (!connection) return;
    connection.current = request;
    if (request.message.socket.readableEnded) request.onDisconnect();
  }

  /** Closes all connections: those that serve no request now, including new ones, and the others after their response. */
  close(): void {
    this.#isClosing = true;
    for (const [socket, { isServing }] of this.#connections) if (!isServing) socket.destroy();
  }

  /** Handles bytes that are not HTTP, and late requests. If no request had begun, returns the properties of a log line. */
  handleError(error: Error & { code?: string }, socket: Socket) {
    const connection = this.#connections.get(socket);
    if (!connection || connection.isBroken) return undefined;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return undefined;
    }
    // Node continues to read, and without this it would execute a request that has already received status 408.
    connection.isBroken = true;
    const { current, isServing } = connection;
    if (current && !current.message.complete) current.reject(error.code === TIMEOUT ? 408 : 400);
    else if (!isServing) return rejectMalformed(error.code, socket);
    return undefined;
  }

  #serveNext(message: IncomingMessage, connection: Connection, response: ServerResponse): void {
    const { socket } = message;
    connection.current = undefined;
    // Fastify sets the header while it closes.
    const isLast = !response.shouldKeepAlive || response.getHeader('connection') === 'close';
    const isEnd = connection.isBroken || isLast || !socket.writable;
    if (isEnd) connection.queue = [];
    const next = connection.queue.shift();
    if (connection.queue.length === 0) socket.resume();
    if (connection.isBroken || (this.#isClosing && !next)) socket.destroySoon();
    connection.isServing = next !== undefined;
    if (next) setImmediate(() => this.#start(next));
  }

  /** Starts a request in another iteration of the event loop than the one before it, so that others are served in between. */
  async #start(next: () => void): Promise<void> {
    await this.#starting.enterIteration('pipelined');
    next();
  }
}

/**
 * Responds to bytes that are not HTTP, and closes the connection. Call it only if no earlier request on the connection
 * waits for a response, because the client would mistake this response for that one. Returns the properties of a log line.
 */
function rejectMalformed(fault: string | undefined, socket: Socket) {
  const requestId = crypto.randomUUID();
  const { remoteAddress: address } = socket;
  const error = errors[fault ?? ''] ?? httpError(400);
  const { code: outcome, http: { status } = { status: 400 } } = error;
  const text = JSON.stringify({ errors: [entryOf(error, requestId)] });
  const response = new ServerResponse(new IncomingMessage(socket));
  response.assignSocket(socket);
  const headers = { ...securityHeaders, 'content-type': JSON_TYPE };
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
  socket.destroySoon();
  return { requestId, outcome, status, fault, address };
}

/**
 * Reads and discards the rest of a body after the response has been sent. If the gateway closed the connection while the
 * client is still sending, the connection would be reset, and the client would lose the response. So the connection stays
 * open until the body has arrived, the client has closed it, or five seconds have passed. The end of chunks is not found, and a
 * proxy could send another client's request behind them, so they are the last on their connection.
 */
export function discardBody(message: IncomingMessage, response: ServerResponse): void {
  if (message.complete) return;
  const { socket } = message;
  // If the reader of the body saw its end, it would send a second response.
  for (const event of ['data', 'end', 'error']) message.removeAllListeners(event);
  message.resume();
  const isChunked = hasChunks(message);
  if (isChunked) {
    response.setHeader('connection', 'close');
    // Chunks are no longer parsed: thousands may arrive at once, and Node takes microseconds for each.
    socket.removeAllListeners('data');
  }
  let bytes = 0;
  (isChunked ? socket : message).on('data', ({ length }: Buffer) => {
    bytes += length;
    if (bytes > 33_554_432) socket.destroy(); // docs/reference/limits.md
  });
  // Node calls this after a response with `connection: close`.
  socket.destroySoon = () => {
    const close = () => Socket.prototype.destroySoon.call(socket);
    if (message.complete) return close();
    socket.destroySoon = () => {};
    socket.end();
    message.once('end', close);
    socket.once('end', () => socket.destroy());
    const timer = setTimeout(() => socket.destroy(), 5000).unref();
    socket.once('close', () => clearTimeout(timer));
  };
}

function hasChunks({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined;
}
