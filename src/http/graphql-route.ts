import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify';
import type { Logger } from 'pino';
import type { Account, Holding } from '../account/account.ts';
import type { Authenticate, Credentials } from '../auth/authenticate.ts';
import { InvalidRequest, missingToken } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import { currentRecord } from '../telemetry/request-record.ts';
import { traceHeaders } from '../telemetry/tracing.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Drain } from './drain.ts';
import { acceptsPage, type Explorer, sendPage } from './explorer.ts';
import { acceptsResponse } from './media-type.ts';
import { inRequestSpan } from './request-span.ts';
import { type ResolveDocument, useTrustedDocument } from './trusted-request.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if the request has no token. */
    scope: RequestScope | null;
  }
}

/** The largest request body without a token, in bytes: enough for introspection. */
const ANONYMOUS_BODY_LIMIT = 65_536;

export type GraphqlRouteOptions = {
  account: Account;
  authenticate: Authenticate;
  /** Finds the trusted document of a request. Undefined if any document is executed. */
  resolveDocument: ResolveDocument | undefined;
  /** Throws a GatewayError if a document exceeds a limit. */
  checkDocument(document: string): void;
  /** Executes the GraphQL request. */
  execute: RouteHandlerMethod;
  /** The page for browsers, if there is one. */
  explorer: Explorer | undefined;
  log: Logger;
};

/** Registers `/graphql`: the explorer's page, or authentication, limits, and the execution. */
export function registerGraphqlRoute(
  app: FastifyInstance,
  drain: Drain,
  bodyBudget: BodyBudget,
  options: GraphqlRouteOptions,
): void {
  app.decorateRequest('scope', null);
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',

    async onRequest(request, reply) {
      if (options.explorer && acceptsPage(request)) return sendPage(reply, options.explorer);
      // Everything that can reject a request does so before a write is executed.
      if (!acceptsResponse(request.headers)) throw new InvalidRequest(406);
      // Before the body is read, so that a client with an invalid token cannot send one.
      const credentials = await options.authenticate(request.raw);
      if (!credentials && bodyMayExceed(request, ANONYMOUS_BODY_LIMIT)) throw missingToken();
      const holding = credentials && options.account.open(credentials.caller.account);
      request.scope = holding && createScope(request, credentials, holding);
      const close = () => holding?.close();
      reply.raw.once('close', () => Promise.resolve(request.execution).then(close, close));
      await bodyBudget.admit(request, reply);
    },

    preParsing(request, _reply, body, done) {
      done(null, bodyBudget.admitChunks(request, body));
    },

    preHandler(request, _reply, done) {
      if (options.resolveDocument) useTrustedDocument(request, options.resolveDocument);
      for (const document of documentsOf(request)) options.checkDocument(document);
      done();
    },

    handler(request, reply) {
      const response = inRequestSpan(request, reply, () =>
        currentRecord.run(request.record, async () => options.execute.call(app, request, reply)),
      );
      request.execution = response;
      const done = () => logUndeliveredWrites(options.log, request);
      drain.executing.track(response).then(done, done);
      return response;
    },

    onSend(request, reply, payload, done) {
      if (request.record.isReplay) reply.header('idempotent-replayed', 'true');
      done(null, drain.prepareResponse(request, reply, payload));
    },
  });
}

function createScope(
  { id, headers, disconnected, record }: FastifyRequest,
  { token, caller }: Credentials,
  holding: Holding,
): RequestScope {
  const key = headers['idempotency-key'];
  const age = headers['idempotency-key-age'];
  return {
    token,
    caller,
    requestId: id,
    holding,
    trace: traceHeaders(headers),
    signal: disconnected,
    idempotencyKey: typeof key === 'string' ? key : undefined,
    idempotencyKeyAge: typeof age === 'string' ? age : undefined,
    receivedAt: performance.now(),
    onReplay() {
      record.isReplay = true;
    },
  };
}

/** If the client disconnected before the response, only the log has the outcomes of its writes. */
function logUndeliveredWrites(log: Logger, { id, record, disconnected }: FastifyRequest): void {
  if (!disconnected.aborted || record.writes.length === 0) return;
  log.warn(
    { requestId: id, writes: record.writes },
    'client disconnected before outcome of writes',
  );
}

/** Whether the body is, or may turn out to be, larger than a limit in bytes. */
function bodyMayExceed({ headers }: FastifyRequest, limit: number): boolean {
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > limit
  );
}

/** The documents of a request. Several in one URL are rejected later. */
function documentsOf({ method, url, body }: FastifyRequest): string[] {
  // Decoded as Apollo does it: with two decoders, a document could evade the limits.
  if (method === 'GET') return new URLSearchParams(url.slice(url.indexOf('?') + 1)).getAll('query');
  const hasDocument = typeof body === 'object' && body !== null && 'query' in body;
  return hasDocument && typeof body.query === 'string' ? [body.query] : [];
}
