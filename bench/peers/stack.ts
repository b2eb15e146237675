import { randomUUID } from 'node:crypto';
import { ApolloServer, HeaderMap } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import { makeExecutableSchema } from '@graphql-tools/schema';
import DataLoader from 'dataloader';
import fastify, { LogController } from 'fastify';
import got, { type HandlerFunction, Options } from 'got';
import { type DocumentNode, GraphQLError, type GraphQLResolveInfo, parse, validate } from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import { Pool } from 'undici';
import {
  authenticate,
  call,
  log,
  logRequest,
  metricsText,
  observed,
  type Scope,
  type Transport,
} from './duties.ts';
import {
  type ActionArgs,
  actionPath,
  codesPath,
  type GlCodeInfoSS,
  type GlCodesArgs,
  type ServiceStatus,
  toAction,
  toGlCodes,
  typeDefs,
  typeOfAction,
  typeOfGlCodes,
} from './schema.ts';

/**
 * The stack of ledger-gateway, without what makes it one: Fastify, Apollo Server's HTTP pipeline with cached and compiled
 * documents, got with undici as its transport, and jose with a cache of tokens. It verifies tokens, writes the same log
 * lines and metrics, and has a deadline. It has no fair shares, limits, retries, idempotency keys, or checks of responses.
 */
const { UPSTREAM_BASE_URL = '' } = process.env;
const baseUrl = new URL(UPSTREAM_BASE_URL);

type Context = {
  scope: Scope;
  operation: Plan;
  codes: DataLoader<GlCodesArgs, ReturnType<typeof toGlCodes>, string>;
};

/** One exchange with the service, by got, whose handler sends it with undici. */
const pool = new Pool(baseUrl.origin);
type Exchange = { path: string; headers: Record<string, string>; signal: AbortSignal };
let next: Exchange | undefined;
type Reply = { status: number; body: Promise<unknown> };
class Sending {
  readonly reply: Promise<Reply>;
  constructor(reply: Promise<Reply>) {
    this.reply = reply;
  }
}
const handler = ({ method, headers }: Options) => {
  if (!next) throw new TypeError('no request');
  const { path, signal } = next;
  const sent = pool.request({
    path: baseUrl.pathname + path,
    method: method === 'POST' ? 'POST' : 'GET',
    headers: { ...headers, ...next.headers },
    signal,
  });
  return new Sending(
    sent.then(({ statusCode, body }) => ({ status: statusCode, body: body.json() })),
  );
};
const client = got.extend({
  retry: { limit: 0 },
  followRedirect: false,
  throwHttpErrors: false,
  headers: {
    accept: 'application/json',
    'accept-encoding': 'gzip, deflate',
    'user-agent': 'stack',
  },
  handlers: [handler as unknown as HandlerFunction],
});
const gotOptions = new Options(baseUrl.href, { method: 'GET' }, client.defaults.options);
gotOptions.https = {};

const sendByGot: Transport = async ({ path, headers, signal }) => {
  next = { path, headers, signal };
  // The third argument, which got does not declare, replaces the defaults of the instance.
  const sending: unknown = Reflect.apply(client, undefined, [undefined, undefined, gotOptions]);
  if (!(sending instanceof Sending)) throw new TypeError('got did not call its handler');
  return sending.reply;
};

const typeOf = ({ __typename }: { __typename: string }) => __typename;
const schema = makeExecutableSchema<Context>({
  typeDefs,
  resolvers: {
    Query: {
      glCodes: (
        _: unknown,
        args: GlCodesArgs,
        { codes, scope }: Context,
        { path }: GraphQLResolveInfo,
      ) => observed('Query.glCodes', path.key, scope, typeOfGlCodes, () => codes.load(args)),
    },
    Mutation: {
      workflowAction: (
        _: unknown,
        args: ActionArgs,
        { scope }: Context,
        { path }: GraphQLResolveInfo,
      ) =>
        observed('Mutation.workflowAction', path.key, scope, typeOfAction, async () => {
          const operation = actionPath(args);
          const status = await call(operation, operation, true, scope, sendByGot);
          return toAction(status as ServiceStatus, args);
        }),
    },
    GlCodesResult: { __resolveType: typeOf },
    WorkflowActionResult: { __resolveType: typeOf },
    LedgerStatus: { __resolveType: typeOf },
    LedgerProblem: { __resolveType: typeOf },
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
const app = fastify({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: () => randomUUID(),
});
app.get('/metrics', () => metricsText());
app.post('/graphql', async (request, reply) => {
  const start = performance.now();
  const { token, caller } = await authenticate(request.headers.authorization);
  const disconnect = new AbortController();
  const scope: Scope = {
    requestId: request.id,
    token,
    caller,
    signal: disconnect.signal,
    fields: new Map(),
  };
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) disconnect.abort();
    logRequest(scope, start, request.method, reply.statusCode);
  });
  const { query = '' } = request.body as { query?: string };
  const codes = new DataLoader(
    (all: readonly GlCodesArgs[]) =>
      Promise.all(
        all.map(async (args) => {
          const list = await call('getGLCodes5', codesPath(args), false, scope, sendByGot);
          return toGlCodes(list as GlCodeInfoSS, args);
        }),
      ),
    { cacheKeyFn: codesPath },
  );
  const context = { scope, operation: planOf(query), codes };
  const { status = 200, body } = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: { method: 'POST', headers: preflighted, search: '', body: request.body },
    context: async () => context,
  });
  reply.code(status).type('application/json; charset=utf-8').headers({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': request.id,
    vary: 'Accept',
  });
  return body.kind === 'complete' ? body.string : '';
});
await app.listen({ host: process.env.HOST ?? '', port: Number(process.env.PORT) });
