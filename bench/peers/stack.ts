import { ApolloServer, HeaderMap } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { type DocumentNode, GraphQLError, parse, validate } from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import { defineRequest } from '../../src/upstream/transport/got-client.ts';
import { createConnections } from './connections.ts';
import { app, createFields, type Context as Fields, resolvers, startRequest } from './dressed.ts';
import type { Transport } from './duties.ts';
import { type GlCodeInfoSS, type ServiceStatus, typeDefs } from './schema.ts';

/**
 * A bare server of the same stack as ledger-gateway: Fastify, Apollo Server's HTTP pipeline with cached and compiled documents,
 * and got with undici as its transport. It verifies tokens, writes the same log lines and metrics, has a deadline, and lets
 * connections rest. It has no fair shares, limits, retries, idempotency keys, or checks of responses.
 */
const { UPSTREAM_BASE_URL = '' } = process.env;
const baseUrl = new URL(UPSTREAM_BASE_URL);

type Context = Fields & { operation: Plan };

/** got composes the headers of all requests, and undici sends them. */
const defined = defineRequest(baseUrl, 'GET');
const send = createConnections(baseUrl);
const sendByGot: Transport = ({ headers, ...exchange }) =>
  send({ ...exchange, headers: { ...defined.headers, ...headers } });

const byName = { __resolveType: ({ __typename }: { __typename: string }) => __typename };
const schema = makeExecutableSchema<Context>({
  typeDefs,
  resolvers: {
    ...resolvers,
    ...{ GlCodesResult: byName, WorkflowActionResult: byName },
    ...{ LedgerStatus: byName, LedgerProblem: byName },
  },
});

/** A document with its compiled form. */
type Plan = { document: DocumentNode; query: ReturnType<typeof compileOf> };
const plans = new LRUCache<string, Plan>({ max: 1000 });

function compileOf(document: DocumentNode) {
  const compiled = compileQuery(schema, document, '', { disableLeafSerialization: true });
  if (!isCompiledQuery(compiled)) throw new GraphQLError('The document cannot be compiled.');
  return compiled.query;
}

function planOf(text: string): Plan {
  const known = plans.get(text);
  if (known) return known;
  const document = parse(text);
  const [error] = validate(schema, document);
  if (error) throw error;
  const plan = { document, query: compileOf(document) };
  plans.set(text, plan);
  return plan;
}

const apollo = new ApolloServer<Context>({
  schema,
  documentStore: null,
  dangerouslyDisableValidation: true,
  stopOnTerminationSignals: false,
  stringifyResult: (result) => JSON.stringify(result),
  plugins: [
    {
      async requestDidStart() {
        return {
          async didResolveSource(requestContext) {
            const { document } = requestContext.contextValue.operation;
            Object.assign(requestContext, { document });
          },
          async responseForOperation({ request, contextValue, response: { http } }) {
            const { query } = contextValue.operation;
            const { data, errors } = await query(undefined, contextValue, request.variables ?? {});
            const formatted = errors?.map((error) => error.toJSON());
            const singleResult = { ...(formatted && { errors: formatted }), data: data ?? null };
            return { http, body: { kind: 'single', singleResult } };
          },
        };
      },
    },
    ApolloServerPluginCacheControlDisabled(),
    ApolloServerPluginInlineTraceDisabled(),
    ApolloServerPluginLandingPageDisabled(),
  ],
});
await apollo.start();

const preflighted = new HeaderMap([['apollo-require-preflight', 'true']]);
// Responses are not checked.
const readers = {
  list: (body: unknown) => body as GlCodeInfoSS,
  status: (body: unknown) => body as ServiceStatus,
};
app.post('/graphql', async (request, reply) => {
  const scope = await startRequest(request, reply);
  const { query = '' } = request.body as { query?: string };
  const context = { fields: createFields(scope, sendByGot, readers), operation: planOf(query) };
  const { status = 200, body } = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: { method: 'POST', headers: preflighted, search: '', body: request.body },
    context: async () => context,
  });
  reply.code(status).type('application/json; charset=utf-8');
  return body.kind === 'complete' ? body.string : '';
});
await app.listen({ host: process.env.HOST ?? '', port: Number(process.env.PORT) });
