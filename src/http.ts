import { randomUUID } from 'node:crypto';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import type { RouteHandlerMethod } from 'fastify';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import type { Authenticate, Caller } from './auth.ts';
import { currentRequest, httpError, type RequestRecord } from './errors.ts';
import type { Explorer } from './explorer.ts';
import { parseExactly } from './json.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null where no token came. */
    caller: Caller | null;
    /** What the log line of the request will tell. */
    record: RequestRecord;
    /** Ends when the caller goes away before the answer. */
    gone: AbortSignal;
  }
}

/** The largest body taken, in bytes: a CSV of 12 MB as base64. */
const BODY_LIMIT = 16_777_216;

/** How a request id of a caller's looks; another is replaced by one of ours. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

/**
 * The HTTP side: routes, CORS, body limit, health, and one log line per request. `graphql` answers
 * `/graphql` once the caller is known and the operation is within its limits.
 */
export async function createServer(options: {
  authenticate: Authenticate;
  checkOperation: (document: string) => void;
  graphql: RouteHandlerMethod;
  corsOrigins: string[];
  /** The page for browsers, where there is one. */
  explorer: Explorer | undefined;
  isReady: () => boolean;
  log: Logger;
}): Promise<FastifyInstance> {
  const { log } = options;
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: ({ headers }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
    },
    bodyLimit: BODY_LIMIT,
    // A balancer that has not noticed the drain yet is still served.
    return503OnClosing: false,
  });

  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request, reply) => {
    const start = performance.now();
    const gone = new AbortController();
    request.gone = gone.signal;
    request.record = { requestId: request.id, codes: [] };
    reply.header('x-request-id', request.id);
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) gone.abort();
      const { requestId, operation, codes } = request.record;
      log.info(
        {
          requestId,
          method: request.method,
          path: request.routeOptions.url,
          operation,
          outcome: gone.signal.aborted ? 'CLIENT_GONE' : codes.length > 0 ? codes.join() : 'ok',
          status: reply.statusCode,
          ms: Math.round(performance.now() - start),
        },
        'request',
      );
    });
  });

  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { 'default-src': ["'none'"] } },
  });
  await app.register(cors, {
    origin: options.corsOrigins,
    methods: ['GET', 'POST'],
    exposedHeaders: ['x-request-id', 'retry-after'],
    maxAge: 600,
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_: FastifyRequest, text: string) => {
      try {
        return parseExactly(text);
      } catch {
        throw Object.assign(new Error('no JSON'), { statusCode: 400 });
      }
    },
  );

  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const { status, headers, code, body } = httpError(error, request.id, log);
    request.record.codes.push(code);
    return reply.code(status).headers(headers).send(body);
  });
  app.setNotFoundHandler((request, reply) => {
    const elsewhere = app.hasRoute({ url: request.url.split('?')[0] ?? '', method: 'GET' });
    const { status, code, body } = httpError(
      { statusCode: elsewhere ? 405 : 404 },
      request.id,
      log,
    );
    request.record.codes.push(code);
    if (elsewhere) reply.header('allow', 'GET, POST');
    return reply.code(status).send(body);
  });

  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) =>
    options.isReady() ? { status: 'ok' } : reply.code(503).send({ status: 'draining' }),
  );

  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    onRequest: async (request, reply) => {
      if (options.explorer && wantsPage(request)) return sendPage(reply, options.explorer);
      // Before the body is read: a caller with a bad token sends us nothing more.
      request.caller = await options.authenticate(request.raw);
    },
    preHandler: async (request) => {
      const document = documentOf(request);
      if (document !== undefined) options.checkOperation(document);
    },
    handler(request, reply) {
      return currentRequest.run(request.record, () => options.graphql.call(this, request, reply));
    },
  });
  return app;
}

/** Whether a browser asks for a page, and not for the answer to a query. */
function wantsPage({ method, headers, query }: FastifyRequest): boolean {
  return (
    method === 'GET' &&
    headers.accept?.includes('text/html') === true &&
    !(typeof query === 'object' && query !== null && 'query' in query)
  );
}

function sendPage(reply: FastifyReply, { html, contentSecurityPolicy }: Explorer): FastifyReply {
  return reply
    .header('content-security-policy', contentSecurityPolicy)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(html);
}

/** The document of a request, wherever it stands; a request without one is refused further on. */
function documentOf({ body, query }: FastifyRequest): string | undefined {
  const holder = body ?? query;
  return typeof holder === 'object' &&
    holder !== null &&
    'query' in holder &&
    typeof holder.query === 'string'
    ? holder.query
    : undefined;
}
