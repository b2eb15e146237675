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
import type { HttpMetrics, RespondedRequest } from './http-metrics.ts';

/** Stands for the id of a request in the body, which is prepared. */
const ID = '<id>';

type Options = {
  origins: RegExp[];
  metrics: Pick<HttpMetrics, 'responded'>;
  log: Logger;
  /** The requests in progress. */
  requests: Gate;
  /** The caller of a request, if it is known without waiting. */
  remembered(request: IncomingMessage): Caller | undefined;
  /** Counts a rejection. */
  shed(): void;
  /** Whether the log line of one more rejection may be written. */
  mayLog(): boolean;
};

/** Rejects a request that may be for `/graphql` if its caller has too many. Returns whether it did. */
type Reject = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Creates the rejection. It does without the framework, because rejections that cost as much as half a request leave no time
 * for the requests that are served. `isClosing` tells whether the server is shutting down.
 */
export function createRejection(
  { origins, metrics, log, requests, remembered, shed, mayLog }: Options,
  isClosing: () => boolean,
): Reject {
  const { status, code, headers, body } = toHttpError(overloaded(), ID, log);
  const [beforeId = '', afterId = ''] = JSON.stringify(body).split(ID);
  const general = { ...securityHeaders, ...headers, vary: 'Accept' };
  const path = '/graphql';
  const counted: RespondedRequest = {
    path,
    status,
    disconnected: false,
    errorCodes: [code],
    seconds: 0,
    fields: new Map(),
  };

  return (request, response) => {
    const mayBeFull = requests.waiting > 0 && mayBeGraphql(request);
    const caller = mayBeFull ? remembered(request) : undefined;
    if (!caller || !requests.isFullFor(caller.accountKey)) return false;
    const requestId = requestIdOf(request.headers);
    response.shouldKeepAlive &&= !isClosing();
    response.writeHead(status, {
      ...general,
      ...corsHeaders(origins, request.headers.origin),
      'content-type': responseType(request.headers),
      'x-request-id': requestId,
      'content-length': beforeId.length + requestId.length + afterId.length,
    });
    response.end(beforeId + requestId + afterId);
    shed();
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

/** Returns a function that counts a request that is rejected because too many wait, and logs their number once a second. */
export function countShed(log: Logger, count: () => void): () => void {
  let requests = 0;
  const report = () => {
    log.warn({ requests }, 'requests shed');
    requests = 0;
  };
  return () => {
    count();
    if (requests === 0) setTimeout(report, 1000).unref();
    requests += 1;
  };
}
