import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { InvalidRequest } from '../errors/gateway-error.ts';

/**
 * The text of the trusted document with an id or with the text of a query. Undefined if both are missing.
 * Throws a GatewayError for any other.
 */
export type ResolveDocument = (request: {
  query?: string | undefined;
  id?: string | undefined;
}) => string | undefined;

const extensions = z.looseObject({
  persistedQuery: z.looseObject({ sha256Hash: z.string() }).optional(),
});
const parameters = z.looseObject({
  query: z.string().optional(),
  documentId: z.string().optional(),
  extensions: extensions.nullish(),
});

/**
 * Replaces what a request names, a document id or a text, by the text of its trusted document. Throws for
 * every request that is not understood, so that nothing else is executed.
 */
export function useTrustedDocument(request: FastifyRequest, resolve: ResolveDocument): void {
  const url = new URL(request.url, 'http://gateway');
  const given = request.method === 'GET' ? parametersOf(url) : request.body;
  const { data } = parameters.safeParse(given);
  if (!data) throw new InvalidRequest(400);
  const { documentId, extensions, ...others } = data;
  const id = documentId ?? extensions?.persistedQuery?.sha256Hash;
  const query = resolve({ query: data.query, id });
  if (query === undefined) return; // Apollo reports that there is nothing to execute.
  if (request.method === 'GET') {
    for (const name of ['documentId', 'extensions']) url.searchParams.delete(name);
    url.searchParams.set('query', query);
    request.raw.url = url.pathname + url.search;
  } else {
    request.body = { ...others, query };
  }
}

function parametersOf({ searchParams }: URL): object {
  const { extensions, ...others } = Object.fromEntries(searchParams);
  try {
    return extensions === undefined ? others : { ...others, extensions: JSON.parse(extensions) };
  } catch {
    return { ...others, extensions };
  }
}
