import type { HTTPGraphQLHead } from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError, type SourceLocation } from 'graphql';
import type { GraphqlDocument } from './documents.ts';

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
  const cause = unwrapResolverError(error);
  const { http } = cause instanceof GraphQLError ? cause.extensions : {};
  // Without memory or time for one list, others are still in the response.
  if (isHead(http) && http.status !== 503) {
    head.status = http.status;
    for (const [name, value] of http.headers ?? []) head.headers.set(name, value);
  }
  const { locations: inOneLine, ...formatted } = error.toJSON();
  const locations = locate(document, inOneLine);
  return formatError({ ...formatted, ...(locations && { locations }) }, error);
}

function isHead(http: unknown): http is { status: number; headers?: Map<string, string> } {
  return typeof http === 'object' && http !== null && 'status' in http;
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
