import { ApolloServer, HeaderMap } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import type { Logger } from 'pino';
import { z } from 'zod';
import { GatewayError, httpError } from '../errors/gateway-error.ts';
import { toJson } from '../lib/json.ts';
import type { GraphqlRequest } from '../request-scope.ts';
import { type DocumentOptions, Documents } from './documents.ts';
import { createErrorFormatter } from './error-format.ts';
import { createExecution, type FieldObserver } from './execution.ts';
import { type ContextDependencies, createContext, type RequestContext } from './request-context.ts';
import { createSchema, type SchemaParts } from './schema.ts';
import type { Manifest } from './trusted-documents.ts';

/** Headers that a browser sends across origins only after a preflight; the last two are Apollo's own. */
const preflightHeaders = ['authorization', 'x-apollo-operation-name', 'apollo-require-preflight'];

/** What names the document of a request. */
const documentRequest = z.object({
  query: z.string().nullish(),
  documentId: z.string().nullish(),
  extensions: z
    .object({ persistedQuery: z.object({ sha256Hash: z.string().nullish() }).nullish() })
    .nullish(),
});

type GraphqlOptions = {
  schema: SchemaParts;
  documents: Omit<DocumentOptions, 'log' | 'schema'> & {
    /** Manifests of the trusted documents, by id. Undefined if all documents are executed. */
    trustedDocuments: readonly Manifest[] | undefined;
  };
  /** What the contexts of requests have in common. */
  context: ContextDependencies;
  observe: FieldObserver;
  log: Logger;
};

export type GraphqlServer = Awaited<ReturnType<typeof startGraphql>>;

/** Starts Apollo Server with the schema and the execution of the gateway. Throws a ConfigError for an invalid trusted document. */
export async function startGraphql(options: GraphqlOptions) {
  const { observe, log } = options;
  const { trustedDocuments, ...rules } = options.documents;
  const schema = createSchema(options.schema);
  const documents = new Documents({ ...rules, schema, log });
  if (trustedDocuments) await documents.trust(trustedDocuments);
  const formatError = createErrorFormatter(log);
  const apollo = new ApolloServer<RequestContext>({
    schema,
    introspection: true, // `documents` rejects it if it is off.
    documentStore: documents,
    dangerouslyDisableValidation: true, // `documents` has validated those that it returns.
    csrfPrevention: { requestHeaders: preflightHeaders },
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    stringifyResult: toJson, // Apollo's function adds a line feed, which copies the text.
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    formatError,
    logger: log,
    plugins: [
      createExecution(formatError, observe),
      // Responses are never cached, and cache control costs time for every field.
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
    ],
  });
  await apollo.start();
  return {
    execute(request: GraphqlRequest) {
      const { method, scope, state } = request;
      const parameters = method === 'GET' ? parametersOf(request.search) : undefined;
      const { query, documentId, persistedQuery } = documentRequestOf(request.body, parameters);
      const document = documents.find({ query, ids: [documentId, persistedQuery?.sha256Hash] });
      const isById = trustedDocuments !== undefined && document !== undefined;
      // Apollo Server would respond with status 200, which GraphQL over HTTP forbids for a response without `data`.
      if (!isById && persistedQuery) {
        throw new GatewayError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
      }
      let { body } = request;
      if (isById) {
        // Apollo Server only supports documents by their text here.
        body = { ...Object(body), query: document.text, extensions: null };
        parameters?.set('query', document.text);
        parameters?.delete('extensions');
      }
      const search = parameters ? `?${parameters}` : '';
      const context = createContext(options.context, scope, state, document);
      const response = apollo.executeHTTPGraphQLRequest({
        httpGraphQLRequest: { method, headers: headersOf(request), search, body },
        context: async () => context,
      });
      return response.then(({ status = 200, headers, body }) => {
        if (body.kind !== 'complete') throw new Error('Incremental delivery is not supported.');
        return { status, headers, body: body.string };
      });
    },
    /** Replaces the trusted documents. Rejects with a ConfigError if one is invalid, and then changes nothing. */
    trust: (manifests: readonly Manifest[]) => documents.trust(manifests),
    stop: () => apollo.stop(),
  };
}

/** The headers of a POST for Apollo: the HTTP server has checked its content type, which a browser sends only after a preflight. */
const headersOfPost = new HeaderMap([['apollo-require-preflight', 'true']]);

/**
 * The headers that Apollo checks. It does not get `accept`, because the HTTP server has chosen the media type of the response,
 * and choosing it again takes 3 µs.
 */
function headersOf({ method, headers }: GraphqlRequest): HeaderMap {
  if (method === 'POST') return headersOfPost;
  const names = [...preflightHeaders, 'content-type'].filter((name) => headers[name]);
  return new HeaderMap(names.map((name) => [name, String(headers[name])]));
}

/** Reads how a request names its document. Throws a GatewayError. */
function documentRequestOf(body: unknown, parameters: URLSearchParams | undefined) {
  try {
    const given = parameters ? Object.fromEntries(parameters) : Object(body);
    // In a URL, they are JSON.
    if (parameters && given.extensions) given.extensions = JSON.parse(given.extensions);
    const { query, documentId, extensions } = documentRequest.parse(given);
    return { query: query ?? undefined, documentId, persistedQuery: extensions?.persistedQuery };
  } catch {
    throw httpError(400);
  }
}

/** The parameters of a URL without the empty ones, which count as missing (GraphQL over HTTP, "GET"). */
function parametersOf(search: string): URLSearchParams {
  const parameters = [...new URLSearchParams(search)];
  return new URLSearchParams(parameters.filter(([, value]) => value !== ''));
}
