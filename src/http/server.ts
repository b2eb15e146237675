import type { FastifyInstance } from 'fastify';
import { overloaded } from '../errors/gateway-error.ts';
import type { TaskQueue } from '../lib/task-queue.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { BodyBudget } from './body-budget.ts';
import { ClientConnections } from './client-connections.ts';
import { registerCompression } from './compression.ts';
import { corsHeaders, registerCors } from './cors.ts';
import { Drain } from './drain.ts';
import { createErrorSender, registerErrorHandlers } from './error-response.ts';
import { createFastify } from './fastify-instance.ts';
import { type GraphqlRouteOptions, registerGraphqlRoute } from './graphql-route.ts';
import type { LoadShedding } from './load-shedding.ts';
import { createRejection } from './overload-rejection.ts';
import { registerBodyParser } from './request-body.ts';
import { findInvalidHeader } from './request-headers.ts';
import { createRequestLog } from './request-log.ts';

type ServerOptions = GraphqlRouteOptions & {
  corsOrigins: string[];
  compression: boolean;
  isReady(): boolean;
  shutdownDelayMs: number;
  loadShedding: LoadShedding;
  taskQueue: TaskQueue;
  metrics: Pick<Metrics, 'text' | 'contentType' | 'responded' | 'shed'>;
};

/** The HTTP server. Its hooks run in the order in which they are registered here. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { log, metrics } = options;
  const connections = new ClientConnections();
  const drain = new Drain(options.shutdownDelayMs);
  const isClosing = () => drain.isClosing;
  const sendError = createErrorSender(log);
  const count = metrics.responded;
  const startRequest = createRequestLog({ connections, log, count, isClosing, sendError });
  const reject = createRejection(options, isClosing);
  const app = createFastify(log, connections, reject, (error, request, reply) => {
    startRequest(request, reply); // No hook runs for these errors.
    reply.headers(corsHeaders(options.corsOrigins, request.headers.origin));
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
  registerCompression(app, options.compression);
  registerLoadShedding(app, options.loadShedding, drain);
  registerErrorHandlers(app, sendError);
  app.addHook('onRequest', (request, reply, done) => {
    const error = findInvalidHeader(request);
    // Where such a request ends is ambiguous, so nothing behind it is executed.
    if (error) reply.raw.setHeader('connection', 'close');
    done(error);
  });

  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async ({ record }, reply) => {
    if (options.isReady()) return { status: 'ok' };
    record.errorCodes.push('NOT_READY');
    return reply.code(503).send({ status: 'unavailable' });
  });
  app.get('/metrics', async (_, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
  registerGraphqlRoute(app, drain, new BodyBudget(app, metrics.shed), options);
  return app;
}

/** Lets GraphQL requests wait for their turn while overloaded. */
function registerLoadShedding(
  app: FastifyInstance,
  { enter, leave }: LoadShedding,
  drain: Drain,
): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.url !== '/graphql') return done();
    drain.requestArrived();
    enter(() => {
      if (request.disconnected.aborted) {
        done(overloaded()); // If the client only closed its side, it still gets a response.
        return false;
      }
      request.onEnd = leave;
      done();
      return true;
    });
  });
}
