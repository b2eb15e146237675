import { PublicError } from '../errors/gateway-error.ts';
import type { InputFault } from '../errors/input-fault.ts';

/** The codes of failed calls, each with its message for clients, and with whether the same call may succeed later. */
const failures = {
  /** The service responded with 401 to a token that the gateway had verified. */
  UNAUTHENTICATED: { message: 'The service does not accept the token.', retryable: false },
  /** The service responded with 403, or the token lacks a claim that the policy requires. */
  FORBIDDEN: { message: 'The service does not permit this operation.', retryable: false },
  /** The service responded with 400, or with another 4xx that HTTP registers and that has no code of its own. */
  UPSTREAM_BAD_REQUEST: { message: 'The service rejected the request.', retryable: false },
  /** The service responded with 5xx, with 408, or with a 4xx that HTTP does not register. */
  UPSTREAM_FAILED: { message: 'The service failed.', retryable: true },
  /** The deadline passed. */
  UPSTREAM_TIMEOUT: { message: 'The service did not respond in time.', retryable: true },
  /** No connection, a connection that broke before a response began, or an open circuit breaker. */
  UPSTREAM_UNAVAILABLE: { message: 'The service is currently unavailable.', retryable: true },
  /** Too many calls waited for a place. The request was not sent. */
  UPSTREAM_BUSY: {
    message: 'Too many calls are waiting for the service. Nothing was sent.',
    retryable: true,
  },
  /** The policy stops the operation. Its message is that of the policy. */
  OPERATION_STOPPED: { message: 'The operation is stopped. Nothing was sent.', retryable: false },
  /** The service responded with 429. Or the caller has sent as many writes in this minute as the policy allows, whose message it has. */
  RATE_LIMITED: {
    message: 'The service receives too many requests, and rejected this one.',
    retryable: true,
  },
  /** There is no memory for the response to a read. */
  OVERLOADED: { message: 'The gateway is processing too many large responses.', retryable: true },
  /** The response does not match docs/reference/service-api.md, was cut off, or is too large. */
  UPSTREAM_INVALID_RESPONSE: { message: 'The service sent an invalid response.', retryable: false },
  /** The client disconnected, or closed its side of the connection, so its read was cancelled. */
  CLIENT_DISCONNECTED: { message: 'The client disconnected.', retryable: true },
} as const;

/** Code branches on these codes, never on a message. */
export type UpstreamErrorCode = keyof typeof failures;

/** Whether a request may have reached the service. Only `transport/send-once.ts` decides this. */
export type Sent = 'no' | 'maybe' | 'yes';

type Details = Pick<UpstreamError, 'fault'> &
  Partial<Pick<UpstreamError, 'sent' | 'status' | 'transient' | 'retryAfterMs' | 'faults'>> & {
    /** The message for clients. By default, it is that of the code. */
    message?: string | undefined;
  };

/**
 * A failed call to the service. It contains only what may be logged, and nothing of the request or the response but `message` and
 * `faults`. The error of an HTTP client may carry the bearer token in its options.
 */
export class UpstreamError extends PublicError {
  override readonly name = 'UpstreamError';
  readonly code: UpstreamErrorCode;
  /** What `transport/send-once.ts` says. Undefined before the call has asked it; then the request may have been sent. */
  readonly sent: Sent | undefined;
  /** The cause for the log: an error code such as `ECONNRESET`, or a short description. */
  readonly fault: string;
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** A fault that may not recur on the next attempt: a connection fault, 502, 503 or 504. */
  readonly transient: boolean;
  /** The delay that the service asked for by `Retry-After`, or the policy, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** What is wrong with the request, as the service says. Undefined if it does not say it. */
  readonly faults: readonly InputFault[] | undefined;

  constructor(code: UpstreamErrorCode, details: Details) {
    super(details.message ?? failures[code].message);
    this.code = code;
    this.sent = details.sent;
    this.fault = details.fault;
    this.status = details.status;
    this.transient = details.transient ?? false;
    this.retryAfterMs = details.retryAfterMs;
    this.faults = details.faults;
  }

  /** Whether the same call may succeed if it is repeated unchanged. */
  get retryable(): boolean {
    return failures[this.code].retryable || this.transient;
  }

  /** `retryAfterMs` in whole seconds, as it is shown to clients. */
  get retryAfterS(): number | undefined {
    return this.retryAfterMs === undefined ? undefined : Math.ceil(this.retryAfterMs / 1000);
  }
}

/** The error for a response to a read for which there is no memory. */
export function noRoom(fault = 'no memory for the response'): UpstreamError {
  return new UpstreamError('OVERLOADED', { fault });
}

/** The error for a response that arrived and cannot be used. `message` says more to the client. */
export function invalidResponse(fault: string, message?: string, status?: number): UpstreamError {
  return new UpstreamError('UPSTREAM_INVALID_RESPONSE', { fault, message, status });
}

const invalidHttp = /^HPE_|^HTTPParserError$|^UND_ERR_(RES_CONTENT_LENGTH|HEADERS_OVERFLOW)/;

