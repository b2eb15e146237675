import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import got from 'got';
import { Connections, type Dispatch, type ExchangeControl, type Receiver } from './connections.ts';
import { UpstreamError } from './errors.ts';
import { type OperationName, operations, policyOf } from './operations.ts';

/** One call to the service, as it goes onto the wire. */
export type UpstreamRequest = {
  operation: OperationName;
  /** The query, from its question mark on, where there is one. */
  search?: string;
  /** JSON text. */
  body?: string;
  /** The caller's token, forwarded exactly as it came (specification, section 5). */
  token: string;
  requestId: string;
  /** Headers that carry the trace on (W3C Trace Context), where there is one. */
  trace?: Record<string, string> | undefined;
};

/** A 2xx answer. */
export type UpstreamAnswer = {
  status: number;
  /** The length of its body, decompressed, in bytes. */
  length: number;
  /** Its body. Throws an UpstreamError where it is no UTF-8. */
  text(): string;
};

export type Http = {
  /**
   * Sends a request once and reads its answer. Never repeats it, never follows a redirect; ends when
   * `signal` does.
   *
   * @throws UpstreamError, whose `effect` tells whether the request may have reached the service
   */
  send(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer>;
  /** Closes the connections. */
  close(): void;
};

/**
 * got assembles the request, with everything in it that would hurt switched off: it would retry GETs
 * (six of ours change state), follow redirects, and wait for ever. Its handler hands the request to
 * the lean transport of connections.ts, which costs a third of its own (docs/decisions/0009).
 */
export function createHttp(options: {
  baseUrl: URL;
  timeoutMs: number;
  maxResponseBytes: number;
  maxConcurrency: number;
}): Http {
  const connections = new Connections(options);
  const client = got.extend({
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    decompress: false,
    headers: {
      // The three types that section 4.1 offers. What counts is the body: the type is not looked at.
      accept: 'application/json, text/json, text/plain;q=0.9',
      'accept-encoding': 'gzip, deflate, br',
      'user-agent': 'ledger-gateway',
    },
    handlers: [
      ({ headers, context: { dispatch } }) => {
        if (typeof dispatch !== 'function') throw new TypeError('There is nowhere to go.');
        return dispatch(headers);
      },
    ],
  });

  return {
    send({ operation, search = '', body = null, token, requestId, trace }, signal) {
      const { method } = operations[operation];
      const { reuse } = policyOf(operation);
      const path = options.baseUrl.pathname + operation + search;
      return new Promise((resolve, reject) => {
        const reading = new Reading(options.maxResponseBytes, resolve, reject);
        const dispatch = (headers: Dispatch['headers']) =>
          connections[reuse]({ method, path, headers, body }, signal, reading);
        client(options.baseUrl.origin + path, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            'x-request-id': requestId,
            ...trace,
            ...(body !== null && { 'content-type': 'application/json' }),
          },
          context: { dispatch },
        });
      });
    },
    close: () => connections.close(),
  };
}

/** What undoes a content encoding. */
const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

type Decoder = ReturnType<(typeof decoders)[keyof typeof decoders]>;

function isKnown(encoding: string): encoding is keyof typeof decoders {
  return Object.hasOwn(decoders, encoding);
}

const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Takes one answer in, whatever status and encoding it comes with, and no more than `maxBytes` of it,
 * before and after decompression. What goes beyond is stopped there.
 */
class Reading implements Receiver {
  readonly #maxBytes: number;
  readonly #resolve: (answer: UpstreamAnswer) => void;
  readonly #reject: (error: UpstreamError) => void;
  readonly #chunks: Buffer[] = [];
  #plainBytes = 0;
  #codedBytes = 0;
  #left = false;
  #status = 0;
  #ended = false;
  #decoder: Decoder | undefined;
  #decoded = false;

