import { SpanKind } from '@opentelemetry/api';
import type { OperationDefinitionNode } from 'graphql';
import type { RequestRecord } from '../telemetry/request-record.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';

/** The client chooses the name of an operation, of any length. */
const MAX_NAME_LENGTH = 100;

/**
 * Executes an operation in a span, as OpenTelemetry's conventions for GraphQL name it, and records its name for the
 * log. The name is no part of that of the span, because clients choose it.
 */
export function inOperationSpan<Result>(
  { operation: type, name }: OperationDefinitionNode,
  record: RequestRecord,
  run: () => Promise<Result>,
): Promise<Result> {
  const shortName = name?.value.slice(0, MAX_NAME_LENGTH);
  record.operation = shortName ?? type;
  const attributes = {
    'graphql.operation.type': type,
    ...(shortName !== undefined && { 'graphql.operation.name': shortName }),
  };
  return inSpan(type, { kind: SpanKind.SERVER, attributes }, async (span) => {
    try {
      return await run();
    } finally {
      const [code] = record.errorCodes;
      if (code !== undefined) fail(span, code);
      span.end();
    }
  });
}
