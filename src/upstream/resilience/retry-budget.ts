/** As in gRPC's retry throttling: retries stop when half of the tokens are used up. */
const MAX_TOKENS = 20;
/** What a success adds; a failure takes one token. Retries are thus at most a tenth of the successes. */
const TOKEN_RATIO = 0.1;

/**
 * Limits retries while the service fails, so that they do not multiply its load. A token bucket as in
 * gRPC (proposal A6, retry throttling).
 */
export class RetryBudget {
  #tokens = MAX_TOKENS;

  recordSuccess(): void {
    this.#tokens = Math.min(MAX_TOKENS, this.#tokens + TOKEN_RATIO);
  }

  recordFailure(): void {
    this.#tokens = Math.max(0, this.#tokens - 1);
  }

  get allowsRetry(): boolean {
    return this.#tokens > MAX_TOKENS / 2;
  }
}
