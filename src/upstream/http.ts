import type { ClientRequest } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import got, { type Response } from 'got';
import { UpstreamError } from './errors.ts';
import { type OperationName, operations, policyOf } from './operations.ts';

/** One call to the service, as it goes onto the wire. */
export type UpstreamRequest = {
  operation: OperationName;
  query?: Record<string, string>;
  /** JSON text. */
  body?: string;
  /** The caller's token, forwarded exactly as it came (specification, section 5). */
  token: string;
  requestId: string;
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
  /** Closes the idle connections. */
  close(): void;
};

/** How an attempt went, as far as the socket told. */
type Progress = { connected: boolean; answered: boolean };

/**
 * got, with everything in it that would hurt switched off: it would retry GETs (six of ours change
 * state), follow redirects, and wait for ever.
 */
export function createHttp(options: { baseUrl: URL; maxResponseBytes: number }): Http {
  const kept = createAgents(true);
  const single = createAgents(false);
  const client = got.extend({
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    headers: {
      // The three types that section 4.1 offers. What counts is the body: the type is not looked at.
      accept: 'application/json, text/json, text/plain;q=0.9',
      'user-agent': 'ledger-gateway',
    },
  });

  async function send(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    const { operation, query, body, token, requestId } = request;
    const url = new URL(operation, options.baseUrl);
    url.search = new URLSearchParams(query).toString();
    const agent = policyOf(operation).keepAlive ? kept : single;
    const progress: Progress = { connected: false, answered: false };
    const stream = client.stream(url, {
      method: operations[operation].method,
      agent,
      signal,
      headers: {
        authorization: `Bearer ${token}`,
        'x-request-id': requestId,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    stream.once('request', (sent) => watch(sent, progress));
    stream.on('error', () => {}); // An error after ours must not end the process.
    try {
      const response = await new Promise<Response>((resolve, reject) => {
        stream.once('response', resolve);
        stream.once('error', reject);
      });
      progress.answered = true;
      refuse(response);
      return { status: response.statusCode, text: await read(stream, options.maxResponseBytes) };
    } catch (error) {
      throw error instanceof UpstreamError ? error : translate(error, progress);
    } finally {
      stream.destroy();
    }
  }

  return {
    send,
    close() {
      for (const { http, https } of [kept, single]) {
        http.destroy();
        https.destroy();
      }
    },
  };
}

function createAgents(keepAlive: boolean) {
  return { http: new http.Agent({ keepAlive }), https: new https.Agent({ keepAlive }) };
}

/**
 * Notes when a connection stands. Node writes the request at that very moment, so from then on it
 * may have reached the service; before, it surely has not.
 */
function watch(request: ClientRequest, progress: Progress): void {
  const onSocket = (socket: NonNullable<ClientRequest['socket']>) => {
    if (request.reusedSocket || !socket.connecting) progress.connected = true;
    const event = 'encrypted' in socket ? 'secureConnect' : 'connect';
    socket.once(event, () => {
      progress.connected = true;
    });
  };
  if (request.socket) onSocket(request.socket);
  else request.once('socket', onSocket);
}

/** Throws where the status alone says that there is no answer to read (specification, section 7). */
function refuse({ statusCode: status, headers }: Response): void {
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
function readRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Reads a body as UTF-8, and no further than `maxBytes` of what it decompresses to. */
async function read(stream: AsyncIterable<unknown>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    if (!Buffer.isBuffer(chunk)) throw invalid('no bytes');
    bytes += chunk.length;
    if (bytes > maxBytes) throw invalid(`over ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks, bytes));
  } catch {
    throw invalid(`no UTF-8, ${bytes} bytes`);
  }
}

/** An answer that came and cannot be used. */
export function invalid(fault: string): UpstreamError {
  return new UpstreamError('UPSTREAM_INVALID_RESPONSE', { effect: 'possible', fault });
}

/** What got or the socket reported, without anything of the request in it. */
function translate(error: unknown, { connected, answered }: Progress): UpstreamError {
  const fault = faultCode(error);
  // An answer that began and broke, or that is no HTTP, is an answer that cannot be read.
  const code =
    answered || fault.startsWith('HPE_') ? 'UPSTREAM_INVALID_RESPONSE' : 'UPSTREAM_UNAVAILABLE';
  return new UpstreamError(code, {
    effect: connected ? 'possible' : 'none',
    fault,
    transient: !fault.startsWith('HPE_') && !fault.startsWith('Z_'),
  });
}

function faultCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'unknown';
}
