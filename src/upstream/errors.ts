/** Why a call to the service failed. Code branches on these, never on a message. */
export type UpstreamErrorCode =
  /** The service answers 401 to a token that verified here. */
  | 'UNAUTHENTICATED'
  /** The service answers 403. */
  | 'FORBIDDEN'
  /** The service answers 400 or another 4xx. */
  | 'UPSTREAM_BAD_REQUEST'
  /** The service answers 5xx. */
  | 'UPSTREAM_FAILED'
  /** The deadline passed. */
  | 'UPSTREAM_TIMEOUT'
  /** No connection, or it broke before an answer began; or the call was not let out. */
  | 'UPSTREAM_UNAVAILABLE'
  /** The answer is not what the specification shows, was cut off, or is too large. */
  | 'UPSTREAM_INVALID_RESPONSE'
  /** The caller went away, and the read with it. Nobody is left to be told. */
  | 'CLIENT_GONE';

const messages: Record<UpstreamErrorCode, string> = {
  UNAUTHENTICATED: 'The service does not accept the token.',
  FORBIDDEN: 'The service does not permit this call.',
  UPSTREAM_BAD_REQUEST: 'The service refused the request.',
  UPSTREAM_FAILED: 'The service failed.',
  UPSTREAM_TIMEOUT: 'The service did not answer in time.',
  UPSTREAM_UNAVAILABLE: 'The service cannot be reached at the moment.',
  UPSTREAM_INVALID_RESPONSE: 'The service gave an answer that cannot be read.',
  CLIENT_GONE: 'The caller went away.',
};

/**
 * A call to the service that failed. It holds nothing of the request or the answer (a raw got error
 * carries the bearer token among its enumerable options), only what may be logged.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly code: UpstreamErrorCode;
  /** `none`: the service surely did nothing. `possible`: the request may have reached it. */
  readonly effect: 'none' | 'possible';
  /** What happened, for the log: an error code such as `ECONNRESET`, or a few words of ours. */
  readonly fault: string;
  /** The HTTP status, where there was one. */
  readonly status: number | undefined;
  /** A fault that may be gone at the next attempt: a connection fault, 502, 503 or 504. */
  readonly transient: boolean;
  /** How long the service asked to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: UpstreamErrorCode,
    details: {
      effect: 'none' | 'possible';
      fault: string;
      status?: number | undefined;
      transient?: boolean;
      retryAfterMs?: number | undefined;
    },
  ) {
    super(messages[code]);
    this.code = code;
    this.effect = details.effect;
    this.fault = details.fault;
    this.status = details.status;
    this.transient = details.transient ?? false;
    this.retryAfterMs = details.retryAfterMs;
  }

  /** Whether the very same call may be made again as it is, with a chance of success. */
  get retryable(): boolean {
    switch (this.code) {
      case 'UPSTREAM_FAILED':
      case 'UPSTREAM_TIMEOUT':
      case 'UPSTREAM_UNAVAILABLE':
        return true;
      case 'UPSTREAM_BAD_REQUEST':
        // 408 and 429 say that the request was fine and came at the wrong moment.
        return this.status === 408 || this.status === 429;
      default:
        return this.transient;
    }
  }
}

/** A call that was not let out: nothing was sent. */
export function refused(fault: string): UpstreamError {
  return new UpstreamError('UPSTREAM_UNAVAILABLE', { effect: 'none', fault });
}

/** The outcome of a write whose request may have left and whose answer is lost. */
export class OutcomeUnknown {
  /** The code that a read would have failed with. */
  readonly code: UpstreamErrorCode;
  /** One sentence for the caller. */
  readonly message: string;

  constructor(code: UpstreamErrorCode) {
    this.code = code;
    this.message = `${messages[code]} The call may or may not have taken effect, and was not sent again.`;
  }
}
