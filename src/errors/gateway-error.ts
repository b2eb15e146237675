import { shorten } from '../lib/short-text.ts';

/*
 * The errors of the gateway. Every error in a response has a message, a `code`, the `requestId` and `retryable`. It reveals
 * nothing else: no URL, no stack, no body of the service. `entryOf` makes the entry of every error in a response.
 */

/** Why a token is rejected, for the log and a metric. The client learns only that it is rejected. */
export const rejectionReasons = [
  'expired',
  /** Its `nbf` is in the future: the clock of this machine is behind, or that of the issuer ahead. */
  'not_yet_valid',
  'audience',
  'issuer',
  /** The signature does not verify, or its algorithm is not accepted. */
  'signature',
  'unknown_key',
  /** The token is no access token, or has none of the accepted types. */
  'type',
  /** The token is bound to a key, and nobody checks the key. */
  'bound',
  'malformed',
  'missing',
  /** The key of the token is not known, and cannot be fetched at the moment. */
  'keys_unavailable',
] as const;

export type RejectionReason = (typeof rejectionReasons)[number];

/** Why a token is rejected, with its issuer and its key id, both shortened for the log. */
export type Rejection = {
  reason: RejectionReason;
  issuer?: string | undefined;
  kid?: string | undefined;
};

/** The environment is invalid. The message names every invalid or missing variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** An error whose code and message are meant for the client. Every other error is a bug, and is masked. */
export abstract class PublicError extends Error {
  abstract readonly code: string;
  /** Whether the same request may be sent again, unchanged. */
  abstract readonly retryable: boolean;
  /** After how many seconds the client may try again. */
  abstract readonly retryAfterS: number | undefined;
  /** The faults of an input, for `BAD_USER_INPUT`. Undefined for a single fault without a path. */
  abstract readonly faults: readonly unknown[] | undefined;
}

/** What belongs to a code: the HTTP status of a response that has no data, and whether the same request may be sent again, unchanged. */
type CodeRow = { status?: number; retryable?: boolean };

/** The gateway's own codes. */
const gatewayCodes = {
  UNAUTHENTICATED: { status: 401 },
  BAD_USER_INPUT: {},
  AUTH_UNAVAILABLE: { status: 503, retryable: true },
  OVERLOADED: { status: 503, retryable: true },
  CLIENT_DISCONNECTED: { status: 503, retryable: true },
  OPERATION_LIMIT_EXCEEDED: { status: 400 },
  QUERY_NOT_IN_SAFELIST: { status: 400 },
  PERSISTED_QUERY_NOT_IN_LIST: { status: 400 },
  PERSISTED_QUERY_NOT_SUPPORTED: { status: 400 },
  IDEMPOTENCY_KEY_REUSED: {},
  IDEMPOTENCY_KEY_SETTLED: {},
  IDEMPOTENCY_UNAVAILABLE: { retryable: true },
  BAD_REQUEST: { status: 400 },
  NOT_FOUND: { status: 404 },
  METHOD_NOT_ALLOWED: { status: 405 },
  REQUEST_TIMEOUT: { status: 408, retryable: true },
  PAYLOAD_TOO_LARGE: { status: 413 },
  UNSUPPORTED_MEDIA_TYPE: { status: 415 },
  INTERNAL_SERVER_ERROR: { status: 500 },
} satisfies Record<string, CodeRow>;

type GatewayCode = keyof typeof gatewayCodes;

/** An error of the gateway itself. */
export class GatewayError extends PublicError {
  readonly code: GatewayCode;
  readonly retryable: boolean;
  readonly http: { status: number; headers: Record<string, string> } | undefined;
  readonly faults: readonly unknown[] | undefined;
  readonly retryAfterS: number | undefined;
  /** Why the token of the request is rejected. */
  readonly rejection: Rejection | undefined;

  constructor(
    code: GatewayCode,
    message: string,
    options: {
      headers?: Record<string, string>;
      faults?: unknown[];
      /** The HTTP status, if it is another than that of the code. */
      status?: number | undefined;
      retryAfterS?: number;
      rejection?: Rejection;
    } = {},
  ) {
    super(message);
    const row: CodeRow = gatewayCodes[code];
    const { status = row.status, headers, retryAfterS } = options;
    this.code = code;
    this.retryable = row.retryable ?? false;
    const pause = retryAfterS !== undefined && { 'retry-after': String(retryAfterS) };
    this.http = status === undefined ? undefined : { status, headers: { ...headers, ...pause } };
    this.retryAfterS = retryAfterS;
    this.faults = options.faults;
    this.rejection = options.rejection;
  }
}

