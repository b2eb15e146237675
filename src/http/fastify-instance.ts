import { createServer } from 'node:http';
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
import type { Reject } from './overload-rejection.ts';
import { BODY_LIMIT } from './request-body.ts';
import { requestIdOf } from './request-headers.ts';

/** Timeouts in milliseconds. */
const options = {
  requestTimeout: 600_000, // 12 MB over a slow connection. Meanwhile it takes a place of its own caller only.
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 72_000,
  // Checked by a hook: Node would respond itself, and execute the request behind it.
  requireHostHeader: false,
};

/** Fastify with its limits and timeouts, and request ids. Requests that `reject` rejects do not reach it. */
export function createFastify(
  log: Logger,
  connections: ClientConnections,
  reject: Reject,
  frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // The framework logs nothing for a request, so a logger for each is unnecessary.
    childLoggerFactory: (logger) => logger,
    frameworkErrors,
    clientErrorHandler: (error, socket) => connections.handleError(error, socket),
    genReqId: ({ headers }) => requestIdOf(headers),
    bodyLimit: BODY_LIMIT,
    serverFactory: (handle) =>
      createServer(options, (request, response) => {
        connections.accept(request, response, () => {
          if (!reject(request, response)) handle(request, response);
        });
      }),
    // A load balancer that has not noticed the shutdown is still served.
    return503OnClosing: false,
  });
  // Only the route decides whether a client that waits for it should send the body. Node would respond to the others
  // itself, and at once, however many there are.
  for (const event of ['checkContinue', 'checkExpectation']) {
    app.server.on(event, (message, response) => app.server.emit('request', message, response));
  }
  return app;
}
