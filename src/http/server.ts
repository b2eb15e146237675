import { createServer as createHttpServer } from 'node:http';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { createLineLimit } from '../telemetry/line-limit.ts';
import { type AdminOptions, registerAdminServer } from './admin-server.ts';
import { ClientConnections, registerUnreadChunks } from './client-connections.ts';
import { registerCompression } from './compression.ts';
import { originPattern, registerCors } from './cors.ts';
import { registerDrain } from './drain.ts';
import { registerNotFound, sendError } from './error-response.ts';
import { type GraphqlRouteOptions, registerGraphqlRoute } from './graphql-route.ts';
import { registerHeaderCheck, requestIdOf } from './headers.ts';
import { registerBodyParser } from './request-body.ts';
import { createRequestLog } from './request-log.ts';
import { toUrl } from './request-target.ts';

type ServerOptions = GraphqlRouteOptions &
  AdminOptions & {
    settings: { corsOrigins: string[]; compression: boolean; shutdownDelayMs: number };
  };

/** The HTTP server. Its hooks run in the order in which they are registered here. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { settings, log } = options;
  const origins = settings.corsOrigins.map(originPattern);
  const mayLog = createLineLimit();
  const connections = new ClientConnections();
  const startRequest = createRequestLog(options, connections, mayLog);
  const app = createFastify(log, {
    rewriteUrl: ({ url }) => toUrl(url),
    clientErrorHandler(error, socket) {
      const line = connections.handleError(error, socket);
      if (line && mayLog()) log.info(line, 'request');
    },
    serverFactory: (handle) =>
      createHttpServer(timeouts, (request, response) => {
        connections.accept(request, response, () => handle(request, response));
      }),
  });
  connections.watch(app.server);
  app.setErrorHandler(sendError); // Applies to the routes that follow.
  registerAdminServer(app, options);
  const drain = registerDrain(app, connections, settings.shutdownDelayMs);
  registerBodyParser(app, options.lane);

  app.addHook('onRequest', (request, reply, done) => {
    startRequest(request, reply);
    done();
  });
  registerUnreadChunks(app);
  await registerCors(app, origins);
  if (settings.compression) registerCompression(app);
  registerHeaderCheck(app);
  registerNotFound(app);
  registerGraphqlRoute(app, drain, options);
  return app;
}

/** Timeouts in milliseconds. */
const timeouts = {
  requestTimeout: 600_000, // Enough for 17 MiB over a slow connection, which takes a place of its own caller only.
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 72_000,
  // A hook checks the header. Node would respond itself, and then execute the next request of the connection.
  requireHostHeader: false,
};

/** Fastify with its limits and timeouts, and request ids. */
function createFastify(log: Logger, handlers: FastifyServerOptions): FastifyInstance {
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // The framework logs nothing for a request, so a logger for each is unnecessary.
    childLoggerFactory: (logger) => logger,
    genReqId: ({ headers }) => requestIdOf(headers),
    // A load balancer that has not noticed the shutdown is still served.
    return503OnClosing: false,
    // Only `search` is used, by GraphQL. Parsing thousands of parameters would take milliseconds.
    routerOptions: { querystringParser: () => ({}) },
    // No plugin waits for anything, so this timeout could only prevent the start on a busy machine.
    pluginTimeout: 0,
    ...handlers,
  });
  // Only the route decides whether a client that sent `Expect` should send its body. By default, Node responds itself,
  // at once and without a limit.
  for (const event of ['checkContinue', 'checkExpectation']) {
    app.server.on(event, (message, response) => app.server.emit('request', message, response));
  }
  return app;
}
