import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { entryOf, GatewayError, httpError, loggable } from '../errors/gateway-error.ts';
import { hasMutated, noteError } from '../request-state.ts';
import { discardBody } from './client-connections.ts';
import { acceptedType, findInvalidHeader, JSON_TYPE } from './headers.ts';

/** Sends the response for an error outside GraphQL, notes its code in the state of the request, and logs an unexpected error. */
export function sendError(
  error: GatewayError | FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { id: requestId, raw, state, log } = request;
  const described = error instanceof GatewayError ? error : httpError(error.statusCode);
  const { code, http } = described;
  if (code === 'INTERNAL_SERVER_ERROR') {
    log.error({ requestId, error: loggable(error) }, 'internal error');
  }
  discardBody(raw, reply.raw);
  noteError(state, code, error);
  const { status, headers } = http ?? { status: 400, headers: {} };
  const errors = [entryOf(described, hasMutated(state) ? undefined : requestId)];
  // If the status is not 2xx, clients read GraphQL errors only from a response of type `application/graphql-response+json`.
  const type = acceptedType(request.headers) ?? JSON_TYPE;
  return reply.code(status).headers(headers).type(type).send({ errors });
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
    return sendError(httpError(allowed.length > 0 ? 405 : 404), request, reply);
  });
}
