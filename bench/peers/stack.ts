import { AsyncLocalStorage } from 'node:async_hooks';
import { hash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ApolloServer, HeaderMap } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import DataLoader from 'dataloader';
import fastify, { type FastifyRequest, LogController } from 'fastify';
import got, { type HandlerFunction, Options } from 'got';
import { type DocumentNode, GraphQLError, type GraphQLResolveInfo, parse, validate } from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { createSchema } from 'graphql-yoga';
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { destination, pino } from 'pino';
import { Counter, collectDefaultMetrics, Histogram, register } from 'prom-client';
import { Pool } from 'undici';
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
const { UPSTREAM_BASE_URL = '', JWT_JWKS_FILE = '', JWT_ISSUER, JWT_AUDIENCE } = process.env;
const baseUrl = new URL(UPSTREAM_BASE_URL);
const TIMEOUT_MS = 10_000;
const FLUSH_MS = 100;

type Scope = {
  requestId: string;
  token: string;
  caller: string;
  signal: AbortSignal;
  fields: Map<string | number, { operation: string; outcome: string }>;
};
type Context = {
  scope: Scope;
  operation: Plan;
  codes: DataLoader<GlCodesArgs, ReturnType<typeof toGlCodes>, string>;
};

const lines = destination({ fd: 1, sync: true, minLength: 16_000 });
const currentScope = new AsyncLocalStorage<Scope>();
const log = pino({ base: null, mixin: () => ({ caller: currentScope.getStore()?.caller }) }, lines);
setInterval(() => lines.flushSync(), FLUSH_MS).unref();

collectDefaultMetrics();
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const histogram = (name: string) =>
  new Histogram({
    name,
    help: name,
    labelNames: ['operation', 'outcome'],
    buckets: durationBuckets,
  });
const counter = (name: string, ...labelNames: string[]) =>
  new Counter({ name, help: name, labelNames });
const metrics = {
  requests: counter('http_requests_total', 'status'),
  requestSeconds: histogram('request_duration_seconds'),
  callSeconds: histogram('call_duration_seconds'),
  fields: counter('operations_total', 'operation', 'outcome'),
  tokens: counter('token_verifications_total', 'result'),
};

/** One exchange with the service, by got, whose handler sends it with undici. */
const pools = new LRUCache<string, Pool>({ max: 1000 });
type Exchange = { path: string; headers: Record<string, string>; signal: AbortSignal; pool: Pool };
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
  const { path, pool, signal } = next;
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

async function call<Body>(operation: string, path: string, isWrite: boolean, scope: Scope) {
  const start = performance.now();
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
  const abort = () => controller.abort();
  if (!isWrite) scope.signal.addEventListener('abort', abort, { once: true });
  const { requestId, caller } = scope;
  let outcome = 'failed';
  let status: number | undefined;
  try {
    if (isWrite) {
      log.info({ requestId, operation, caller }, 'sent');
      await flushed();
    }
    let pool = pools.get(caller);
    if (!pool) {
      pool = new Pool(baseUrl.origin);
      pools.set(caller, pool);
    }
    const headers = { authorization: `Bearer ${scope.token}`, 'x-request-id': requestId };
    next = { path, headers, signal: controller.signal, pool };
    // The third argument, which got does not declare, replaces the defaults of the instance.
    const sending: unknown = Reflect.apply(client, undefined, [undefined, undefined, gotOptions]);
    if (!(sending instanceof Sending)) throw new TypeError('got did not call its handler');
    const reply = await sending.reply;
    status = reply.status;
    if (status !== 200) throw new Error(`The service responded with ${status}`);
    const body = (await reply.body) as Body;
    outcome = 'answered';
    return body;
  } finally {
    clearTimeout(timer);
    if (!isWrite) scope.signal.removeEventListener('abort', abort);
    const ms = performance.now() - start;
    metrics.callSeconds.observe({ operation, outcome }, ms / 1000);
    log.info({ requestId, operation, outcome, status, ms: Math.round(ms) }, 'call');
  }
}

/** Resolves when the log lines so far are written, once for all writes in an iteration of the event loop. */
let flushing: Promise<void> | undefined;
function flushed(): Promise<void> {
  flushing ??= new Promise((resolve) =>
    setImmediate(() => {
      flushing = undefined;
      lines.flushSync();
      resolve();
    }),
  );
  return flushing;
}

/** Adds the outcome of a root field to its request. */
async function observed<Result extends object>(
  operation: string,
  key: string | number,
  scope: Scope,
  typeOf: (result: Result) => string,
  run: () => Promise<Result>,
) {
  try {
    const result = await run();
    const __typename = typeOf(result);
    scope.fields.set(key, { operation, outcome: __typename });
    return { ...result, __typename };
  } catch (error) {
    scope.fields.set(key, { operation, outcome: 'INTERNAL_SERVER_ERROR' });
    throw error;
  }
}

const typeOf = ({ __typename }: { __typename: string }) => __typename;
const schema = createSchema<Context>({
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
          return toAction(await call<ServiceStatus>(operation, operation, true, scope), args);
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
            for (const field of contextValue.scope.fields.values()) metrics.fields.inc(field);
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

/** Tokens that are verified, for a minute. */
const keys = createLocalJWKSet(JSON.parse(readFileSync(JWT_JWKS_FILE, 'utf8')));
const verified = new LRUCache<string, JWTPayload>({ max: 10_000, ttl: 60_000 });
const claims = { issuer: JWT_ISSUER ?? '', audience: JWT_AUDIENCE ?? '' };
async function authenticate({ headers }: FastifyRequest) {
  const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  const digest = hash('sha256', token, 'base64');
  let payload = verified.get(digest);
  metrics.tokens.inc({ result: payload ? 'remembered' : 'verified' });
  if (!payload) {
    ({ payload } = await jwtVerify(token, keys, claims));
    verified.set(digest, payload);
  }
  return { token, caller: `${payload.iss} ${payload.sub}` };
}

const preflighted = new HeaderMap([['apollo-require-preflight', 'true']]);
const app = fastify({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: () => randomUUID(),
});
app.get('/metrics', () => register.metrics());
app.post('/graphql', async (request, reply) => {
  const start = performance.now();
  const { token, caller } = await authenticate(request);
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
    const seconds = (performance.now() - start) / 1000;
    const status = reply.statusCode;
    metrics.requests.inc({ status });
    for (const field of scope.fields.values()) metrics.requestSeconds.observe(field, seconds);
    const { method, id: requestId } = request;
    const line = { requestId, method, path: '/graphql', status, ms: Math.round(seconds * 1000) };
    log.info(line, 'request');
  });
  const { query = '' } = request.body as { query?: string };
  const codes = new DataLoader(
    (all: readonly GlCodesArgs[]) =>
      Promise.all(
        all.map(async (args) =>
          toGlCodes(await call<GlCodeInfoSS>('getGLCodes5', codesPath(args), false, scope), args),
        ),
      ),
    { cacheKeyFn: codesPath },
  );
  const context = { scope, operation: planOf(query), codes };
  const { status = 200, body } = await currentScope.run(scope, () =>
    apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest: { method: 'POST', headers: preflighted, search: '', body: request.body },
      context: async () => context,
    }),
  );
  reply.code(status).type('application/json; charset=utf-8').headers({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': request.id,
    vary: 'Accept',
  });
  return body.kind === 'complete' ? body.string : '';
});
await app.listen({ host: process.env.HOST ?? '', port: Number(process.env.PORT) });
