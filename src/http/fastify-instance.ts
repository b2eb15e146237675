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
import { parseExactly } from '../lib/exact-json.ts';
import type { ClientConnections } from './client-connections.ts';
import type { Rejection } from './overload-rejection.ts';
import { requestIdOf } from './request-id.ts';

/** The largest request body, in bytes: a CSV of 12 MB as base64. */
const BODY_LIMIT = 16_777_216;

/** In milliseconds. A slow client must not occupy a connection for long. */
const timeouts = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 72_000,
};

/** Fastify with its limits and timeouts, request ids, and a parser for JSON bodies. Requests that `reject` rejects do not reach it. */
export function createFastify(
  log: Logger,
  connections: ClientConnections,
  reject: Rejection,
  frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // The framework logs nothing for a request, so a logger for each is unnecessary.
    childLoggerFactory: (logger) => logger,
    frameworkErrors,
    clientErrorHandler: (error, socket) => connections.rejectMalformed(error, socket),
    genReqId: ({ headers }) => requestIdOf(headers),
    bodyLimit: BODY_LIMIT,
    serverFactory: (handle) =>
      createServer(timeouts, (request, response) => {
        if (!reject(request, response)) handle(request, response);
      }),
    // A load balancer that has not noticed the shutdown is still served.
    return503OnClosing: false,
  });
  registerBodyParser(app);
  return app;
}

/** Rejects invalid UTF-8, which would otherwise be sent to the service as other characters. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function registerBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_: FastifyRequest, body: Buffer) => {
      try {
        // Exactly, because a variable of type ID may be written as a number.
        return parseExactly(utf8.decode(body));
      } catch {
        throw Object.assign(new Error('invalid JSON'), { statusCode: 400 });
      }
    },
  );
}
