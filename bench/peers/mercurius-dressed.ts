import { randomUUID } from 'node:crypto';
import fastify, { LogController } from 'fastify';
import type { GraphQLResolveInfo } from 'graphql';
import mercurius from 'mercurius';
import { createFields, type Fields } from './checked.ts';
import { authenticate, log, logRequest, metricsText } from './duties.ts';
import { type ActionArgs, type GlCodesArgs, typeDefs } from './schema.ts';

/** Mercurius with its compiler and an undici pool, and with the duties of ledger-gateway. */
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