/** Translates an error of the connection. The result contains nothing of the request. */
export function connectionError(error: unknown, sent: Sent): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const fault = faultOf(error);
  const isInvalid = invalidHttp.test(fault);
  // A response that broke off, or that is not HTTP, is an invalid response.
  const code = sent === 'yes' || isInvalid ? 'UPSTREAM_INVALID_RESPONSE' : 'UPSTREAM_UNAVAILABLE';
  return new UpstreamError(code, { fault, transient: !isInvalid });
}

/** The code of an error, or its name. These two properties contain nothing of a request. */
export function faultOf(error: unknown): string {
  const { code, name }: { code?: unknown; name?: unknown } = Object(error);
  return [code, name].find((text) => typeof text === 'string') ?? 'unknown';
}

/** The error for a response that is longer than UPSTREAM_MAX_RESPONSE_BYTES. Its client learns what to do about it. */
export function tooLong(maxBytes: number): UpstreamError {
  const message = `The response of the service is longer than ${maxBytes} bytes, which is more than this gateway reads (UPSTREAM_MAX_RESPONSE_BYTES).`;
  return invalidResponse(`larger than ${maxBytes} bytes (UPSTREAM_MAX_RESPONSE_BYTES)`, message);
}

/**
 * Translates any failure to an UpstreamError. `exchange` says what is known of the request. Without it, the error itself says it:
 * that of an attempt. If the gateway itself ended the attempt, the code says why.
 */
export function toUpstreamError(
  cause: unknown,
  signal: AbortSignal,
  exchange?: { readonly sent: Sent; readonly status?: number | undefined },
): UpstreamError {
  const known = cause instanceof UpstreamError ? cause : undefined;
  const sent = exchange?.sent ?? known?.sent;
  const details = { sent, status: known?.status ?? exchange?.status };
  if (signal.aborted) {
    const hasClient = signal.reason !== 'client disconnected';
    const code = hasClient ? 'UPSTREAM_TIMEOUT' : 'CLIENT_DISCONNECTED';
    const fault = hasClient ? 'deadline' : 'client disconnected';
    return new UpstreamError(code, { ...details, fault });
  }
  if (known && known.sent === sent) return known;
  if (known) {
    return new UpstreamError(known.code, { ...known, message: known.message, ...details });
  }
  // This is a bug of the gateway. The name of the error is for the log.
  const fault = `unexpected ${cause instanceof Error ? cause.name : typeof cause}`;
  const code = sent === 'yes' ? 'UPSTREAM_INVALID_RESPONSE' : 'UPSTREAM_UNAVAILABLE';
  return new UpstreamError(code, { ...details, fault });
}

/** The codes of unknown outcomes that are recorded: the response to the write was lost. */
export const recordableCodes = [
  'UPSTREAM_FAILED',
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_UNAVAILABLE',
  'UPSTREAM_INVALID_RESPONSE',
] as const;

export type OutcomeUnknownCode =
  | (typeof recordableCodes)[number]
  /** Another request with the same idempotency key is still in flight. */
  | 'IN_PROGRESS'
  /** The first request with the same idempotency key ended without recording its outcome. */
  | 'ORPHANED';

/** The outcome of a write that may have been sent, and whose response is not known. It is the union member that shows this. */
export class OutcomeUnknown {
  readonly __typename = 'LedgerOutcomeUnknown';
  readonly code: OutcomeUnknownCode;
  /** The id of the request in the gateway's log. For a replay, it is that of the first request. */
  readonly requestId: string;
  /** Why the outcome is unknown, as a sentence for clients. Undefined if the code says it. */
  readonly reason: string | undefined;
  /** The message for clients. */
  readonly message: string;

  constructor(code: OutcomeUnknownCode, requestId: string, reason?: string) {
    this.code = code;
    this.requestId = requestId;
    this.reason = reason;
    this.message = messageOf(code, reason);
  }
}

function messageOf(code: OutcomeUnknownCode, given: string | undefined): string {
  if (code === 'IN_PROGRESS') {
    return 'The first request with this idempotency key has no recorded outcome yet. Send the same request again to get it.';
  }
  const reason =
    code === 'ORPHANED'
      ? 'The first request with this idempotency key did not record its outcome.'
      : (given ?? failures[code].message);
  return `${reason} The operation may or may not have taken effect. The gateway did not repeat it.`;
}

/** The codes of errors after which the write certainly had no effect, although it was sent: the service refused it. */
const refusals: UpstreamErrorCode[] = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'UPSTREAM_BAD_REQUEST',
];

/** The outcome of a write that failed with this error, or null if the write certainly had no effect. */
export function unknownOutcome(
  { code, sent, message }: UpstreamError,
  requestId: string,
): OutcomeUnknown | null {
  if (sent === 'no' || refusals.includes(code)) return null;
  const known = recordableCodes.find((recordable) => recordable === code);
  // Otherwise there was no memory for a long response.
  return new OutcomeUnknown(known ?? 'UPSTREAM_INVALID_RESPONSE', requestId, message);
}
