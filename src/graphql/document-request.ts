import { z } from 'zod';
import { InvalidRequest } from '../errors/gateway-error.ts';
import type { GraphqlRequest } from '../request-scope.ts';

/** What a request says about its document. */
export type DocumentRequest = {
  query?: string | undefined;
  documentId?: string | undefined;
  /** Of the extension `persistedQuery`. */
  sha256Hash?: string | undefined;
};

const parameters = z.object({
  query: z.string().nullish(),
  documentId: z.string().nullish(),
  extensions: z
    .looseObject({ persistedQuery: z.looseObject({ sha256Hash: z.string() }).optional() })
    .nullish(),
});

/** Reads what a request says about its document. Throws an InvalidRequest. */
export function documentRequestOf({ method, search, body }: GraphqlRequest): DocumentRequest {
  const given = method === 'GET' ? parametersOf(new URLSearchParams(search)) : body;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return {}; // Apollo rejects it.
  if (isText(given)) return { query: given.query };
  const { data } = parameters.safeParse(given);
  if (!data) throw new InvalidRequest(400);
  return {
    query: data.query ?? undefined,
    documentId: data.documentId ?? undefined,
    sha256Hash: data.extensions?.persistedQuery?.sha256Hash,
  };
}

/** Whether a request names its document by its text alone, as nearly all do: the schema takes several times as long. */
function isText(given: object): given is { query: string } {
  return (
    'query' in given &&
    typeof given.query === 'string' &&
    !('documentId' in given) &&
    !('extensions' in given)
  );
}

function parametersOf(search: URLSearchParams): object {
  const { extensions, ...others } = Object.fromEntries(search);
  try {
    return extensions === undefined ? others : { ...others, extensions: JSON.parse(extensions) };
  } catch {
    return { ...others, extensions };
  }
}
