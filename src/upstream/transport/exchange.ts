import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Sent, tooLate } from '../upstream-error.ts';
import { ByteParts } from './byte-parts.ts';
import { tooLarge } from './response-body.ts';
import { connectionError } from './transport-error.ts';

/** The part of got's response that this handler provides. */
export type RawResponse = {
  statusCode: number;
  headers: IncomingHttpHeaders;
  /** The body as it was received. Empty unless the status is 2xx. */
  rawBody: Uint8Array;
};

/** A connection for one exchange. */
export type Connection = {
  dispatcher: Dispatcher;
  /** Whether the connection closes after the exchange. */
  reset: boolean;
  /** Throws an UpstreamError if there is no memory for a response of so many bytes. */
  checkRoom?(bytes: number): void;
  /** Called when the exchange is over, with the headers of a complete response, or null. */
  release(headers: IncomingHttpHeaders | null, sent: Sent): void;
};

/** Milliseconds and bytes in which the body of an error response may end; then the connection is closed. */
const DISCARD_MS = 1000;
const DISCARD_BYTES = 65_536;

/** The limits of an exchange. `sendBy` is a time of `performance.now()`. */
type Limits = { maxBytes: number; sendBy: number; signal: AbortSignal | undefined };

/** One request and its response. It cannot be sent twice: if undici starts it again, it is aborted. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #connection: Connection;
  readonly #limits: Limits;
  readonly #resolve: (response: RawResponse) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #sent: Sent = 'no';
  #statusCode = 0;
  #headers: IncomingHttpHeaders = {};
  readonly #body = new ByteParts();
  #bytes = 0;
  #ended = false;
  #discardTimer: NodeJS.Timeout | undefined;

  constructor(
    connection: Connection,
    limits: Limits,
    resolve: (response: RawResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.#connection = connection;
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  dispatch(request: Dispatcher.DispatchOptions): void {
    const { signal } = this.#limits;
    signal?.addEventListener('abort', this.#abort);
    if (signal?.aborted) this.#abort();
    else this.#connection.dispatcher.dispatch(request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended || this.#controller) {
      controller.abort(new Error('aborted before sending'));
      return;
    }
    if (performance.now() > this.#limits.sendBy) {
      controller.abort(tooLate());
      return;
    }
    this.#controller = controller;
    this.#sent = 'maybe';
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (statusCode < 200) return;
    this.#sent = 'yes';
    this.#statusCode = statusCode;
    this.#headers = headers;
    if (this.#isError) {
      this.#discardTimer = setTimeout(this.#abort, DISCARD_MS);
      this.#resolve({ statusCode, headers, rawBody: Buffer.alloc(0) });
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#isError) {
      if (this.#bytes > DISCARD_BYTES) this.#abort();
      return;
    }
    try {
      if (this.#bytes > this.#limits.maxBytes) throw tooLarge(this.#limits.maxBytes);
      this.#connection.checkRoom?.(this.#bytes);
      this.#body.add(chunk);
    } catch (error) {
      controller.abort(error instanceof Error ? error : new Error('aborted'));
    }
  }

  onResponseEnd(): void {
    this.#end(this.#headers);
    const rawBody = this.#body.join();
    this.#resolve({ statusCode: this.#statusCode, headers: this.#headers, rawBody });
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
    this.#reject(connectionError(error, this.#sent));
  }

  get #isError(): boolean {
    return this.#statusCode > 299;
  }

  /** Ends the transfer, once. */
  #end(headers: IncomingHttpHeaders | null): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#discardTimer);
    this.#limits.signal?.removeEventListener('abort', this.#abort);
    this.#connection.release(headers, this.#sent);
  }
}
