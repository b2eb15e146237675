import { randomUUID } from 'node:crypto';
import fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import type { ClientConnections } from './client-connections.ts';
import { BODY_LIMIT } from './request-body.ts';

/** A request id of the client's; any other is replaced. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

/** Fastify with its limits and timeouts, and request ids. */
export function createFastify(
  log: Logger,
  connections: ClientConnections,
  frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // The framework logs nothing for a request, so a logger for each is unnecessary.
    childLoggerFactory: (logger) => logger,
    frameworkErrors,
    clientErrorHandler: (error, socket) => connections.rejectMalformed(error, socket),
    genReqId: ({ headers }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
    },
    bodyLimit: BODY_LIMIT,
    // Milliseconds for a whole request: a slow client must not occupy a connection for long.
    requestTimeout: 30_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 5_000 },
    // A load balancer that has not noticed the shutdown is still served.
    return503OnClosing: false,
  });
  // Only the route decides whether a client that waits for it should send the body.
  app.server.on('checkContinue', (message, response) => {
    app.server.emit('request', message, response);
  });
  return app;
}
