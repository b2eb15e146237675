import { SpanKind } from '@opentelemetry/api';
import type { OperationDefinitionNode } from 'graphql';
import type { RequestRecord } from '../telemetry/request-record.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';

/**
 * Executes an operation in a span, as OpenTelemetry's conventions for GraphQL name it, and records its name for the
 * log. The name is no part of that of the span, because clients choose it.
 */
export function inOperationSpan<Result>(
  { operation: type, name: node }: OperationDefinitionNode,
  record: RequestRecord,
  run: () => Promise<Result>,
): Promise<Result> {
  const name = node?.value; // At most 256 characters (document-limits.ts).
  record.operation = name ?? type;
  const attributes = {
    'graphql.operation.type': type,
    ...(name !== undefined && { 'graphql.operation.name': name }),
  };
  return inSpan(type, { kind: SpanKind.SERVER, attributes }, async (span) => {
    try {
      return await run();
    } finally {
      const [code] = record.errorCodes;
      if (code !== undefined) fail(span, code);
    }
  });
}
