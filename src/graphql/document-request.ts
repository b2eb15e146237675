import { InvalidRequest } from '../errors/gateway-error.ts';
import type { GraphqlRequest } from '../request-scope.ts';

/** What a request says about its document. */
export type DocumentRequest = {
  query?: string | undefined;
  /** The document id, and the hash of the extension `persistedQuery`, if they are given. */
  ids?: string[];
};

/** Reads what a request says about its document. Throws an InvalidRequest. */
export function documentRequestOf({ method, search, body }: GraphqlRequest): DocumentRequest {
  const given: unknown = method === 'GET' ? parametersOf(search) : body;
  if (Array.isArray(given)) return {}; // Apollo rejects it.
  const { query, documentId, extensions }: Record<string, unknown> = Object(given);
  if (extensions != null && typeof extensions !== 'object') throw new InvalidRequest(400);
  const { sha256Hash }: Record<string, unknown> = Object(Object(extensions).persistedQuery);
  const ids = [documentId, sha256Hash].map(textOf).filter((id) => id !== undefined);
  return { query: textOf(query), ids };
}

function textOf(value: unknown): string | undefined {
  if (value != null && typeof value !== 'string') throw new InvalidRequest(400);
  return value ?? undefined;
}

function parametersOf(search: string): object {
  const { extensions, ...others } = Object.fromEntries(new URLSearchParams(search));
  try {
    return extensions === undefined ? others : { ...others, extensions: JSON.parse(extensions) };
  } catch {
    throw new InvalidRequest(400);
  }
}
