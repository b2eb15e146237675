import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { createLineLimit } from '../telemetry/line-limit.ts';
import { registerAdminServer, registerHealthChecks } from './admin-server.ts';
import { ClientConnections } from './client-connections.ts';
import { registerCompression } from './compression.ts';
import { corsHeaders, registerCors } from './cors.ts';
import { Drain } from './drain.ts';
import { createErrorSender, registerErrorHandlers } from './error-response.ts';
import { createFastify } from './fastify-instance.ts';
import { type GraphqlRouteOptions, registerGraphqlRoute } from './graphql-route.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { createRejection } from './overload-rejection.ts';
import { registerBodyParser } from './request-body.ts';
import { findInvalidHeader } from './request-headers.ts';
import { createRequestLog } from './request-log.ts';

type ServerOptions = GraphqlRouteOptions & {
  corsOrigins: string[];
  adminPort: number | undefined;
  host: string;
  compression: boolean;
  isReady(): boolean;
  shutdownDelayMs: number;
  /** The hash of this request's caller, if one more request of it would be rejected at once. */
  overloadedCaller(request: IncomingMessage): string | undefined;
  metrics: HttpMetrics;
};

/** The HTTP server. Its hooks run in the order in which they are registered here. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { log, metrics } = options;
  const mayLog = createLineLimit();
  const connections = new ClientConnections((line) => {
    if (mayLog()) log.info(line, 'request');
  });
  const drain = new Drain(options.shutdownDelayMs);
  const sendError = createErrorSender(log);
  const startRequest = createRequestLog({
    connections,
    log,
    count: metrics.responded,
    sendError,
    mayLog,
  });
  const reject = createRejection({ ...options, mayLog }, () => drain.isClosing);
  const app = createFastify(log, connections, reject, (error, request, reply) => {
    startRequest(request, reply); // No hook runs for these errors.
    reply.headers(corsHeaders(options.corsOrigins, request.headers.origin));
    sendError(error, request, reply);
  });
  connections.watch(app.server);
  registerAdminServer(app, options);
  drain.register(app, connections);
  registerBodyParser(app, options.lane);

  app.addHook('onRequest', (request, reply, done) => {
    startRequest(request, reply);
    done();
  });
  await registerCors(app, options.corsOrigins);
  registerCompression(app, options.compression);
  registerErrorHandlers(app, sendError);
  app.addHook('onRequest', (request, reply, done) => {
    const error = findInvalidHeader(request);
    // Where such a request ends is ambiguous, so nothing behind it is executed.
    if (error) reply.raw.setHeader('connection', 'close');
    done(error);
  });

  registerHealthChecks(app, options.isReady);
  registerGraphqlRoute(app, drain, options);
  return app;
}
