import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { overloaded } from '../errors/gateway-error.ts';
import { toHttpError } from '../errors/http-error-format.ts';
import { traceIdOf } from '../telemetry/tracing.ts';
import { operatorPaths } from './admin-server.ts';
import { corsHeaders } from './cors.ts';
import type { HttpMetrics, RespondedRequest } from './http-metrics.ts';
import { responseType } from './media-type.ts';
import { requestIdOf } from './request-headers.ts';
import { securityHeaders } from './security-headers.ts';

/** How long rejections are counted for one log line, in milliseconds. */
const LOG_MS = 1000;

/** Stands for the id of a request in the body, which is prepared. */
const ID = '<id>';

type Options = {
  corsOrigins: string[];
  metrics: Pick<HttpMetrics, 'responded' | 'shed'>;
  log: Logger;
  /** The hash of the caller of a request, if it has so many requests waiting that one more is rejected. */
  overloadedCaller(request: IncomingMessage): string | undefined;
  /** Whether the log line of one more rejection may be written. */
  mayLog(): boolean;
};

/** Rejects a request that may be for `/graphql` if its caller has too many. Returns whether it did. */
export type Reject = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Creates the rejection. It does without the framework, because it must be cheap.
 * `isClosing` tells whether the server is shutting down.
 */
export function createRejection(
  { corsOrigins, metrics, log, overloadedCaller, mayLog }: Options,
  isClosing: () => boolean,
): Reject {
  const { status, code, headers, body } = toHttpError(overloaded(), ID, log);
  const [beforeId = '', afterId = ''] = JSON.stringify(body).split(ID);
  const bodyLength = beforeId.length + afterId.length;
  const general = Object.entries({ ...securityHeaders, ...headers }).flat();
  const counted: RespondedRequest = {
    path: '/graphql',
    status,
    disconnected: false,
    errorCodes: [code],
    seconds: 0,
    fields: new Map(),
  };
  let rejected = 0;
  const report = () => {
    log.warn({ requests: rejected }, 'requests shed');
    rejected = 0;
  };

  return (request, response) => {
    const caller = mayBeGraphql(request) ? overloadedCaller(request) : undefined;
    if (caller === undefined) return false;
    const requestId = requestIdOf(request.headers);
    const varying = { vary: 'Accept', ...corsHeaders(corsOrigins, request.headers.origin) };
    response.shouldKeepAlive &&= !isClosing();
    response.writeHead(status, [
      ...general,
      ...Object.entries(varying).flat(),
      'content-type',
      responseType(request.headers),
      'x-request-id',
      requestId,
      'content-length',
      String(bodyLength + requestId.length),
    ]);
    response.end(beforeId + requestId + afterId);
    if (rejected === 0) setTimeout(report, LOG_MS).unref();
    rejected += 1;
    if (mayLog()) {
      const sent = { requestId, traceId: traceIdOf(request.headers), method: request.method };
      const { path } = counted;
      log.info({ ...sent, path, outcome: code, status, caller, ms: 0 }, 'request');
    }
    metrics.shed();
    metrics.responded(counted);
    return true;
  };
}

/** Operators need the other paths during an overload. That of GraphQL can be written in several ways: `/%67raphql`. */
function mayBeGraphql({ method, url = '' }: IncomingMessage): boolean {
  const [path = ''] = url.split('?', 1);
  return (method === 'POST' || method === 'GET') && !operatorPaths.has(path);
}
