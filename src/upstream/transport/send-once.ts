import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { connectionError, invalidResponse, type Sent, tooLong } from '../upstream-error.ts';
import { type BodyLimits, BodyParts } from './body-parts.ts';
import type { Connection, Connections } from './connections.ts';

/** A response as it was received. If its status is not 2xx, a body that is long, late or incomplete is left out. */
export type RawResponse = {
  statusCode: number;
  headers: IncomingHttpHeaders;
  rawBody: Uint8Array;
};

/** The most time and bytes for the body of a response whose status is not 2xx. After that, the connection is closed. */
const ERROR_MS = 1000;
const errorLimits: BodyLimits = { maxBytes: 65_536, tryReserve: () => true };
/** How many bytes of a response are received without waiting for memory. A reset of the connection would lose unread bytes. */
const AT_ONCE = 65_536;

/** Limits of an exchange. */
export type ExchangeLimits = BodyLimits & {
  /** Ends the exchange. */
  signal: AbortSignal;
  /** Resolves when there is memory to receive and decode so many bytes. Undefined if no wait is necessary. */
  reserve(bytes: number): Promise<void> | undefined;
};

type ExchangeOptions = ExchangeLimits & {
  effect: 'read' | 'write';
  /** Called right before the request is sent. Throws an UpstreamError if it may not be sent any more. */
  mayStart?: (() => void) | undefined;
  /** Resolves when the next part of a long response may be received. Undefined if it may be received at once. */
  read(): Promise<void> | undefined;
};

/** What is known of the request before its exchange has begun. */
export const notBegun = { sent: 'no' } as const;

/** One request and its response. Only this decides whether the request was sent. If undici starts it again, it is aborted. */
export class Exchange implements Dispatcher.DispatchHandler {
  /** `no` before undici writes the request, `maybe` from then on, and `yes` once a response to it has begun. */
  sent: Sent = notBegun.sent;
  /** The status of a response that waits for memory or for its turn. If it is late, that is not because of the service. */
  pausedStatus: number | undefined;
  readonly #limits: ExchangeOptions;
  readonly #response = Promise.withResolvers<RawResponse>();
  #connections: Connections | undefined;
  #connection: Connection | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #informational = 0;
  #statusCode = 0;
  #headers: IncomingHttpHeaders = {};
  #body: BodyParts | undefined;
  #reserved = AT_ONCE;
  #ended = false;
  #errorTimer: NodeJS.Timeout | undefined;

  constructor(limits: ExchangeOptions) {
    this.#limits = limits;
  }

  /**
   * Sends the request at the end of this iteration of the event loop. Resolves to the response, whatever its status. Rejects with an
   * UpstreamError.
   */
  send(request: Dispatcher.DispatchOptions, connections: Connections): Promise<RawResponse> {
    const { signal } = this.#limits;
    signal.addEventListener('abort', this.#abort);
    if (signal.aborted) this.#abort();
    setImmediate(() => {
      if (this.#ended) return;
      try {
        this.#connections = connections;
        this.#connection = connections.acquire(this.#limits.effect);
        const { dispatcher, reset } = this.#connection;
        dispatcher.dispatch({ ...request, reset }, this);
      } catch (error) {
        this.#response.reject(error); // This is a bug of the gateway.
        this.#abort();
      }
    });
    return this.#response.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended || this.#controller) {
      controller.abort(new Error('aborted before sending'));
      return;
    }
    try {
      this.#limits.mayStart?.();
      this.#controller = controller;
      this.sent = 'maybe';
    } catch (error) {
      controller.abort(error instanceof Error ? error : new Error('not sent'));
    }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (statusCode < 200) {
      this.#informational += 1;
      const isTooMany = this.#informational > 100;
      if (isTooMany) controller.abort(invalidResponse('more than 100 informational responses'));
      return;
    }
    this.sent = 'yes';
    this.#statusCode = statusCode;
    this.#headers = headers;
    if (statusCode > 299) {
      this.#body = new BodyParts(errorLimits);
      this.#errorTimer = setTimeout(this.#abort, ERROR_MS);
      return;
    }
    // What is compressed can be cut only when it is decompressed.
    const cutsTexts = this.#limits.cutsTexts === true && !('content-encoding' in headers);
    const body = new BodyParts({ ...this.#limits, cutsTexts });
    this.#body = body;
    const bytes = Number(headers['content-length']);
    if (bytes > body.maxBytes) controller.abort(tooLong(body.maxBytes));
    else if (bytes > AT_ONCE) void this.#pauseUntil(this.#reserve(bytes), controller);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const body = this.#body;
    if (!body || chunk.length === 0) return; // undici calls this after each `resume`, even if nothing has arrived.
    try {
      body.add(chunk);
    } catch (error) {
      controller.abort(error instanceof Error ? error : new Error('unexpected'));
      return;
    }
    // The last part is not delayed: if the service closed the connection meanwhile, undici would lose the response.
    const isLast = body.received === Number(this.#headers['content-length']);
    const isLong = body.received > AT_ONCE;
    if (isLong && !isLast) void this.#pauseUntil(this.#next(body.received), controller);
  }

  onResponseEnd(): void {
    this.#end(this.#headers, this.#body?.join());
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    // The status of an error is certain, even if its body is not.
    if (!this.#errorTimer) this.#response.reject(connectionError(error, this.sent));
    this.#end(null);
  }

  readonly #abort = (): void => {
    if (this.#ended) return;
    const error = new Error('aborted');
    if (this.#controller) this.#controller.abort(error);
    else this.onResponseError(undefined, error);
  };

  /** Resolves when the next part may be received. Undefined if it may be received at once. */
  #next(received: number): Promise<void> | undefined {
    const isReserved = received <= this.#reserved;
    // For a response that does not declare its length, memory is reserved for a quarter more than has arrived.
    const reserving = isReserved ? undefined : this.#reserve(Math.ceil(received * 1.25));
    return reserving ?? this.#limits.read();
  }

  /** Resolves when there is memory for a response of this length. Otherwise hundreds of responses would be received in part. */
  #reserve(bytes: number): Promise<void> | undefined {
    this.#reserved = bytes;
    return this.#limits.reserve(bytes);
  }

  /** Receives nothing more until the condition resolves. */
  async #pauseUntil(
    condition: Promise<void> | undefined,
    controller: Dispatcher.DispatchController,
  ): Promise<void> {
    if (!condition) return;
    try {
      controller.pause();
      this.pausedStatus = this.#statusCode;
      await condition;
      this.pausedStatus = undefined;
      controller.resume();
    } catch (error) {
      this.#response.reject(error);
      this.#abort();
    }
  }

  /**
   * Ends the exchange, once, and resolves its promise, unless that was rejected before. `complete` has the headers of a complete
   * response, and is null for any other.
   */
  #end(complete: IncomingHttpHeaders | null, rawBody: Uint8Array = new Uint8Array()): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#errorTimer);
    if (this.#connection) this.#connections?.release(this.#connection, complete, this.sent);
    const [statusCode, headers] = [this.#statusCode, this.#headers];
    this.#response.resolve({ statusCode, headers, rawBody });
  }
}
