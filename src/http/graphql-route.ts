import { hash } from 'node:crypto';
import { isPromise } from 'node:util/types';
import type { Span } from '@opentelemetry/api';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { AdmissionKey, Gate } from '../admission/gate.ts';
import type { Lane } from '../admission/lane.ts';
import { type Client, type Memory, Reservation } from '../admission/memory.ts';
import type { Authenticator, Credentials } from '../auth/authenticate.ts';
import {
  clientDisconnected,
  httpError,
  missingToken,
  overloaded,
} from '../errors/gateway-error.ts';
import { wallOffsetNow } from '../lib/suspension.ts';
import type { Execute, GivenKey, RequestScope } from '../request-scope.ts';
import { currentState } from '../request-state.ts';
import { traceHeaders, withSpan } from '../telemetry/tracing.ts';
import type { Drain } from './drain.ts';
import type { Explorer } from './explorer.ts';
import { acceptedType, pickHeaders } from './headers.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { BODY_LIMIT } from './request-body.ts';
import { logUndeliveredWrites, startRequestSpan } from './request-log.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null without an exporter of traces. */
    span: Span | null;
    /** The media type of its response. */
    responseType: string;
    /** The trace headers of the client, if they are valid. */
    trace: RequestScope['trace'];
    /** Null if the request has no token. */
    scope: RequestScope | null;
    /** That of its caller, or the one of all requests without a token. */
    admissionKey: AdmissionKey;
    /** The memory that the request holds. */
    reservation?: Reservation;
    /** Settles when the request has been parsed, or executed, which may be after its client has disconnected. */
    processing?: Promise<unknown>;
    /** Since when its client may receive the response, in the time of `performance.now()`. */
    sendingSince?: number;
  }
}

/** A body is slow if it arrives with fewer bytes per second after this time. Its place may then be given to other requests. */
const SLOW_BODY = { seconds: 1, bytesPerSecond: 8192 };
/** How long a client may take to receive a response, in milliseconds: alone, and while others need the memory that it holds. */
const MAX_SENDING_MS = { alone: 60_000, needed: 1000 };
/** The admission key of all requests without a token. */
const ANONYMOUS = 'anonymous';

export type GraphqlRouteOptions = {
  settings: {
    /** The headers of clients that the service gets, in lower case. */
    forwardHeaders: readonly string[];
  };
  memory: Memory;
  /** The requests in progress. */
  requests: Gate;
  authenticator: Pick<Authenticator, 'authenticate'>;
  /** Whether requests without a token are executed. They may only introspect. */
  introspection: boolean;
  lane: Lane;
  execute: Execute;
  /** The page for browsers, if there is one. */
  explorer: Explorer | undefined;
  metrics: HttpMetrics;
  log: Logger;
};

/** Registers `/graphql`. Everything that can reject a request does so before a write is executed. */
export function registerGraphqlRoute(
  app: FastifyInstance,
  drain: Drain,
  options: GraphqlRouteOptions,
): void {
  app.decorateRequest('admissionKey', ANONYMOUS);
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',

    // This runs before the body is read, so that a client without a valid token cannot send one.
    onRequest(request, reply, done) {
      drain.lastRequestAt = request.receivedAt;
      const page = options.explorer?.(request, reply);
      if (page) return page;
      request.trace = traceHeaders(request.headers);
      request.span = startRequestSpan(request, reply);
      const type = acceptedType(request.headers);
      if (!type) throw httpError(406);
      request.responseType = type;
      const credentials = authenticate(request, options);
      // Most requests wait for nothing here, and need no promise.
      const admitting = isPromise(credentials)
        ? credentials.then((found) => admit(request, reply, found, options))
        : admit(request, reply, credentials, options);
      if (!admitting) done();
      return admitting;
    },

    handler(request, reply) {
      const response = currentState.run(request.state, respond, request, reply, drain, options);
      request.processing = response;
      return response;
    },

    onSend(request, reply, payload, done) {
      if (request.state.isReplay) reply.header('idempotent-replayed', 'true');
      let isInProgress = false;
      for (const { code } of request.state.fields.values()) isInProgress ||= code === 'IN_PROGRESS';
      if (isInProgress) reply.header('idempotent-in-progress', 'true');
      const body = keepOnlyResponse(request, reply, payload);
      // The results of an iteration of the event loop are sent together, because waking a client for each takes more CPU time.
      if (request.processing) setImmediate(done, null, body);
      else done(null, body);
    },
  });
}

/**
 * The credentials of a request, or a promise of them. Null if the request has no token and may introspect. A rejection waits for
 * CPU time.
 */
function authenticate(request: FastifyRequest, options: GraphqlRouteOptions) {
  const { raw, headers } = request;
  const reject = async (error: unknown): Promise<never> => {
    await options.lane.turn(ANONYMOUS, request.receivedAt);
    throw error;
  };
  try {
    const credentials = options.authenticator.authenticate(raw);
    if (credentials) return isPromise(credentials) ? credentials.catch(reject) : credentials;
    const isShort =
      headers['transfer-encoding'] === undefined &&
      Number(headers['content-length'] ?? 0) <= 16_384; // Enough for introspection.
    return options.introspection && isShort ? null : reject(missingToken());
  } catch (error) {
    return reject(error);
  }
}