  constructor(
    maxBytes: number,
    resolve: (answer: UpstreamAnswer) => void,
    reject: (error: UpstreamError) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  left(): void {
    this.#left = true;
  }

  head(status: number, headers: IncomingHttpHeaders, exchange: ExchangeControl): void {
    this.#status = status;
    refuse(status, headers);
    const encoding = String(headers['content-encoding'] ?? '')
      .trim()
      .toLowerCase();
    if (encoding === '' || encoding === 'identity') return;
    if (!isKnown(encoding)) throw invalid('a content coding that was not offered');
    this.#decoder = decoders[encoding]()
      .on('data', (plain: Buffer) => this.#keep(plain, exchange))
      .on('drain', () => exchange.resume())
      .once('end', () => {
        // It may see its end before the body has come to its own.
        this.#decoded = true;
        if (this.#ended) this.#finish();
      })
      // What does not decompress will not the next time either.
      .once('error', (error) => this.#giveUp(invalid(faultOf(error)), exchange));
  }

  data(chunk: Buffer, exchange: ExchangeControl): void {
    if (!this.#decoder) {
      this.#keep(chunk, exchange);
      return;
    }
    this.#codedBytes += chunk.length;
    if (this.#codedBytes > this.#maxBytes) this.#giveUp(this.#tooLarge(), exchange);
    else if (this.#decoded) this.#giveUp(tooMuch(), exchange);
    else if (!this.#decoder.write(chunk)) exchange.pause();
  }

  end(): void {
    this.#ended = true;
    if (this.#decoder && !this.#decoded) this.#decoder.end();
    else this.#finish();
  }

  fail(error: Error): void {
    this.#decoder?.destroy();
    this.#reject(
      error instanceof UpstreamError ? error : translate(error, this.#left, this.#status > 0),
    );
  }

  #keep(plain: Buffer, exchange: ExchangeControl): void {
    this.#plainBytes += plain.length;
    if (this.#plainBytes > this.#maxBytes) this.#giveUp(this.#tooLarge(), exchange);
    else this.#chunks.push(plain);
  }

  /** Stops the transfer. Where it is over already, only the rest of the decompression is left to stop. */
  #giveUp(error: UpstreamError, exchange: ExchangeControl): void {
    exchange.abort(error);
    this.fail(error);
  }

  #tooLarge(): UpstreamError {
    return invalid(`over ${this.#maxBytes} bytes`);
  }

  #finish(): void {
    // A decoder that has its end takes in no more.
    if (this.#decoder && this.#decoder.bytesWritten < this.#codedBytes) {
      this.fail(tooMuch());
      return;
    }
    const length = this.#plainBytes;
    const chunks = this.#chunks;
    this.#resolve({ status: this.#status, length, text: () => textOf(chunks, length) });
  }
}

/** The text of a body: UTF-8, and nothing else. */
function textOf(chunks: Buffer[], length: number): string {
  const [first] = chunks;
  const bytes = first && chunks.length === 1 ? first : Buffer.concat(chunks, length);
  if (!isUtf8(bytes)) throw invalid(`no UTF-8, ${length} bytes`);
  const text = bytes.toString('utf8');
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** Throws where the status alone says that there is no answer to read (specification, section 7). */
function refuse(status: number, headers: IncomingHttpHeaders): void {
  if (status >= 200 && status <= 299) return;
  const fault = `status ${status}`;
  if (status >= 500) {
    throw new UpstreamError('UPSTREAM_FAILED', {
      effect: 'possible',
      fault,
      status,
      transient: status === 502 || status === 503 || status === 504,
      retryAfterMs: readRetryAfter(headers['retry-after']),
    });
  }
  if (status >= 400) {
    const code =
      status === 401 ? 'UNAUTHENTICATED' : status === 403 ? 'FORBIDDEN' : 'UPSTREAM_BAD_REQUEST';
    throw new UpstreamError(code, { effect: 'none', fault, status });
  }
  throw new UpstreamError('UPSTREAM_INVALID_RESPONSE', { effect: 'possible', fault, status });
}

/** Reads a Retry-After header, seconds or a date, into milliseconds from now. */
function readRetryAfter(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function tooMuch(): UpstreamError {
  return invalid('bytes after the end of what is compressed');
}

/** An answer that came and cannot be used. */
export function invalid(fault: string): UpstreamError {
  return new UpstreamError('UPSTREAM_INVALID_RESPONSE', { effect: 'possible', fault });
}

/** What the connection reported, without anything of the request in it. */
function translate(error: unknown, left: boolean, answered: boolean): UpstreamError {
  const fault = faultOf(error);
  const noHttp = /^HPE_|^HTTPParserError$|^UND_ERR_(RES_CONTENT_LENGTH|HEADERS_OVERFLOW)/.test(
    fault,
  );
  // An answer that began and broke, or that is no HTTP, is an answer that cannot be read.
  return new UpstreamError(
    answered || noHttp ? 'UPSTREAM_INVALID_RESPONSE' : 'UPSTREAM_UNAVAILABLE',
    {
      effect: left ? 'possible' : 'none',
      fault,
      transient: !noHttp,
    },
  );
}

/** An error's code, or its name: the two that hold nothing of a request. */
function faultOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'name' in error && typeof error.name === 'string' ? error.name : 'unknown';
}
