import type { Span } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { httpError } from '../errors/gateway-error.ts';
import { printable } from '../lib/short-text.ts';
import { type RequestState, resultOf, traceFieldsOf } from '../request-state.ts';
import { fail, startServerSpan } from '../telemetry/tracing.ts';
import { operatorPaths } from './admin-server.ts';
import type { ClientConnections } from './client-connections.ts';
import { sendError } from './error-response.ts';
import { securityHeaders } from './headers.ts';
import type { HttpMetrics } from './http-metrics.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** When its headers had arrived, in the time of `performance.now()`. */
    receivedAt: number;
    state: RequestState;
    /**
     * Aborted when the client closes its side of the connection before it has the response. Reads are then cancelled. The
     * response is sent nevertheless, because the client may be waiting for it.
     */
    disconnected: AbortSignal;
  }
}

/**
 * Returns a hook that starts the state of a request. When the request ends, or its client disconnects, the request is logged and
 * counted once. `mayLog` limits the lines that anybody can cause.
 */
export function createRequestLog(
  { log, metrics }: { log: Logger; metrics: HttpMetrics },
  connections: ClientConnections,
  mayLog: () => boolean,
) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    request.receivedAt = request.raw.receivedAt ?? performance.now();
    const disconnect = new AbortController();
    request.disconnected = disconnect.signal;
    request.state = { requestId: request.id, errorCodes: [], fields: new Map(), writes: [] };
    reply.headers({ ...securityHeaders, vary: 'Accept', 'x-request-id': request.id });

    const logEnd = (disconnected: boolean) => {
      const { state } = request;
      // The status that nginx logs for a disconnected client.
      const status = disconnected ? 499 : reply.statusCode;
      const errorCodes = disconnected ? ['CLIENT_DISCONNECTED'] : state.errorCodes;
      const ms = performance.now() - request.receivedAt;
      const path = request.routeOptions.url;
      metrics.responded({ ...state, path, status, errorCodes, seconds: ms / 1000 });
      const isCheap = !state.caller || status === 503; // Nothing was executed.
      if (isCheap && !mayLog()) return;
      const level = operatorPaths.includes(path) && status < 400 ? 'debug' : 'info';
      log[level]({ ...lineOf(request, status, errorCodes), ms: Math.round(ms) }, 'request');
    };
    const onDisconnect = () => {
      if (disconnect.signal.aborted) return;
      disconnect.abort();
      logEnd(true);
    };
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) onDisconnect();
      else if (!disconnect.signal.aborted) logEnd(false);
    });
    const reject = (status: 400 | 408) => {
      // Requests with other methods do not wait for a body. Their connection closes after their response.
      if (request.method !== 'POST') return;
      if (reply.raw.headersSent) request.raw.socket.destroy();
      else sendError(httpError(status), request, reply.header('connection', 'close'));
    };
    connections.watchRequest({ message: request.raw, onDisconnect, reject });
    done();
  };
}

/**
 * The fields of the log line of a request that has ended. Anybody can choose what a request says of its sender, except for the
 * caller of a verified token, and the application that the token was issued to. So it is shortened, and never becomes a label of
 * a metric. The address is that of a request without a valid token.
 */
function lineOf(request: FastifyRequest, status: number, errorCodes: string[]) {
  const { state, method, headers, raw, routeOptions, reservation } = request;
  const { requestId, operation, rejection, writes, caller, isReplay } = state;
  const header = (name: string, other = name) => {
    const value = headers[name] ?? headers[other];
    return value === undefined ? undefined : printable(String(value));
  };
  const isRejected = status === 401 || rejection !== undefined;
  return {
    requestId,
    ...traceFieldsOf(state),
    method,
    path: routeOptions.url,
    operation,
    outcome: resultOf(errorCodes),
    status,
    // After a disconnect, a separate line reports the writes when all of their outcomes are known.
    writes: status === 499 || writes.length === 0 ? undefined : writes,
    refusal: rejection?.reason,
    caller: caller?.hash,
    azp: caller?.application,
    client: header('apollographql-client-name', 'graphql-client-name'),
    clientVersion: header('apollographql-client-version', 'graphql-client-version'),
    ...(isRejected && {
      issuer: rejection?.issuer,
      kid: rejection?.kid,
      address: raw.socket.remoteAddress,
      forwardedFor: header('x-forwarded-for'),
    }),
    replay: isReplay,
    heldBytes: reservation?.peakBytes || undefined,
  };
}

/** Logs the writes of a request whose client disconnects before it has the whole response: only the log has their outcomes then. */
export function logUndeliveredWrites(log: Logger, request: FastifyRequest): void {
  const { id, state, disconnected } = request;
  const { writes } = state;
  if (writes.length === 0) return;
  const warn = () =>
    log.warn(
      { requestId: id, ...traceFieldsOf(state), writes },
      'client disconnected before outcome of writes',
    );
  if (disconnected.aborted) warn();
  else disconnected.addEventListener('abort', warn, { once: true });
}

/** Starts the span of a request, by OpenTelemetry's conventions. It ends with the response. Null without an exporter of traces. */
export function startRequestSpan(request: FastifyRequest, reply: FastifyReply): Span | null {
  const { headers, method, state, trace } = request;
  const span = startServerSpan(`${method} /graphql`, headers);
  if (!span) {
    state.traceId = trace?.traceparent?.split('-')[1];
    return null;
  }
  const { traceId, spanId } = span.spanContext();
  Object.assign(state, { traceId, spanId });
  span.setAttributes({
    'http.request.method': method,
    'http.route': '/graphql',
    'url.scheme': request.protocol,
    'url.path': '/graphql',
    'server.address': request.hostname,
    'server.port': request.port ?? 80,
    'ledger.request_id': request.id,
  });
  reply.raw.once('close', () => {
    const { statusCode, headersSent, writableFinished } = reply.raw;
    if (headersSent) span.setAttribute('http.response.status_code', statusCode);
    if (!writableFinished) fail(span, 'CLIENT_DISCONNECTED');
    else if (statusCode >= 500) fail(span, String(statusCode));
    span.setAttribute('ledger.outcome', resultOf(state.errorCodes)).end();
  });
  return span;
}
