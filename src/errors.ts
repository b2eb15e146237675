import { AsyncLocalStorage } from 'node:async_hooks';
import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { Logger } from 'pino';
import { UpstreamError } from './upstream/errors.ts';

/**
 * The one exit for errors. Whatever was thrown, wherever, leaves as an entry with a message, a
 * `code`, the `requestId` and `retryable`, and nothing of the inside: no URL, no stack, no body.
 */

/** The codes that are ours, with the HTTP status of an answer that holds nothing else. */
const gatewayCodes = {
  UNAUTHENTICATED: 401,
  BAD_USER_INPUT: undefined,
  AUTH_UNAVAILABLE: 503,
  OVERLOADED: 503,
  OPERATION_LIMIT_EXCEEDED: 400,
} as const;

type GatewayCode = keyof typeof gatewayCodes;

const retryableCodes: ReadonlySet<string> = new Set<GatewayCode>([
  'AUTH_UNAVAILABLE',
  'OVERLOADED',
]);

/** An error of ours whose message is meant for the caller. */
export class GatewayError extends GraphQLError {
  readonly code: GatewayCode;
  readonly http: { status: number; headers: Map<string, string> } | undefined;

  constructor(code: GatewayCode, message: string, headers: Record<string, string> = {}) {
    const status = gatewayCodes[code];
    const http = status && { status, headers: new Map(Object.entries(headers)) };
    const extensions: Record<string, unknown> = http ? { code, http } : { code };
    super(message, { extensions });
    this.code = code;
    this.http = http;
  }
}

/** The answer to a request that needs a token and has none. */
export function missingToken(): GatewayError {
  return new GatewayError('UNAUTHENTICATED', 'A bearer token is needed.', {
    'www-authenticate': 'Bearer',
  });
}

/** What a log line of a request tells, gathered while it is answered. */
export type RequestRecord = {
  readonly requestId: string;
  operation?: string | undefined;
  /** The codes of the errors it was answered with. */
  readonly codes: string[];
  /** What came of its writes: the union member or the code of each, by field. */
  readonly writes: string[];
};

/** The request being answered: error formatting is handed no context by Apollo. */
export const currentRequest = new AsyncLocalStorage<RequestRecord>();

/** The answer body of an error outside GraphQL: the same shape as one inside. */
export type ErrorBody = { errors: [GraphQLFormattedError] };

/** Codes of Apollo's own whose messages speak of the caller's document or request alone. */
const apolloCodes = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/** Formats an error of GraphQL execution, or of Apollo's HTTP handling. Logs what it masks. */
export function createErrorFormatter(log: Logger) {
  return (formatted: GraphQLFormattedError, thrown: unknown): GraphQLFormattedError => {
    const error = unwrapResolverError(thrown);
    const record = currentRequest.getStore();
    const { message, code, retryable } = describe(formatted, error);
    if (code === 'INTERNAL_SERVER_ERROR') {
      log.error({ requestId: record?.requestId, error: summary(error) }, 'internal error');
    }
    record?.codes.push(code);
    return {
      message,
      ...(formatted.locations && { locations: formatted.locations }),
      ...(formatted.path && { path: formatted.path }),
      extensions: { code, requestId: record?.requestId, retryable },
    };
  };
}

/** The code an error leaves with. */
export function codeOf(error: unknown): string {
  return error instanceof UpstreamError || error instanceof GatewayError
    ? error.code
    : internal.code;
}

function describe(formatted: GraphQLFormattedError, error: unknown) {
  if (error instanceof UpstreamError) {
    return { message: error.message, code: error.code, retryable: error.retryable };
  }
  // What graphql-js finds only as it executes, such as a null for an argument that may not be null.
  if (error instanceof GraphQLError && error.message.startsWith('Argument "')) {
    return { message: formatted.message, code: 'BAD_USER_INPUT', retryable: false };
  }
  const code = formatted.extensions?.code;
  if (error instanceof GatewayError || (typeof code === 'string' && apolloCodes.has(code))) {
    return { message: formatted.message, code: String(code), retryable: isRetryable(String(code)) };
  }
  return internal;
}

const internal = {
  message: 'Internal server error',
  code: 'INTERNAL_SERVER_ERROR',
  retryable: false,
} as const;

function isRetryable(code: string): boolean {
  return retryableCodes.has(code);
}

/** Codes for what HTTP itself rules out, by status. */
const httpCodes: Record<number, readonly [code: string, message: string]> = {
  400: ['BAD_REQUEST', 'The request cannot be read.'],
  404: ['NOT_FOUND', 'There is nothing here.'],
  405: ['METHOD_NOT_ALLOWED', 'This method is not served here.'],
  413: ['PAYLOAD_TOO_LARGE', 'The body is too large.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The content type must be application/json.'],
};

/** The answer to a request that never reached GraphQL. Logs what it masks. */
export function httpError(
  error: GatewayError | { statusCode?: number },
  requestId: string,
  /** Null where a fault of ours cannot be the reason. */
  log: Logger | null,
): { status: number; headers: Record<string, string>; code: string; body: ErrorBody } {
  if (error instanceof GatewayError) {
    return {
      status: error.http?.status ?? 400,
      headers: Object.fromEntries(error.http?.headers ?? []),
      code: error.code,
      body: body(error.message, error.code, requestId, isRetryable(error.code)),
    };
  }
  const status = error.statusCode ?? 500;
  const known = httpCodes[status];
  if (known) {
    const [code, message] = known;
    return { status, headers: {}, code, body: body(message, code, requestId, false) };
  }
  log?.error({ requestId, error: summary(error) }, 'internal error');
  const { message, code, retryable } = internal;
  return { status: 500, headers: {}, code, body: body(message, code, requestId, retryable) };
}

function body(message: string, code: string, requestId: string, retryable: boolean): ErrorBody {
  return { errors: [{ message, extensions: { code, requestId, retryable } }] };
}

/** What of an unexpected error may be logged: never its other properties, which may hold a token. */
function summary(error: unknown) {
  return error instanceof Error
    ? { name: error.name, message: error.message, stack: error.stack }
    : { name: typeof error };
}
