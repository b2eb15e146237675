/** The share of the calls of a window that may be retries, and how many retries any window has. */
const SHARE = 0.1;
const RESERVE = 10;
/** The window slides by the second. */
const WINDOW_S = 10;

/**
 * A budget for retries: over a sliding window, at most a tenth of the calls (or ten of them, so that
 * little traffic has retries too), so that an outage is not multiplied by those who suffer from it.
 */
export class RetryBudget {
  readonly #buckets = Array.from({ length: WINDOW_S }, () => ({ second: 0, calls: 0, retries: 0 }));

  /** Counts a call. */
  recordCall(): void {
    this.#current().calls += 1;
  }

  /** Takes a retry out of the budget, if there is one left. */
  takeRetry(): boolean {
    const current = this.#current();
    let calls = 0;
    let retries = 0;
    for (const bucket of this.#buckets) {
      if (bucket.second <= current.second - WINDOW_S) continue;
      calls += bucket.calls;
      retries += bucket.retries;
    }
    if (retries + 1 > Math.max(RESERVE, calls * SHARE)) return false;
    current.retries += 1;
    return true;
  }

  #current() {
    const second = Math.floor(performance.now() / 1000);
    const index = second % WINDOW_S;
    const bucket = this.#buckets[index];
    if (bucket?.second === second) return bucket;
    const fresh = { second, calls: 0, retries: 0 };
    this.#buckets[index] = fresh;
    return fresh;
  }
}
