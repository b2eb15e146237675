import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import got, { type Options } from 'got';
import { type Answer, Connections } from './connections.ts';
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
  trace?: Record<string, string>;
};

/** The body of a 2xx answer, and the status it came with. */
export type UpstreamAnswer = { status: number; text: string };

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

/** How an attempt went, as far as the connection told. */
type Progress = { connected: boolean; answered: boolean };

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
      (request, next) => {
        const { transport } = request.context;
        return typeof transport === 'function' ? transport(request) : next(request);
      },
    ],
  });

  /** Reads an answer, whatever status and encoding it came with. */
  async function receive(answer: Answer, progress: Progress): Promise<UpstreamAnswer> {
    progress.answered = true;
    try {
      refuse(answer);
    } catch (error) {
      answer.body.on('error', () => {}).destroy();
      throw error;
    }
    return { status: answer.statusCode, text: await read(answer, options.maxResponseBytes) };
  }

  return {
    async send({ operation, search = '', body, token, requestId, trace }, signal) {
      const { method } = operations[operation];
      const { keepAlive } = policyOf(operation);
      const path = options.baseUrl.pathname + operation + search;
      const progress: Progress = { connected: false, answered: false };
      let received: UpstreamAnswer | undefined;
      try {
        await client(options.baseUrl.origin + path, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            'x-request-id': requestId,
            ...trace,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          context: {
            async transport({ headers }: Options) {
              const dispatch = { method, path, headers, body: body ?? null };
              const answer = keepAlive
                ? await connections.read(dispatch, signal)
                : await connections.write(dispatch, signal, () => {
                    progress.connected = true;
                  });
              received = await receive(answer, progress);
            },
          },
        });
      } catch (error) {
        throw error instanceof UpstreamError ? error : translate(error, progress);
      }
      if (!received) throw invalid('nothing received');
      return received;
    },
    close: () => connections.close(),
  };
}

/** What undoes a content encoding, in one go, and no further than `maxOutputLength`. */
const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

/** The text of a body: UTF-8, and no more than `maxBytes` of it, before and after decompression. */
async function read({ body, headers }: Answer, maxBytes: number): Promise<string> {
  const bytes = await collect(body, maxBytes);
  const encoding = headers['content-encoding']?.toLowerCase();
  const decoder =
    encoding !== undefined && Object.hasOwn(decoders, encoding)
      ? decoders[encoding as keyof typeof decoders]
      : undefined;
  const plain = decoder
    ? await decoder(bytes, { maxOutputLength: maxBytes }).catch(refuseCoding)
    : bytes;
  if (!isUtf8(plain)) throw invalid(`no UTF-8, ${plain.length} bytes`);
  const text = plain.toString('utf8');
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

/** What does not decompress, or to more than is allowed, will not the next time either. */
function refuseCoding(error: unknown): never {
  throw invalid(faultOf(error));
}

const BYTE_ORDER_MARK = '\uFEFF';

/** Reads a body to its end; one that goes on beyond `maxBytes` is stopped there. */
function collect(body: Readable, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    body.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > maxBytes) body.destroy(invalid(`over ${maxBytes} bytes`));
    });
    body.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)),
    );
    body.once('error', reject);
    body.once('close', () => reject(new Error('closed')));
  });
}

/** Throws where the status alone says that there is no answer to read (specification, section 7). */
function refuse({ statusCode: status, headers }: Answer): void {
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

/** An answer that came and cannot be used. */
export function invalid(fault: string): UpstreamError {
  return new UpstreamError('UPSTREAM_INVALID_RESPONSE', { effect: 'possible', fault });
}

/** What the connection reported, without anything of the request in it. */
function translate(error: unknown, { connected, answered }: Progress): UpstreamError {
  const fault = faultOf(error);
  const noHttp = fault.startsWith('HPE_') || fault === 'HTTPParserError';
  // An answer that began and broke, or that is no HTTP, is an answer that cannot be read.
  return new UpstreamError(
    answered || noHttp ? 'UPSTREAM_INVALID_RESPONSE' : 'UPSTREAM_UNAVAILABLE',
    {
      effect: connected ? 'possible' : 'none',
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
