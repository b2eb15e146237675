import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../errors.ts';
import type { TaskQueue } from '../lib/task-queue.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { BodyBudget } from './body-budget.ts';
import { ClientConnections } from './client-connections.ts';
import { Drain } from './drain.ts';
import { createErrorSender, registerErrorHandlers, type SendError } from './error-response.ts';
import { createFastify } from './fastify-instance.ts';
import { type GraphqlRouteOptions, registerGraphqlRoute } from './graphql-route.ts';
import type { LoadShedding } from './load-shedding.ts';
import { registerBodyParser } from './request-body.ts';
import { checkHeaders } from './request-headers.ts';
import { createRequestLog } from './request-log.ts';

type ServerOptions = GraphqlRouteOptions & {
  corsOrigins: string[];
  isReady(): boolean;
  loadShedding: LoadShedding;
  taskQueue: TaskQueue;
  metrics: Pick<Metrics, 'text' | 'contentType' | 'responded' | 'shed'>;
};

/** The HTTP server. Its hooks run in the order in which they are registered here. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { log, metrics } = options;
  const connections = new ClientConnections();
  const drain = new Drain();
  const startRequest = createRequestLog({
    connections,
    log,
    count: metrics.responded,
    isClosing: () => drain.isClosing,
  });
  const sendError = createErrorSender(log);
  const app = createFastify(log, connections, (error, request, reply) => {
    startRequest(request, reply); // No hook runs for these errors.
    sendError(error, request, reply);
  });
  connections.watch(app.server);
  drain.register(app, connections);
  registerBodyParser(app, options.taskQueue);

  app.addHook('onRequest', (request, reply, done) => {
    startRequest(request, reply);
    done();
  });
  await registerCors(app, options.corsOrigins);
  registerLoadShedding(app, options, drain, sendError);
  registerErrorHandlers(app, sendError);
  app.addHook('onRequest', async (request) => checkHeaders(request));

  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) =>
    options.isReady() ? { status: 'ok' } : reply.code(503).send({ status: 'unavailable' }),
  );
  app.get('/metrics', async (_, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
  registerGraphqlRoute(app, drain, new BodyBudget(app, metrics.shed), options);
  return app;
}

async function registerCors(app: FastifyInstance, origins: string[]): Promise<void> {
  if (origins.length === 0) return;
  await app.register(cors, {
    origin: origins,
    methods: ['GET', 'POST'],
    strictPreflight: false,
    exposedHeaders: ['x-request-id', 'retry-after', 'idempotent-replayed'],
    maxAge: 600,
  });
}

/** Rejects GraphQL requests while overloaded, before any other work: a rejection must be cheap. */
function registerLoadShedding(
  app: FastifyInstance,
  { loadShedding, metrics }: ServerOptions,
  drain: Drain,
  sendError: SendError,
): void {
  const overloaded = new GatewayError('OVERLOADED', 'The gateway is overloaded.', {
    'retry-after': '1',
  });
  app.addHook('onRequest', (request, reply, done) => {
    const isGraphql = request.routeOptions.url === '/graphql';
    if (isGraphql && loadShedding.isOverloaded(drain.executing.size)) {
      metrics.shed();
      sendError(overloaded, request, reply);
    } else done();
  });
}
