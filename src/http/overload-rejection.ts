import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Gate } from '../account/gate.ts';
import { overloaded } from '../errors/gateway-error.ts';
import { toHttpError } from '../errors/http-error-format.ts';
import type { Caller } from '../request-scope.ts';
import { traceIdOf } from '../telemetry/tracing.ts';
import { operatorPaths } from './admin-server.ts';
import { corsHeaders } from './cors.ts';
import { requestIdOf, responseType, securityHeaders } from './headers.ts';
import type { HttpMetrics } from './http-metrics.ts';

/** Stands for the id of a request in the body, which is prepared. */
const ID = '<id>';

export type RejectionOptions = {
  /** The requests in progress. */
  requests: Gate;
  /** The caller of a request, if it is known without waiting. */
  remembered(request: IncomingMessage): Caller | undefined;
  metrics: HttpMetrics;
  log: Logger;
};

/**
 * Creates a function that rejects a request that may be for `/graphql` if its caller has too many, and returns whether it
 * did. It does without the framework, because rejections that cost as much as half a request leave no time for the requests
 * that are served. `mayLog` tells whether the line of one more rejection may be written.
 */
export function createRejection(
  { requests, remembered, metrics, log }: RejectionOptions,
  origins: RegExp[],
  mayLog: () => boolean,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { status, code, headers, body } = toHttpError(overloaded(), ID);
  const [beforeId = '', afterId = ''] = JSON.stringify(body).split(ID);
  const general = { ...securityHeaders, ...headers, vary: 'Accept' };
  const path = '/graphql';
  const counted = { path, status, errorCodes: [code], fields: new Map(), seconds: 0 };

  return (request, response) => {
    const mayBeFull = requests.waiting > 0 && mayBeGraphql(request);
    const caller = mayBeFull ? remembered(request) : undefined;
    if (!caller || !requests.isFullFor(caller.accountKey)) return false;
    const requestId = requestIdOf(request.headers);
    response.writeHead(status, {
      ...general,
      ...corsHeaders(origins, request.headers.origin),
      'content-type': responseType(request.headers),
      'x-request-id': requestId,
      'content-length': beforeId.length + requestId.length + afterId.length,
    });
    response.end(beforeId + requestId + afterId);
    metrics.shed();
    metrics.responded(counted);
    if (!mayLog()) return true;
    const sent = { requestId, traceId: traceIdOf(request.headers), method: request.method };
    log.info({ ...sent, path, outcome: code, status, caller: caller.hash, ms: 0 }, 'request');
    return true;
  };
}

/** Operators need the other paths during an overload. That of GraphQL can be written in several ways: `/%67raphql`. */
function mayBeGraphql({ method, url = '' }: IncomingMessage): boolean {
  const [path = ''] = url.split('?', 1);
  return (method === 'POST' || method === 'GET') && !operatorPaths.has(path);
}
