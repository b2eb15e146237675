import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamError } from '../upstream-error.ts';

/** The capacity of the token bucket. As in gRPC's retry throttling, retries stop when half of the tokens are used up. */
const MAX_TOKENS = 20;

/** Limits retries while the service fails, by a token bucket as in gRPC (proposal A6, retry throttling). */
export class RetryBudget {
  #tokens = MAX_TOKENS;

  recordSuccess(): void {
    this.#tokens = Math.min(MAX_TOKENS, this.#tokens + 0.1);
  }

  /** Takes one token: retries are at most a tenth of the successes. Returns whether the attempt may be retried. */
  recordFailure(): boolean {
    this.#tokens = Math.max(0, this.#tokens - 1);
    return this.#tokens > MAX_TOKENS / 2;
  }
}

type RetryOptions = {
  /** The most attempts after the first one. */
  retries: number;
  /** In the time of `performance.now()`. No retry starts after it. */
  deadline: number;
  signal: AbortSignal;
  budget: RetryBudget;
  onRetry(): void;
};

/** Runs an attempt, and again after a transient failure, with exponential backoff and jitter. The number of the first one is 0. */
export async function withRetries<Result>(
  { retries, deadline, signal, budget, onRetry }: RetryOptions,
  attempt: (retry: number) => Promise<Result>,
): Promise<Result> {
  for (let retry = 0; ; retry++) {
    try {
      const result = await attempt(retry);
      budget.recordSuccess();
      return result;
    } catch (error) {
      if (!(error instanceof UpstreamError) || !error.transient) throw error;
      const isAllowed = budget.recordFailure();
      const backoffMs = Math.random() * 100 * 2 ** (retry + 1);
      const delayMs = Math.max(error.retryAfterMs ?? 0, backoffMs);
      const isInTime = performance.now() + delayMs < deadline;
      if (retry >= retries || !isInTime || !isAllowed) throw error;
      onRetry();
      await sleep(delayMs, undefined, { signal });
    }
  }
}
