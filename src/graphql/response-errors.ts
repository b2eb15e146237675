import type { HTTPGraphQLHead } from '@apollo/server';
import type { GraphQLError, GraphQLFormattedError, SourceLocation } from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import type { GraphqlDocument } from './document.ts';
import { causeOf } from './error-format.ts';

export type FormatError = (
  formatted: GraphQLFormattedError,
  error: unknown,
) => GraphQLFormattedError;

/** Formats an error and sets the status and headers that it asks for. */
export function toResponse(
  error: GraphQLError,
  document: GraphqlDocument,
  head: HTTPGraphQLHead,
  formatError: FormatError,
): GraphQLFormattedError {
  const cause = causeOf(error);
  const ours = cause instanceof GatewayError ? cause.http : undefined;
  const status = ours?.status ?? error.extensions.http?.status;
  // Without memory or time for one list, others are still in the response.
  if (status !== undefined && status !== 503) {
    head.status = status;
    for (const [name, value] of ours?.headers ?? []) head.headers.set(name, value);
  }
  const { locations: inOneLine, ...formatted } = error.toJSON();
  const locations = locate(document, inOneLine);
  return formatError({ ...formatted, ...(locations && { locations }) }, error);
}

/** The lines and columns of places that graphql-js has found in one line: it would count the lines before each. */
function locate(document: GraphqlDocument, places: readonly SourceLocation[] | undefined) {
  document.lineStarts ??= lineStartsOf(document.text);
  const { lineStarts } = document;
  return places?.map(({ column }) => {
    let line = 1;
    for (let next = lineStarts.length; next - line > 0; ) {
      const middle = Math.ceil((line + next) / 2);
      if ((lineStarts[middle - 1] ?? 0) < column) line = middle;
      else next = middle - 1;
    }
    return { line, column: column - (lineStarts[line - 1] ?? 0) };
  });
}

function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '\n' || (char === '\r' && text[at + 1] !== '\n')) starts.push(at + 1);
  }
  return starts;
}
