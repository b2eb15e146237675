/*
 * The only exit for errors. Every error of a response has a message, a `code`, the `requestId` and
 * `retryable`, and reveals nothing else: no URL, no stack, no body of the service.
 */
import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { Logger } from 'pino';
import { shorten } from './lib/short-text.ts';
import { currentRecord, type RefusalReason } from './telemetry/request-record.ts';
import { UpstreamError } from './upstream/upstream-error.ts';

export { noRoom } from './upstream/upstream-error.ts';
export type { RefusalReason };

/** The environment is invalid. The message names every invalid or missing variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The gateway's own codes, with the HTTP status of a response that has no data. */
const gatewayCodes = {
  UNAUTHENTICATED: 401,
  BAD_USER_INPUT: undefined,
  AUTH_UNAVAILABLE: 503,
  OVERLOADED: 503,
  OPERATION_LIMIT_EXCEEDED: 400,
  QUERY_NOT_IN_SAFELIST: 400,
  PERSISTED_QUERY_NOT_IN_LIST: 400,
  IDEMPOTENCY_KEY_REUSED: undefined,
  IDEMPOTENCY_UNAVAILABLE: undefined,
} as const;

type GatewayCode = keyof typeof gatewayCodes;

const retryableCodes: ReadonlySet<string> = new Set<GatewayCode | 'REQUEST_TIMEOUT'>([
  'AUTH_UNAVAILABLE',
  'OVERLOADED',
  'IDEMPOTENCY_UNAVAILABLE',
  'REQUEST_TIMEOUT',
]);

/** An error of the gateway whose message is meant for the client. */
export class GatewayError extends GraphQLError {
  readonly code: GatewayCode;
  readonly http: { status: number; headers: Map<string, string> } | undefined;

  constructor(
    code: GatewayCode,
    message: string,
    { headers = {}, faults }: { headers?: Record<string, string>; faults?: unknown[] } = {},
  ) {
    const status = gatewayCodes[code];
    const http = status && { status, headers: new Map(Object.entries(headers)) };
    const extensions: Record<string, unknown> = { faults, code, ...(http && { http }) };
    super(message, { extensions });
    this.code = code;
    this.http = http;
  }
}

/** A request without a valid token. */
export class Unauthenticated extends GatewayError {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, challenge: string) {
    super('UNAUTHENTICATED', message, { headers: { 'www-authenticate': challenge } });
    this.reason = reason;
  }
}

/** The error for a request that needs a token and has none. */
export function missingToken(): Unauthenticated {
  return new Unauthenticated('missing', 'A bearer token is required.', 'Bearer');
}

/** The error for a token that does not verify. The client does not learn the reason. */
export function invalidToken(reason: RefusalReason): Unauthenticated {
  const challenge = 'Bearer error="invalid_token"';
  return new Unauthenticated(reason, 'The bearer token is not valid.', challenge);
}

/** The error for a request that is rejected because the gateway is overloaded. */
export function overloaded(message = 'The gateway is overloaded.'): GatewayError {
  return new GatewayError('OVERLOADED', message, { headers: { 'retry-after': '1' } });
}

/** The error for a GraphQL operation that exceeds a limit. */
export function limitExceeded(what: string, limit: number): GatewayError {
  return new GatewayError(
    'OPERATION_LIMIT_EXCEEDED',
    `The operation has more ${what} than the ${limit} allowed.`,
  );
}

/** A request that HTTP itself rules out. The message, if there is one, is meant for the client. */
export class InvalidRequest extends Error {
  readonly statusCode: 400 | 406 | 415;

