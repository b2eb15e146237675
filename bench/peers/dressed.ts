import { randomUUID } from 'node:crypto';
import DataLoader from 'dataloader';
import fastify, { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { GraphQLResolveInfo } from 'graphql';
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
  typeOfAction,
  typeOfGlCodes,
} from './schema.ts';

/* What the peers `stack` and `mercurius` share: Fastify, and the two root fields with all duties. */

export const app = fastify({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: () => randomUUID(),
});
app.get('/metrics', () => metricsText());

/** Verifies the token of a request, sets the headers of its response, and logs the request when its response has ended. */
export async function startRequest(request: FastifyRequest, reply: FastifyReply): Promise<Scope> {
  const start = performance.now();
  const credentials = await authenticate(request.raw);
  if (credentials === null) throw new Error('There is no token.');
  const { token, caller } = credentials;
  reply.headers({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': request.id,
    vary: 'Accept',
  });
  const disconnect = new AbortController();
  const { signal } = disconnect;
  const scope = { requestId: request.id, token, caller: caller.hash, signal, fields: new Map() };
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) disconnect.abort();
    logRequest(scope, start, request.method, reply.statusCode);
  });
  return scope;
}

/** How responses of the service are read. */
type Readers = {
  list(body: unknown): GlCodeInfoSS;
  status(body: unknown): ServiceStatus;
};

/** The two root fields for one request, with the arguments, and the response name under which the result is logged. */
export function createFields(scope: Scope, send: Transport, read: Readers) {
  const codes = new DataLoader(
    (all: readonly GlCodesArgs[]) =>
      Promise.all(
        all.map(async (args) => {
          const list = await call('getGLCodes5', codesPath(args), false, scope, send);
          return toGlCodes(read.list(list), args);
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
        return toAction(read.status(reply), args);
      }),
  };
}

export type Context = { fields: ReturnType<typeof createFields> };

/** Resolvers of these fields. Their results have the name of their type. */
export const resolvers = {
  Query: {
    glCodes: (_: unknown, args: GlCodesArgs, { fields }: Context, { path }: GraphQLResolveInfo) =>
      fields.glCodes(args, path.key),
  },
  Mutation: {
    workflowAction: (
      _: unknown,
      args: ActionArgs,
      { fields }: Context,
      { path }: GraphQLResolveInfo,
    ) => fields.workflowAction(args, path.key),
  },
};
