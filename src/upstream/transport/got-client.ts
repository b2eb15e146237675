import type { RequestScope } from '../../request-scope.ts';
import { outgoingTraceHeaders } from '../../telemetry/tracing.ts';
import { operations, perOperation, type UpstreamRequest } from '../operations.ts';
import { type ConnectionOptions, createConnections } from './connections.ts';
import { emptyContent } from './empty-content.ts';
import { defineRequest } from './got-request.ts';
import type { Exchange, RawResponse } from './send-once.ts';

type Headers = Readonly<Record<string, string>>;

export type Transport = ReturnType<typeof createTransport>;

/** The HTTP client of the service: got for the request, undici for the connection. `headers` are sent with every request. */
export function createTransport(options: ConnectionOptions & { headers: Headers }) {
  let ownHeaders = options.headers;
  const connections = createConnections(options);
  const requests = perOperation((name) => {
    const { path, method } = operations[name];
    return defineRequest(new URL(path, options.baseUrl), method);
  });

  return {
    /** Sends a request once, as an exchange, and resolves to its 2xx response. Rejects with an UpstreamError. */
    async send(
      { operation, search = '', body }: UpstreamRequest,
      scope: RequestScope,
      exchange: Exchange,
    ): Promise<RawResponse> {
      const request = requests[operation];
      const { method, effect } = operations[operation];
      // In this order, so that a client cannot replace ours.
      const headers = {
        ...request.headers,
        ...scope.forwarded,
        ...ownHeaders,
        authorization: `Bearer ${scope.token}`,
        'x-request-id': scope.requestId,
        ...outgoingTraceHeaders(scope.trace),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method === 'GET' && effect === 'write' && emptyContent),
      };
      const connection = await connections[effect](scope);
      const path = request.path + search;
      return exchange.send(connection, { ...request, path, headers, body: body ?? null });
    },
    /** Sends these headers with every further request. */
    useHeaders(headers: Headers) {
      ownHeaders = headers;
    },
    /** Uses these files for every further connection. */
    useTls: connections.useTls,
    close: connections.close,
  };
}
