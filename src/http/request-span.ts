import { type Span, SpanKind } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { outcomeOf } from '../telemetry/request-record.ts';
import { fail, startServerSpan, traceIdOf } from '../telemetry/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null without an exporter of traces. */
    span: Span | null;
  }
}

/**
 * Starts the span of a request to `/graphql`, with the names of OpenTelemetry's conventions for HTTP servers. It ends
 * with the response.
 */
export function startRequestSpan(request: FastifyRequest, reply: FastifyReply): void {
  const { headers, record } = request;
  const span = startServerSpan(headers, () => describe(request));
  record.traceId = span ? span.spanContext().traceId : traceIdOf(headers);
  request.span = span;
  if (!span) return;
  reply.raw.once('close', () => {
    const { statusCode, headersSent, writableFinished } = reply.raw;
    if (headersSent) span.setAttribute('http.response.status_code', statusCode);
    if (!writableFinished) fail(span, 'CLIENT_DISCONNECTED');
    else if (statusCode >= 500) fail(span, String(statusCode));
    span.setAttribute('ledger.outcome', outcomeOf(record));
    span.end();
  });
}

function describe({ method, protocol, url, hostname, port, id }: FastifyRequest) {
  return {
    name: `${method} /graphql`,
    kind: SpanKind.SERVER,
    attributes: {
      'http.request.method': method,
      'http.route': '/graphql',
      'url.scheme': protocol,
      'url.path': url.split('?', 1)[0],
      'server.address': hostname,
      'server.port': port ?? 80,
      'ledger.request_id': id,
    },
  };
}
