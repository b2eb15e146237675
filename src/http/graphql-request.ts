import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { DocumentRequest } from '../document-request.ts';
import { InvalidRequest } from '../errors/gateway-error.ts';

const parameters = z.object({
  query: z.string().nullish(),
  documentId: z.string().nullish(),
  extensions: z
    .looseObject({ persistedQuery: z.looseObject({ sha256Hash: z.string() }).optional() })
    .nullish(),
});

/** Reads what a request says about its document. Throws an InvalidRequest. */
export function documentRequestOf(request: FastifyRequest): DocumentRequest {
  const given =
    request.method === 'GET' ? parametersOf(new URLSearchParams(searchOf(request))) : request.body;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return {}; // Apollo rejects it.
  const { data } = parameters.safeParse(given);
  if (!data) throw new InvalidRequest(400);
  return {
    query: data.query ?? undefined,
    documentId: data.documentId ?? undefined,
    sha256Hash: data.extensions?.persistedQuery?.sha256Hash,
  };
}

/** The query of the URL, with its question mark. */
export function searchOf({ url }: FastifyRequest): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start);
}

function parametersOf(search: URLSearchParams): object {
  const { extensions, ...others } = Object.fromEntries(search);
  try {
    return extensions === undefined ? others : { ...others, extensions: JSON.parse(extensions) };
  } catch {
    return { ...others, extensions };
  }
}
