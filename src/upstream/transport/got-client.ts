import got from 'got';
import { Pool } from 'undici';
import type { RequestScope } from '../../request-scope.ts';
import { operations, policyOf, type UpstreamRequest } from '../operations.ts';
import { checkRoom } from '../response-size.ts';
import type { RawResponse } from './exchange.ts';
import { type ResponseBody, responseBody } from './response-body.ts';
import { throwForStatus } from './transport-error.ts';
import { createUndiciHandler } from './undici-handler.ts';
import { buildVerifiedConnector } from './verified-connector.ts';
import { IDLE_MARGIN_MS, MAX_IDLE_MS, WriteConnections } from './write-connections.ts';

export type Transport = {
  /**
   * Sends a request once and resolves to its 2xx response. Ends when `signal` is aborted, and does not send
   * the request after `sendBy`, in the time of `performance.now()`. Rejects with an UpstreamError, whose
   * `sent` says whether the request may have reached the service.
   */
  send(
    request: UpstreamRequest,
    scope: RequestScope,
    limits: { signal: AbortSignal; sendBy?: number | undefined },
    trace: Record<string, string>,
  ): Promise<{ statusCode: number; body: ResponseBody }>;
  close(): void;
};

/** got without everything that could repeat a request: by default it retries GETs, and six of ours change state. */
const client = got.extend({
  retry: { limit: 0 },
  followRedirect: false,
  throwHttpErrors: false,
  decompress: false,
  headers: {
    // The three types of docs/service-api.md, section 4.1. The type of the response is not checked.
    accept: 'application/json, text/json, text/plain;q=0.9',
    // Brotli is accepted, but not asked for: even a small body takes long if it is malicious.
    'accept-encoding': 'gzip, deflate',
    'user-agent': 'ledger-gateway',
  },
});

/** The HTTP client of the service: got for the request, undici for the connection. Sizes are in bytes. */
export function createTransport(options: {
  baseUrl: URL;
  timeoutMs: number;
  maxResponseBytes: number;
  /** A private CA, and a certificate with its key for mutual TLS, all in PEM. */
  tls: { ca?: string; cert?: string; key?: string };
}): Transport {
  const { origin, href } = options.baseUrl;
  const settings = {
    pipelining: 1,
    allowH2: false,
    // Shared, so that TLS sessions are resumed. Its timeout is longer than any deadline, which decides.
    connect: buildVerifiedConnector({
      timeout: options.timeoutMs * 2,
      allowH2: false,
      ...options.tls,
    }),
    // The deadline of the call replaces undici's timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveMaxTimeout: MAX_IDLE_MS,
    keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
  };
  // Without a limit of connections: the bulkhead limits the calls, and the connection of an error whose
  // body is being discarded must not delay another call.
  const pool = new Pool(origin, settings);
  const writeConnections = new WriteConnections(origin, settings);
  const { maxResponseBytes } = options;
  const pooled = { dispatcher: pool, reset: false, checkRoom, release() {} };
  const clients = {
    pooled: client.extend({ handlers: [createUndiciHandler(() => pooled, maxResponseBytes)] }),
    verified: client.extend({
      handlers: [createUndiciHandler(() => writeConnections.take(), maxResponseBytes)],
    }),
  };

  return {
    async send({ operation, search = '', body }, scope, { signal, sendBy }, trace) {
      const response: RawResponse = await clients[policyOf(operation).connection](
        href + operation + search,
        {
          method: operations[operation].method,
          headers: {
            authorization: `Bearer ${scope.token}`,
            'x-request-id': scope.requestId,
            ...trace,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          ...(body !== undefined && { body }),
          ...(sendBy !== undefined && { timeout: { connect: sendBy - performance.now() } }),
          signal,
          responseType: 'buffer',
        },
      );
      const { statusCode, headers, rawBody } = response;
      throwForStatus(statusCode, headers);
      const coding = String(headers['content-encoding'] ?? '');
      return { statusCode, body: responseBody(rawBody, coding, maxResponseBytes) };
    },
    close() {
      writeConnections.close();
      pool.destroy(() => {});
    },
  };
}