/** Gives a request a place among those in progress, with its scope. Undefined if it has the place at once. */
function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  credentials: Credentials | null,
  options: GraphqlRouteOptions,
): Promise<void> | undefined {
  const { headers, disconnected: signal } = request;
  const { requests, memory, metrics } = options;
  if (credentials) request.state.caller = credentials.caller;
  if (Number(headers['content-length']) > BODY_LIMIT) throw httpError(413);
  request.admissionKey = credentials?.caller.admissionKey ?? ANONYMOUS;
  const begin = () => {
    const client = clientOf(request, requests);
    const reservation = new Reservation(memory, request.admissionKey, client);
    request.reservation = reservation;
    closeAtEnd(reservation, request, reply);
    request.scope = credentials && createScope(request, credentials, reservation, options);
    if (headers.expect !== undefined) reply.raw.writeContinue();
  };
  if (requests.tryEnter(request.admissionKey)) {
    begin();
    return undefined;
  }
  return requests.enter(request.admissionKey, { signal }).then(begin, (error: unknown) => {
    if (!signal.aborted) metrics.shed();
    throw error;
  });
}

/** Closes the reservation when the client has the response or has disconnected, and the request is not being processed any more. */
function closeAtEnd(reservation: Reservation, request: FastifyRequest, reply: FastifyReply): void {
  const close = () => reservation.close();
  const end = () => void Promise.resolve(request.processing).then(close, close);
  if (reply.raw.closed) end();
  else reply.raw.once('close', end);
}

/** Watches a client that sends its body slowly or not at all, or does not receive a response, unless that has the outcome of a write. */
function clientOf(request: FastifyRequest, places: Gate): Client {
  const { raw, state } = request;
  const { socket } = raw;
  const { bytesRead } = socket;
  const since = performance.now();
  return {
    places,
    isOverdue() {
      const now = performance.now();
      const { sendingSince, processing } = request;
      if (sendingSince !== undefined) {
        return state.writes.length === 0 && now - sendingSince >= MAX_SENDING_MS.needed;
      }
      if (raw.complete || processing !== undefined) return false;
      const seconds = (now - since) / 1000;
      const bytesPerSecond = (socket.bytesRead - bytesRead) / seconds;
      return seconds >= SLOW_BODY.seconds && bytesPerSecond < SLOW_BODY.bytesPerSecond;
    },
    disconnect: () => socket.destroy(),
  };
}

function createScope(
  request: FastifyRequest,
  { token, tokenHash, caller }: Credentials,
  reservation: Reservation,
  { settings, lane }: GraphqlRouteOptions,
): RequestScope {
  const { id, headers, receivedAt, disconnected, state, raw, trace } = request;
  const forwarded = pickHeaders(headers, settings.forwardHeaders);
  return {
    token,
    caller,
    identity: forwarded ? hash('sha256', JSON.stringify([tokenHash, forwarded])) : tokenHash,
    requestId: id,
    reservation,
    turn: lane.turn.bind(lane, caller.admissionKey, receivedAt),
    trace,
    forwarded,
    signal: disconnected,
    isClosed: () => raw.socket.destroyed,
    // No getter: with one, V8 gives each of these objects a shape of its own, and a read took 1.2 times the CPU time.
    givenKey: () => givenKeyOf(request),
    idempotencyResponseName: headers['idempotency-response-name']?.toString(),
    receivedAt,
    wallOffset: raw.wallOffset ?? wallOffsetNow(),
    state,
  };
}

/** The idempotency key in the headers and the body of a request, which has been parsed. */
function givenKeyOf({ headers, body }: FastifyRequest): GivenKey {
  const { extensions }: Record<string, unknown> = Object(body);
  const { idempotencyKey, idempotencyKeyAge }: Record<string, unknown> = Object(extensions);
  const isGiven = (value: unknown) => value !== undefined && value !== null;
  return {
    keys: [headers['idempotency-key'], idempotencyKey].filter(isGiven),
    ages: [headers['idempotency-key-age'], idempotencyKeyAge].filter(isGiven),
  };
}

/** Waits for CPU time, and executes the request, also for a client that has closed only its own side (docs/decisions/0016). */
async function respond(
  request: FastifyRequest,
  reply: FastifyReply,
  drain: Drain,
  options: GraphqlRouteOptions,
) {
  const { lane, execute, log } = options;
  const { method, url, headers, body, scope, state } = request;
  const turn = lane.turn(request.admissionKey, request.receivedAt);
  if (turn) await turn;
  // A client that has left while its body was parsed could not learn the outcome of a write.
  if (reply.raw.closed) throw clientDisconnected();
  const search = url.slice('/graphql'.length);
  let response: Awaited<ReturnType<Execute>>;
  drain.executing += 1;
  try {
    const given = { method, headers, search, body, scope, state };
    response = await withSpan(request.span, () => execute(given));
  } finally {
    drain.executing -= 1;
    logUndeliveredWrites(log, request);
  }
  // The memory of lists was reserved before they existed. A response may also be long because of errors, or of the schema.
  const isReserved =
    state.writes.length > 0 || request.reservation?.tryReserveTotal(response.body.length);
  if (isReserved === false) throw overloaded();
  for (const [name, value] of response.headers) reply.header(name, value);
  reply.code(response.status).type(request.responseType);
  return response.body;
}

/**
 * From now on the request holds only the memory of its response. A long response is converted to bytes, which avoids copies
 * of its text.
 */
function keepOnlyResponse(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  const { reservation } = request;
  const { socket } = request.raw;
  const whole = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : '';
  const isLong = whole.length > 16_384;
  const body = isLong && typeof whole === 'string' ? Buffer.from(whole) : whole;
  reservation?.resize(isLong ? body.length : 0);
  if (!socket.writable) return payload;
  // This applies to short responses, too: the client may not have read the earlier ones.
  const timer = setTimeout(() => socket.destroy(), MAX_SENDING_MS.alone);
  reply.raw.once('close', () => clearTimeout(timer));
  request.sendingSince = performance.now();
  return body;
}
