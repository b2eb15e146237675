import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { InvalidRequest } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RequestRecord } from '../telemetry/request-record.ts';

/** What a request says about its document. */
type DocumentRequest = {
  query?: string | undefined;
  documentId?: string | undefined;
  sha256Hash?: string | undefined;
};

/** Executes a request with the document that was found for it. */
export type Execute = (
  request: Pick<FastifyRequest, 'method' | 'headers' | 'body'> & { search: string },
  scope: RequestScope | null,
  record: RequestRecord,
) => Promise<{ status: number; headers: Iterable<[string, string]>; text: string }>;

/** Finds and checks the document of a request. Throws a GatewayError if it is not executed. */
export type Prepare = (request: DocumentRequest) => Execute;

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