/**
 * The error for a request whose token is missing, rejected, or cannot be verified now. The client learns only which of the three
 * it is.
 */
export function tokenRejected(rejection: Rejection): GatewayError {
  const { reason } = rejection;
  if (reason === 'keys_unavailable') {
    const message = 'Tokens cannot be verified at the moment.';
    return new GatewayError('AUTH_UNAVAILABLE', message, { rejection });
  }
  const [message, challenge] =
    reason === 'missing'
      ? ['A bearer token is required.', 'Bearer']
      : ['The bearer token is not valid.', 'Bearer error="invalid_token"'];
  const headers = { 'www-authenticate': challenge };
  return new GatewayError('UNAUTHENTICATED', message, { headers, rejection });
}

export const missingToken = () => tokenRejected({ reason: 'missing' });

const retryAfter = { retryAfterS: 1 };

export function overloaded(message = 'The gateway is overloaded.'): GatewayError {
  return new GatewayError('OVERLOADED', message, retryAfter);
}

/** The error for work that ended because the client disconnected. A client that closed only its side may still receive it. */
export function clientDisconnected(): GatewayError {
  return new GatewayError('CLIENT_DISCONNECTED', 'The client disconnected.', retryAfter);
}

export function limitExceeded(what: string, limit: number): GatewayError {
  return new GatewayError(
    'OPERATION_LIMIT_EXCEEDED',
    `The operation has too many ${what}: at most ${limit}.`,
  );
}

/** Codes and messages for requests that are rejected for reasons of HTTP, by status. */
const malformed = ['BAD_REQUEST', 'The request is malformed.'] as const;
const httpErrors: Record<number, readonly [code: GatewayCode, message: string]> = {
  400: malformed,
  404: ['NOT_FOUND', 'There is no such path.'],
  405: ['METHOD_NOT_ALLOWED', 'This path does not support the method.'],
  406: ['BAD_REQUEST', 'The Accept header allows none of the supported media types.'],
  408: ['REQUEST_TIMEOUT', 'The request arrived too slowly, and was not executed.'],
  413: ['PAYLOAD_TOO_LARGE', 'The request body is too large.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The content type must be application/json.'],
  431: malformed,
};

const internalError = new GatewayError('INTERNAL_SERVER_ERROR', 'Internal server error');

/**
 * The error for a request that is rejected for reasons of HTTP. A status that is not in the table above is that of a bug, whose
 * message the client does not learn.
 */
export function httpError(status = 500, message?: string): GatewayError {
  const known = httpErrors[status];
  return known ? new GatewayError(known[0], message ?? known[1], { status }) : internalError;
}

/** The longest message, in characters. Messages of graphql-js and Apollo Server repeat parts of a request. */
const MAX_MESSAGE_LENGTH = 1000;

/** What an error says to the client. */
export type Description = Pick<PublicError, 'code' | 'message' | 'retryable'> & {
  retryAfterS?: number | undefined;
  faults?: unknown;
};

/** An error as the client learns of it: itself, or an internal error in place of an unexpected one. */
export function toPublicError(error: unknown): PublicError {
  return error instanceof PublicError ? error : internalError;
}

/** The entry in the `errors` of a response. */
export function entryOf(
  { code, message, retryable, retryAfterS, faults }: Description,
  requestId: string | undefined,
) {
  const shown = shorten(message, MAX_MESSAGE_LENGTH);
  // An error without a list of faults is itself the only fault.
  const all = faults ?? (code === 'BAD_USER_INPUT' ? [{ path: [], message: shown }] : undefined);
  return { message: shown, extensions: { code, requestId, retryable, retryAfterS, faults: all } };
}

/** The part of an unexpected error that may be logged. Its other properties may contain a token. */
export function loggable(error: unknown) {
  return error instanceof Error
    ? {
        name: error.name,
        message: shorten(error.message, MAX_MESSAGE_LENGTH),
        stack: shorten(error.stack ?? ''), // The stack begins with the message.
        ...(error.cause instanceof Error && { cause: shorten(error.cause.stack ?? '') }),
      }
    : { name: typeof error };
}
