import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { GatewayError } from '../errors/gateway-error.ts';
import { toHttpError } from '../errors/http-error-format.ts';
import { discardBody, isChunked } from './client-connections.ts';
import { responseType } from './headers.ts';

export type SendError = ReturnType<typeof createErrorSender>;

/** Returns a function that sends the response for an error outside GraphQL, and notes its code for the log. */
export function createErrorSender(log: Logger) {
  type Fault = GatewayError | { statusCode?: number };
  return (error: Fault, request: FastifyRequest, reply: FastifyReply) => {
    const { status, headers, code, body } = toHttpError(error, request.id, log);
    // Nobody looks for the end of its chunks.
    if (!request.raw.complete && isChunked(request.raw)) reply.raw.setHeader('connection', 'close');
    discardBody(request.raw);
    request.record.errorCodes.push(code);
    if (error instanceof GatewayError && error.rejection) {
      request.record.rejection = error.rejection;
    }
    return reply.code(status).headers(headers).type(responseType(request.headers)).send(body);
  };
}

/** Sends errors of hooks and handlers, and the response for unknown paths and methods, before their body is read. */
export function registerErrorHandlers(app: FastifyInstance, sendError: SendError): void {
  app.setErrorHandler(sendError);
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const [url = ''] = request.url.split('?');
    const allowed = ['GET', 'POST'].filter((method) => app.hasRoute({ url, method }));
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    return sendError({ statusCode: allowed.length > 0 ? 405 : 404 }, request, reply);
  });
}
