import type { Span } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { resultOf } from '../request-state.ts';
import { fail, startServerSpan, traceIdOf } from '../telemetry/tracing.ts';
import { pathOf } from './request-target.ts';

/** Starts the span of a request, by OpenTelemetry's conventions. It ends with the response. Null without an exporter of traces. */
export function startRequestSpan(request: FastifyRequest, reply: FastifyReply): Span | null {
  const { headers, method, state, url } = request;
  const span = startServerSpan(`${method} /graphql`, headers);
  state.traceId = span ? span.spanContext().traceId : traceIdOf(headers);
  if (!span) return null;
  state.spanId = span.spanContext().spanId;
  span.setAttributes({
    'http.request.method': method,
    'http.route': '/graphql',
    'url.scheme': request.protocol,
    'url.path': pathOf(url),
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
