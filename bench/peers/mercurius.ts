import { randomUUID } from 'node:crypto';
import DataLoader from 'dataloader';
import fastify, { LogController } from 'fastify';
import type { GraphQLResolveInfo } from 'graphql';
import mercurius from 'mercurius';
import Type from 'typebox';
import { Compile } from 'typebox/schema';
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
  type GlCodesArgs,
  toAction,
  toGlCodes,
  typeDefs,
  typeOfAction,
  typeOfGlCodes,
} from './schema.ts';

/** Mercurius with its compiler and an undici pool, and with the duties of ledger-gateway: also, records are checked. */
const code = Type.Object({
  ...{ Code: Type.String(), Name: Type.String(), Value: Type.String(), Hide: Type.Integer() },
});
const status = Type.Object({
  ...{ invoice_id: Type.Number(), message: Type.String(), status: Type.Integer() },
});
const statusOf = Compile(status);
const listOf = Compile(
  Type.Object({ service_status: status, list: Type.Union([Type.Array(code), Type.Null()]) }),
);

const baseUrl = new URL(process.env.UPSTREAM_BASE_URL ?? '');
const pool = new Pool(baseUrl.origin);
const send: Transport = async ({ path, headers, signal }) => {
  const request = { method: 'GET', path: baseUrl.pathname + path, headers, signal } as const;
  const { statusCode, body } = await pool.request(request);
  return { status: statusCode, body: body.json() };
};

/** The two root fields for one request, with the arguments, and the response name under which the result is logged. */
function createFields(scope: Scope) {
  const codes = new DataLoader(
    (all: readonly GlCodesArgs[]) =>
      Promise.all(
        all.map(async (args) => {
          const list = await call('getGLCodes5', codesPath(args), false, scope, send);
          return toGlCodes(listOf.Parse(list), args);
        }),
      ),
    { cacheKeyFn: codesPath },
  );
  return {
    glCodes: (args: GlCodesArgs, key: string | number) =>
      observed('Query.glCodes', key, scope, typeOfGlCodes, () => codes.load(args)),
    workflowAction: (args: ActionArgs, key: string | number) =>
      observed('Mutation.workflowAction', key, scope, typeOfAction, async () => {
        const operation = actionPath(args);
        const reply = await call(operation, operation, true, scope, send);
        return toAction(statusOf.Parse(reply), args);
      }),
  };
}
type Fields = ReturnType<typeof createFields>;

const typeOf = ({ __typename }: { __typename: string }) => __typename;
const fieldsOf = (context: unknown) => (context as { fields: Fields }).fields;

const app = fastify({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: () => randomUUID(),
});
app.get('/metrics', () => metricsText());
app.register(mercurius, {
  schema: typeDefs,
  resolvers: {
    Query: {
      glCodes: (_: unknown, args: GlCodesArgs, context: unknown, { path }: GraphQLResolveInfo) =>
        fieldsOf(context).glCodes(args, path.key),
    },
    Mutation: {
      workflowAction: (
        _: unknown,
        args: ActionArgs,
        context: unknown,
        { path }: GraphQLResolveInfo,
      ) => fieldsOf(context).workflowAction(args, path.key),
    },
    GlCodesResult: { resolveType: typeOf },
    WorkflowActionResult: { resolveType: typeOf },
  },
  context: async (request, reply) => {
    const start = performance.now();
    const { token, caller } = await authenticate(request.headers.authorization);
    const disconnect = new AbortController();
    const { signal } = disconnect;
    const scope = { requestId: request.id, token, caller, signal, fields: new Map() };
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) disconnect.abort();
      logRequest(scope, start, request.method, reply.statusCode);
    });
    return { fields: createFields(scope) };
  },
  jit: 1,
});
await app.listen({ host: process.env.HOST ?? '', port: Number(process.env.PORT) });
