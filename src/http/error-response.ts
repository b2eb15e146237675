import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError, internalError, loggable } from '../errors/gateway-error.ts';
import { type HttpFault, toHttpError } from '../errors/http-error-format.ts';
import { hasMutated } from '../request-state.ts';
import { discardBody } from './client-connections.ts';
import { responseType } from './headers.ts';
import { pathOf } from './request-target.ts';

/** Sends the response for an error outside GraphQL, notes its code in the state of the request, and logs an unexpected error. */
export function sendError(error: HttpFault, request: FastifyRequest, reply: FastifyReply) {
  const { id: requestId, raw, state, log } = request;
  const shownId = hasMutated(state) ? undefined : requestId;
  const { status, headers, code, body } = toHttpError(error, shownId);
  if (code === internalError.code) {
    log.error({ requestId, error: loggable(error) }, 'internal error');
  }
  discardBody(raw);
  state.errorCodes.push(code);
  if (error instanceof GatewayError && error.rejection) state.rejection = error.rejection;
  return reply.code(status).headers(headers).type(responseType(request.headers)).send(body);
}

/** Sends the response for unknown paths and methods, before the body is read. */
export function registerNotFound(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const url = pathOf(request.url);
    const allowed = app.supportedMethods.filter((method) => app.hasRoute({ method, url }));
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    return sendError({ statusCode: allowed.length > 0 ? 405 : 404 }, request, reply);
  });
}
