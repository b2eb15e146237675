import { UpstreamError } from '../upstream-error.ts';

/** How often a read is tried again after connection faults, 502, 503 and 504. */
const RETRIES = 2;
/** The capacity of the token bucket. As in gRPC's retry throttling, retries stop when half of the tokens are used up. */
const MAX_TOKENS = 20;

/** Limits retries while the service fails, by a token bucket as in gRPC (proposal A6, retry throttling). */
export class RetryBudget {
  #tokens = MAX_TOKENS;

  recordSuccess(): void {
    this.#tokens = Math.min(MAX_TOKENS, this.#tokens + 0.1);
  }

  /**
   * How long a retry waits after an error, in milliseconds. Undefined if there must be none. The number of the first retry is 1. An
   * error that may not recur takes one token, so retries are at most a tenth of the successes.
   */
  delayOf(retry: number, error: unknown, deadline: number): number | undefined {
    if (!(error instanceof UpstreamError) || !error.transient) return undefined;
    this.#tokens = Math.max(0, this.#tokens - 1);
    const isAllowed = this.#tokens > MAX_TOKENS / 2;
    const backoffMs = Math.random() * 100 * 2 ** retry;
    const delayMs = Math.max(error.retryAfterMs ?? 0, backoffMs);
    const isInTime = performance.now() + delayMs < deadline;
    return retry <= RETRIES && isInTime && isAllowed ? delayMs : undefined;
  }
}
