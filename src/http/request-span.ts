import { propagation, ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { outcomeOf } from '../telemetry/request-record.ts';
import { inSpan, traceIdOf } from '../telemetry/tracing.ts';

/** Runs a request in a span that continues the client's trace. */
export function inRequestSpan<Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  run: () => Result,
): Result {
  const attributes = {
    'http.request.method': request.method,
    'http.route': '/graphql',
    'ledger.request_id': request.id,
  };
  const parent = propagation.extract(ROOT_CONTEXT, request.headers);
  return inSpan(
    'graphql request',
    { kind: SpanKind.SERVER, attributes },
    (span) => {
      request.record.traceId = traceIdOf(request.headers);
      reply.raw.once('close', () => {
        span.setAttribute('http.response.status_code', reply.statusCode);
        span.setAttribute('ledger.outcome', outcomeOf(request.record));
        span.end();
      });
      return run();
    },
    parent,
  );
}
