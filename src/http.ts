import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import cors from '@fastify/cors';
import { propagation, ROOT_CONTEXT, type Span, SpanKind } from '@opentelemetry/api';
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
import {
  currentRequest,
  GatewayError,
  httpError,
  missingToken,
  type RequestRecord,
} from './errors.ts';
import type { Explorer } from './explorer.ts';
import { parseExactly } from './json.ts';
import { checkVariables } from './limits.ts';
import type { Metrics } from './metrics.ts';
import { Pending } from './pending.ts';
import { inSpan } from './tracing.ts';
import { LONG, nextTurn } from './turns.ts';

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

/** What a caller without a token may send: enough for introspection. */
const ANONYMOUS_BODY_LIMIT = 65_536;

/**
 * The headers of every answer. An API is framed, sniffed, cached and embedded by nobody; a page has a
 * policy of its own in place of the first.
 */
const fixedHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

/** An answer of more characters than this is sent as bytes. */
const LONG_TEXT = 16_384;
/** How long a client may take to take such an answer in, in milliseconds: it holds the memory. */
const TAKING_MS = 60_000;

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
  isOverloaded: (executing: number) => boolean;
  metrics: Pick<Metrics, 'text' | 'contentType' | 'answered' | 'shed'>;
  log: Logger;
}): Promise<FastifyInstance> {
  const { log } = options;

  /** The answer to a request that never reached GraphQL. */
  function sendError(
    error: GatewayError | { statusCode?: number },
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply {
    const { status, headers, code, body } = httpError(error, request.id, log);
    request.record?.codes.push(code);
    return reply.code(status).headers(headers).send(body);
  }

  /** The open connections. */
  const connections = new Map<Socket, Unanswered>();

  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // Nothing is logged by the framework's logger of a request: one for each would be made in vain.
    childLoggerFactory: (logger) => logger,
    frameworkErrors: (error, request, reply) => {
      // These come before any hook.
      begin(request, reply);
      return sendError(error, request, reply);
    },
    clientErrorHandler: (error, socket) => refuse(error, socket, connections.get(socket)),
    genReqId: ({ headers }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
    },
    bodyLimit: BODY_LIMIT,
    // A client that sends slowly holds a socket, not more than this long (milliseconds).
    requestTimeout: 30_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 5_000 },
    // A balancer that has not noticed the drain yet is still served.
    return503OnClosing: false,
  });

  /** Long answers that are on their way. */
  const leaving = new Pending();
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    // Node takes a connection for an idle one as soon as its answer is handed over, and would cut it.
    await leaving.none();
    // And it waits for connections that never sent a request, or still send the rest of one that is
    // answered: whatever has nothing to be answered is closed.
    for (const [socket, { size }] of connections) if (size === 0) socket.destroy();
  });
  app.server.on('connection', (socket: Socket) => {
    const requests: Unanswered = new Map();
    connections.set(socket, requests);
    socket.once('close', () => {
      connections.delete(socket);
      // Node tells this to the first of several requests in line alone.
      for (const end of [...requests.values()]) end();
    });
  });

  /** What every request begins with, and ends with: once, when it was answered or its caller has gone. */
  function begin(request: FastifyRequest, reply: FastifyReply): void {
    const start = performance.now();
    const gone = new AbortController();
    const unanswered: Unanswered = connections.get(request.raw.socket) ?? new Map();
    request.gone = gone.signal;
    request.record = { requestId: request.id, codes: [], writes: [] };
    reply.headers(fixedHeaders).header('x-request-id', request.id);
    const end = () => {
      if (!unanswered.delete(request.raw)) return;
      if (!reply.raw.writableFinished) gone.abort();
      // A connection that was answered after the close began would be kept, and hold the process.
      if (closing && unanswered.size === 0) request.raw.socket.destroySoon();
      const { requestId, operation, codes } = request.record;
      // 499 is what nginx made of a client that closed the request.
      const status = gone.signal.aborted ? 499 : reply.statusCode;
      options.metrics.answered(status);
      log.info(
        {
          requestId,
          method: request.method,
          path: request.routeOptions.url,
          operation,
          outcome: gone.signal.aborted
            ? 'CLIENT_GONE'
            : codes.length > 0
              ? [...new Set(codes)].join()
              : 'ok',
          status,
          ms: Math.round(performance.now() - start),
        },
        'request',
      );
    };
    unanswered.set(request.raw, end);
    reply.raw.once('close', end);
  }

  app.decorateRequest('caller', null);
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply);
    done();
  });

  if (options.corsOrigins.length > 0) {
    await app.register(cors, {
      origin: options.corsOrigins,
      methods: ['GET', 'POST'],
      strictPreflight: false,
      exposedHeaders: ['x-request-id', 'retry-after'],
      maxAge: 600,
    });
  }

  /** The requests being executed. */
  const executing = new Pending();

  // Sheds load before anything is done for a request: a refusal must cost next to nothing. Health and
  // metrics are answered all the same.
  const overloaded = new GatewayError('OVERLOADED', 'The gateway has more to do than it can.', {
    'retry-after': '1',
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.url === '/graphql' && options.isOverloaded(executing.size)) {
      options.metrics.shed();
      sendError(overloaded, request, reply);
    } else done();
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_: FastifyRequest, text: string) => {
      try {
        // A variable of type ID may be written as a number, under any name.
        return parseExactly(text);
      } catch {
        throw Object.assign(new Error('no JSON'), { statusCode: 400 });
      }
    },
  );

  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) => {
    const [url = ''] = request.url.split('?');
    const allowed = ['GET', 'POST'].filter((method) => app.hasRoute({ url, method }));
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    return sendError({ statusCode: allowed.length > 0 ? 405 : 404 }, request, reply);
  });

  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) =>
    options.isReady() ? { status: 'ok' } : reply.code(503).send({ status: 'draining' }),
  );

  app.get('/metrics', async (_, reply) =>
    reply.type(options.metrics.contentType).send(await options.metrics.text()),
  );

  // A mutation goes on when its caller has gone, and nobody's connection tells of it.
  app.addHook('onClose', () => executing.none());

  /** A long answer as bytes: as text it would be copied for its length, for its headers, and once more. */
  async function sendLong(
    request: FastifyRequest,
    reply: FastifyReply,
    text: string,
  ): Promise<string | Buffer> {
    if (text.length > LONG) await nextTurn();
    if (request.gone.aborted) return text;
    const { socket } = request.raw;
    const timer = setTimeout(() => socket.destroy(), TAKING_MS);
    leaving.track(once(reply.raw, 'close').then(() => clearTimeout(timer)));
    return Buffer.from(text);
  }

  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    onRequest: async (request, reply) => {
      if (options.explorer && wantsPage(request)) return sendPage(reply, options.explorer);
      // Before the body is read: a caller with a bad token sends us nothing more.
      request.caller = await options.authenticate(request.raw);
      if (!request.caller && bodyMayExceed(request, ANONYMOUS_BODY_LIMIT)) throw missingToken();
    },
    preHandler(request, _reply, done) {
      for (const document of documentsOf(request)) options.checkOperation(document);
      checkVariables(request.body);
      done();
    },
    onSend(request, reply, payload, done) {
      if (typeof payload !== 'string' || payload.length <= LONG_TEXT) done(null, payload);
      else sendLong(request, reply, payload).then((bytes) => done(null, bytes), done);
    },
    handler(request, reply) {
      const answer = traced(request, reply, () =>
        currentRequest.run(request.record, () =>
          Promise.resolve(options.graphql.call(app, request, reply)),
        ),
      );
      const done = () => {
        const { requestId, writes } = request.record;
        // What nobody was told, the log keeps: each write of the request and what came of it.
        if (request.gone.aborted && writes.length > 0) {
          log.warn({ requestId, writes }, 'writes of a caller who has gone');
        }
      };
      executing.track(answer).then(done, done);
      return answer;
    },
  });

  return app;
}

