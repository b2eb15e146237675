import { randomUUID } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import got, { Options } from 'got';
import { memo } from '../../lib/memo.ts';
import type { RequestScope } from '../../request-scope.ts';
import { outgoingTraceHeaders } from '../../telemetry/tracing.ts';
import type { Operation, UpstreamRequest } from '../operations.ts';
import { type ConnectionOptions, Connections } from './connections.ts';
import type { Exchange, RawResponse } from './send-once.ts';
import type { TlsFiles } from './tls-files.ts';

type Headers = Readonly<Record<string, string>>;

/** got without everything that could repeat a request: by default it retries GETs, and most of ours change state. */
const client = got.extend({
  retry: { limit: 0 },
  followRedirect: false,
  headers: {
    // The three types of docs/reference/service-api.md, section 4.1. The type of the response is not checked.
    accept: 'application/json, text/json, text/plain;q=0.9',
    // Without Brotli: even a small body takes long if it is malicious.
    'accept-encoding': 'gzip, deflate',
    'user-agent': 'ledger-gateway',
  },
});

/**
 * Defines the requests of an operation with got. undici sends them, because got takes several times as much CPU time, and
 * its errors do not say whether a request was sent (docs/decisions/0009). The options are merged once for all requests.
 */
export function defineRequest(url: URL, method: 'GET' | 'POST') {
  const { headers } = new Options(url, { method }, client.defaults.options);
  return { origin: url.origin, path: url.pathname, method, headers };
}

export type TransportOptions = ConnectionOptions & {
  /** Sent with every request. */
  headers: Headers;
  /** The name of a query parameter that makes each GET that changes state unique, so that no cache can respond to it. */
  uniqueParam?: string | undefined;
};

export type Transport = ReturnType<typeof createTransport>;

/** The HTTP client of the service: got for the request, undici for the connection. */
export function createTransport(options: TransportOptions) {
  const { uniqueParam } = options;
  let ownHeaders = options.headers;
  const connections = new Connections(options);
  const requestOf = memo(({ name, method }: Operation) =>
    defineRequest(new URL(name, options.baseUrl), method),
  );

  return {
    /** Sends a request once, as an exchange, at the end of an iteration of the event loop. Resolves and rejects as the exchange. */
    send(
      { operation, search, body }: UpstreamRequest,
      scope: RequestScope,
      exchange: Exchange,
    ): Promise<RawResponse> {
      const request = requestOf(operation);
      const { method, effect } = operation;
      const isGetWrite = method === 'GET' && effect === 'write';
      // In this order, so that a client cannot replace ours.
      const headers = {
        ...request.headers,
        ...scope.forwarded,
        ...ownHeaders,
        authorization: `Bearer ${scope.token}`,
        'x-request-id': scope.requestId,
        ...outgoingTraceHeaders(scope.trace),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(isGetWrite && emptyContent),
      };
      const unique =
        isGetWrite && uniqueParam !== undefined ? uniqueSearch(uniqueParam, search) : '';
      const path = request.path + search + unique;
      const sent = { ...request, path, headers, body: body ?? null };
      return exchange.send(sent, connections);
    },
    /** Sends these headers with every further request. */
    useHeaders(headers: Headers) {
      ownHeaders = headers;
    },
    /** Uses these files for every further connection. */
    useTls: (files: TlsFiles) => connections.useTls(files),
    close: () => connections.close(),
  };
}

/** One more parameter for a query, with a value that no other request has. */
function uniqueSearch(name: string, search: string): string {
  return `${search === '' ? '?' : '&'}${encodeURIComponent(name)}=${randomUUID()}`;
}

/** The header of a request that says that it has no content. A request of undici may have it, too. */
export const emptyContent = { 'content-length': '0' };

/**
 * undici leaves this header out of a GET without saying so. It is put back here, by the hook through which undici lets tracing
 * tools add headers. The reason: HTTP clients of .NET, and so proxies such as YARP, repeat a GET without content when its
 * connection breaks, but never one with this header (docs/decisions/0029).
 */
subscribe('undici:request:create', (message) => {
  const { request }: { request?: unknown } = Object(message);
  const { method, contentLength, headers }: Record<string, unknown> = Object(request);
  const isEmpty = method === 'GET' && contentLength === 0 && Array.isArray(headers);
  if (isEmpty && !headers.includes('content-length')) headers.push('content-length', '0');
});
