import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError, internalError, loggable } from '../errors/gateway-error.ts';
import { type HttpFault, toHttpError } from '../errors/http-error-format.ts';
import { hasMutated } from '../request-state.ts';
import { discardBody } from './client-connections.ts';
import { findInvalidHeader, responseType } from './headers.ts';

/** Sends the response for an error outside GraphQL, notes its code in the state of the request, and logs an unexpected error. */
export function sendError(error: HttpFault, request: FastifyRequest, reply: FastifyReply) {
  const { id: requestId, raw, state, log } = request;
  const shownId = hasMutated(state) ? undefined : requestId;
  const { status, headers, code, body } = toHttpError(error, shownId);
  if (code === internalError.code) {
    log.error({ requestId, error: loggable(error) }, 'internal error');
  }
  discardBody(raw, reply.raw);
  state.errorCodes.push(code);
  if (error instanceof GatewayError && error.rejection) state.rejection = error.rejection;
  return reply.code(status).headers(headers).type(responseType(request.headers)).send(body);
}

/** Rejects requests with invalid headers, and those for unknown paths and methods, before the body is read. */
export function registerRejections(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const error = findInvalidHeader(request);
    // It is ambiguous where such a request ends, so nothing that follows it on the connection is executed.
    if (error) reply.raw.setHeader('connection', 'close');
    if (error || !request.is404) return done(error);
    const [url = ''] = request.url.split('?', 1);
    const allowed = app.supportedMethods.filter((method) => app.hasRoute({ method, url }));
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    return sendError({ statusCode: allowed.length > 0 ? 405 : 404 }, request, reply);
  });
}