const clientErrors: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The requests of a connection that are not answered yet, each with what ends it. */
type Unanswered = Map<IncomingMessage, () => void>;

/**
 * Answers what is no HTTP, in the shape of all errors, and ends the connection: Node would read on, and
 * a request that was told 408 would be executed once the rest of it came. Where an earlier request of
 * the connection is not answered yet, the answer would be taken for that one's, so there is none.
 */
function refuse(
  error: Error & { code?: string },
  socket: Socket,
  unanswered: Unanswered = new Map(),
): void {
  const busy = [...unanswered.keys()].some(({ complete }) => complete);
  if (error.code === 'ECONNRESET' || !socket.writable || busy) {
    socket.destroy();
    return;
  }
  const status = clientErrors[error.code ?? ''] ?? 400;
  const { body } = httpError({ statusCode: 400 }, randomUUID(), null);
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
    ...Object.entries(fixedHeaders).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  socket.destroySoon();
}

/** Whether the body of a request is, or may turn out to be, larger than a limit in bytes. */
function bodyMayExceed({ headers }: FastifyRequest, limit: number): boolean {
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > limit
  );
}

/** Runs a request in a span of its own, which continues the caller's trace. */
function traced<T>(request: FastifyRequest, reply: FastifyReply, run: () => T): T {
  const attributes = { 'http.request.method': request.method, 'http.route': '/graphql' };
  const follow = (span: Span | undefined) => {
    if (span) {
      reply.raw.once('close', () => {
        span.setAttribute('http.response.status_code', reply.statusCode);
        span.end();
      });
    }
    return run();
  };
  const parent = () => propagation.extract(ROOT_CONTEXT, request.headers);
  return inSpan('graphql request', { kind: SpanKind.SERVER, attributes }, follow, parent);
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
    .type('text/html; charset=utf-8')
    .send(html);
}

/** The documents of a request, wherever they stand: one, or none or several, which is refused further on. */
function documentsOf({ method, url, body }: FastifyRequest): string[] {
  // Decoded as Apollo does it: two readings of one address would let a document slip through.
  if (method === 'GET') return new URLSearchParams(url.slice(url.indexOf('?') + 1)).getAll('query');
  const isDocument = typeof body === 'object' && body !== null && 'query' in body;
  return isDocument && typeof body.query === 'string' ? [body.query] : [];
}
