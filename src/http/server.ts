import type { IncomingMessage } from 'node:http';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { createLineLimit } from '../telemetry/line-limit.ts';
import { type AdminOptions, operatorPaths, registerAdminServer } from './admin-server.ts';
import { ClientConnections } from './client-connections.ts';
import { registerCompression } from './compression.ts';
import { originPattern, registerCors } from './cors.ts';
import { registerDrain } from './drain.ts';
import { registerRejections, sendError } from './error-response.ts';
import { type GraphqlRouteOptions, registerGraphqlRoute } from './graphql-route.ts';
import { requestIdOf } from './headers.ts';
import { registerBodyParser } from './request-body.ts';
import { createRequestLog } from './request-log.ts';

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
  const app = createFastify(log, {
    clientErrorHandler(error, socket) {
      const line = connections.handleError(error, socket);
      if (line && mayLog()) log.info(line, 'request');
    },
    serverFactory: (handle) => connections.createServer(nodeOptions, handle),
  });
  app.setErrorHandler(sendError); // Applies to the routes that follow.
  registerAdminServer(app, options);
  const drain = registerDrain(app, connections, settings.shutdownDelayMs, options.memory);
  registerBodyParser(app, options.lane);

  app.addHook('onRequest', createRequestLog(options, connections, mayLog));
  await registerCors(app, origins);
  if (settings.compression) registerCompression(app);
  registerRejections(app);
  registerGraphqlRoute(app, drain, options);
  return app;
}

/** The options of Node's server. Timeouts are in milliseconds. */
const nodeOptions = {
  requestTimeout: 600_000, // Enough for 17 MiB over a slow connection, which takes a place of its own caller only.
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 72_000,
  // Several headers of a name are joined also where Node would silently keep the first one, such as `Host` and `Authorization`.
  joinDuplicateHeaders: true,
  // A hook checks the header. Node would respond itself, and then execute the next request of the connection.
  requireHostHeader: false,
};

/** Fastify with its limits and timeouts, and request ids. */
function createFastify(log: Logger, handlers: FastifyServerOptions): FastifyInstance {
  return fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // The framework logs nothing for a request, so a logger for each is unnecessary.
    childLoggerFactory: (logger) => logger,
    rewriteUrl: toUrl,
    genReqId: requestIdOf,
    // A load balancer that has not noticed the shutdown is still served.
    return503OnClosing: false,
    // Only `search` is used, by GraphQL. Parsing thousands of parameters would take milliseconds.
    routerOptions: { querystringParser: () => ({}) },
    // No plugin waits for anything, so this timeout could only prevent the start on a busy machine.
    pluginTimeout: 0,
    ...handlers,
  });
}

/**
 * The path and query of a request for the framework's router, without the origin that its target may have (RFC 9112, section
 * 3.2). An unknown path becomes `/`, which has no route: the router would decode a long path character by character, and parse one
 * such as `/:a(` as the pattern of a route.
 */
function toUrl({ url: target = '' }: IncomingMessage): string {
  if (target === '/graphql') return target;
  const start = target.indexOf('?');
  const end = start < 0 ? target.length : start;
  const path = target.slice(0, end).replace(/^https?:\/\/[^/]*/i, '');
  const isKnown = path === '/graphql' || operatorPaths.includes(path);
  return isKnown ? path + target.slice(end) : '/';
}