  constructor(statusCode: 400 | 406 | 415, message?: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** Codes of Apollo Server whose messages concern only the client's document or request. */
const apolloCodes = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

const internalError = { message: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' } as const;

/** The messages of graphql-js for a null that it finds only during execution. */
const argumentFault = /^Argument "(\w+)"/;

/** The longest message, in characters. Those of graphql-js and Apollo Server repeat parts of a request. */
const MAX_MESSAGE_LENGTH = 1000;

/** Formats an error of GraphQL execution or of Apollo's HTTP handling. Logs the errors that it masks. */
export function createErrorFormatter(log: Logger) {
  /** One cause, such as a failed list, may be the error of thousands of entities. */
  const logged = new WeakSet<object>();
  return (formatted: GraphQLFormattedError, thrown: unknown): GraphQLFormattedError => {
    const error = unwrapResolverError(thrown);
    const record = currentRecord.getStore();
    const { message, code, retryable } = describe(formatted, error);
    if (code === internalError.code && !(error instanceof Error && logged.has(error))) {
      if (error instanceof Error) logged.add(error);
      log.error({ requestId: record?.requestId, error: loggable(error) }, 'internal error');
    }
    record?.errorCodes.push(code);
    if (record && error instanceof Unauthenticated) record.refusal = error.reason;
    const shown = shorten(message, MAX_MESSAGE_LENGTH);
    return {
      message: shown,
      ...(formatted.locations && { locations: formatted.locations }),
      ...(formatted.path && { path: formatted.path }),
      extensions: {
        code,
        requestId: record?.requestId,
        retryable,
        ...(code === 'BAD_USER_INPUT' && { faults: faultsOf(formatted, shown) }),
      },
    };
  };
}

/** The faults of an invalid input. An error that lists none is a single fault. */
function faultsOf({ extensions, message }: GraphQLFormattedError, shown: string): unknown {
  const [, argument] = argumentFault.exec(message) ?? [];
  return extensions?.faults ?? [{ path: argument ? [argument] : [], message: shown }];
}

/** The code of an error in the response. */
export function codeOf(error: unknown): string {
  return error instanceof UpstreamError || error instanceof GatewayError
    ? error.code
    : internalError.code;
}

function describe({ message, extensions }: GraphQLFormattedError, error: unknown) {
  if (error instanceof UpstreamError) return error;
  if (error instanceof GraphQLError && argumentFault.test(error.message)) {
    return { message, code: 'BAD_USER_INPUT', retryable: false };
  }
  const code = String(extensions?.code);
  if (error instanceof GatewayError || apolloCodes.has(code)) {
    return { message, code, retryable: retryableCodes.has(code) };
  }
  return { ...internalError, retryable: false };
}

/** Codes and messages for requests that HTTP itself rules out, by status. */
const malformed = ['BAD_REQUEST', 'The request is malformed.'] as const;
const httpErrors: Record<number, readonly [code: string, message: string]> = {
  400: malformed,
  404: ['NOT_FOUND', 'There is no such path.'],
  405: ['METHOD_NOT_ALLOWED', 'This path does not support the method.'],
  406: ['BAD_REQUEST', 'The Accept header allows none of the supported media types.'],
  408: ['REQUEST_TIMEOUT', 'The request arrived too slowly, and was not executed.'],
  413: ['PAYLOAD_TOO_LARGE', 'The request body is too large.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The content type must be application/json.'],
};

/** The response body of an error outside GraphQL: the same shape as inside. */
type ErrorBody = { errors: [GraphQLFormattedError] };

/** The response to a request that does not reach GraphQL. Logs the errors that it masks. */
export function toHttpError(
  error: GatewayError | { statusCode?: number },
  requestId: string,
  log: Logger,
): { status: number; headers: Record<string, string>; code: string; body: ErrorBody } {
  if (error instanceof GatewayError) {
    return {
      status: error.http?.status ?? 400,
      headers: Object.fromEntries(error.http?.headers ?? []),
      code: error.code,
      body: errorBody(error.message, error.code, requestId),
    };
  }
  const { statusCode: status = 500 } = error;
  const known = httpErrors[status];
  if (!known) {
    log.error({ requestId, error: loggable(error) }, 'internal error');
    const { message, code } = internalError;
    return { status: 500, headers: {}, code, body: errorBody(message, code, requestId) };
  }
  const [code, general] = known;
  const message = (error instanceof InvalidRequest && error.message) || general;
  return { status, headers: {}, code, body: errorBody(message, code, requestId) };
}

/** The response body for bytes that are not HTTP, or that arrive too slowly. */
export function malformedRequestBody(status: number, requestId: string): ErrorBody {
  const [code, message] = httpErrors[status] ?? malformed;
  return errorBody(message, code, requestId);
}

function errorBody(message: string, code: string, requestId: string): ErrorBody {
  const retryable = retryableCodes.has(code);
  return { errors: [{ message, extensions: { code, requestId, retryable } }] };
}

/** The part of an unexpected error that may be logged: its other properties may hold a token. */
function loggable(error: unknown) {
  return error instanceof Error
    ? {
        name: error.name,
        message: shorten(error.message, MAX_MESSAGE_LENGTH),
        stack: shorten(error.stack ?? ''), // It begins with the message.
      }
    : { name: typeof error };
}
