import type { IncomingMessage, ServerResponse } from 'node:http';
import { overloaded } from '../errors/gateway-error.ts';
import { toHttpError } from '../errors/http-error-format.ts';
import { traceIdOf } from '../telemetry/tracing.ts';
import { corsHeaders } from './cors.ts';
import type { GraphqlRouteOptions } from './graphql-route.ts';
import { requestIdOf, responseType, securityHeaders } from './headers.ts';
import { pathOf } from './route-table.ts';

/** Stands for the id of a request in the body, which is prepared. */
const ID = '<id>';

/**
 * Creates a function that rejects a request that may be for `/graphql` if its caller has too many, and returns whether it
 * did. It does without the framework, because rejections that cost as much as half a request leave no time for the requests
 * that are served. `mayLog` tells whether the line of one more rejection may be written.
 */
export function createRejection(
  { requests, authenticator, metrics, log }: GraphqlRouteOptions,
  origins: RegExp[],
  mayLog: () => boolean,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { status, code, headers, body } = toHttpError(overloaded(), ID);
  const [beforeId = '', afterId = ''] = JSON.stringify(body).split(ID);
  const general = { ...securityHeaders, ...headers, vary: 'Accept' };
  const path = '/graphql';
  const counted = { path, status, errorCodes: [code], fields: new Map(), seconds: 0 };

  return (request, response) => {
    const mayBeFull = requests.waiting > 0 && isGraphql(request);
    const caller = mayBeFull ? authenticator.remembered(request) : undefined;
    if (!caller || !requests.isFullFor(caller.admissionKey)) return false;
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

/** Operators need the other paths during an overload. */
function isGraphql({ method, url }: IncomingMessage): boolean {
  return (method === 'POST' || method === 'GET') && pathOf(url) === '/graphql';
}
