import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamError } from '../upstream-error.ts';
import type { RetryBudget } from './retry-budget.ts';

/** The mean delay before the first retry, in milliseconds; it doubles with each retry. */
const RETRY_BASE_MS = 100;

type RetryOptions = {
  /** The most attempts after the first. */
  retries: number;
  /** In the time of `performance.now()`. No retry starts after it. */
  deadline: number;
  signal: AbortSignal;
  budget: RetryBudget;
  onRetry(): void;
};

/**
 * Runs an attempt, and again after a transient failure, with exponential backoff and jitter. The attempt gets its number,
 * which is 0 for the first.
 */
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
      budget.recordFailure();
      const backoffMs = Math.random() * RETRY_BASE_MS * 2 ** (retry + 1);
      const delayMs = Math.max(error.retryAfterMs ?? 0, backoffMs);
      const isInTime = performance.now() + delayMs < deadline;
      if (retry >= retries || !isInTime || !budget.allowsRetry) throw error;
      onRetry();
      await sleep(delayMs, undefined, { signal });
    }
  }
}
