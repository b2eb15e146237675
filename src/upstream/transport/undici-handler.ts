import type { IncomingHttpHeaders } from 'node:http';
import type { HandlerFunction } from 'got';
import type { Dispatcher } from 'undici';
import type { Sent } from '../upstream-error.ts';
import { ResponseReader } from './response-reader.ts';
import { connectionError } from './transport-error.ts';

/** The part of got's response that this handler provides. */
export type UpstreamResponse = {
  statusCode: number;
  headers: IncomingHttpHeaders;
  /** The body, decompressed. Empty unless the status is 2xx. */
  rawBody: Uint8Array;
};

/** A connection for one exchange. */
export type Connection = {
  dispatcher: Dispatcher;
  /** Whether the connection closes after the exchange. */
  reset: boolean;
  /** Called when the exchange is over: with the headers of a complete response, or null. */
  release(headers: IncomingHttpHeaders | null): void;
};

/** Milliseconds and bytes in which the body of an error response may end; then the connection is closed. */
const DISCARD_MS = 1000;
const DISCARD_BYTES = 65_536;

/**
 * A got handler that sends the request through undici instead of got's own transport, which costs
 * several times as much (docs/decisions/0009). It sends exactly once, follows no redirect, and ends when the
 * request's signal is aborted. Rejects with an UpstreamError.
 */
export function createUndiciHandler(
  connect: () => Connection,
  maxResponseBytes: number,
): HandlerFunction {
  return ({ url, method, headers, body, signal }) => {
    const { origin, pathname, search } = url instanceof URL ? url : new URL(String(url));
    const connection = connect();
    const response = new Promise<UpstreamResponse>((resolve, reject) => {
      const exchange = new Exchange(connection, maxResponseBytes, signal, resolve, reject);
      exchange.dispatch({
        origin,
        path: pathname + search,
        method: method === 'POST' ? 'POST' : 'GET',
        headers,
        body: typeof body === 'string' ? body : null,
        reset: connection.reset,
      });
    });
    // got declares its own response as the result; this one has the part of it that is read.
    return response as Promise<never>;
  };
}

/** One request and its response. It cannot be sent twice: if undici starts it again, it is aborted. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #connection: Connection;
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: (response: UpstreamResponse) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #reader: ResponseReader | undefined;
  #sent: Sent = 'no';
  #headers: IncomingHttpHeaders = {};
  #ended = false;
  #discarded = 0;
  #discardTimer: NodeJS.Timeout | undefined;

  constructor(
    connection: Connection,
    maxBytes: number,
    signal: AbortSignal | undefined,
    resolve: (response: UpstreamResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.#connection = connection;
    this.#maxBytes = maxBytes;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  dispatch(request: Dispatcher.DispatchOptions): void {
    this.#signal?.addEventListener('abort', this.#abort);
    if (this.#signal?.aborted) this.#abort();
    else this.#connection.dispatcher.dispatch(request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended || this.#controller) {
      controller.abort(new Error('aborted before sending'));
      return;
    }
    this.#controller = controller;
    this.#sent = 'maybe';
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (statusCode < 200) return;
    this.#sent = 'yes';
    this.#headers = headers;
    if (statusCode > 299) {
      this.#discardTimer = setTimeout(this.#abort, DISCARD_MS);
      this.#resolve({ statusCode, headers, rawBody: Buffer.alloc(0) });
      return;
    }
    this.#reader = new ResponseReader(String(headers['content-encoding'] ?? ''), this.#maxBytes, {
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      complete: (rawBody) => this.#resolve({ statusCode, headers, rawBody }),
      fail: (error) => {
        controller.abort(error);
        // The transfer may already be over, with only the decompression left to stop.
        this.#fail(error);
      },
    });
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#reader) {
      this.#reader.write(chunk);
      return;
    }
    this.#discarded += chunk.length;
    if (this.#discarded > DISCARD_BYTES) this.#abort();
  }

  onResponseEnd(): void {
    this.#end(this.#headers);
    this.#reader?.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  readonly #abort = (): void => {
    const error = new Error('aborted');
    if (this.#controller) this.#controller.abort(error);
    else this.#fail(error);
  };

  #fail(error: Error): void {
    this.#end(null);
    this.#reader?.destroy();
    this.#reject(connectionError(error, this.#sent));
  }

  /** Ends the transfer, once. */
  #end(headers: IncomingHttpHeaders | null): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#discardTimer);
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#connection.release(headers);
  }
}
