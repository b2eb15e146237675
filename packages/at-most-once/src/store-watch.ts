import { type StoreLog, StoreUnavailable } from './store.ts';

/** Not failures of the store: limits of one caller, startup and shutdown, and a loss or a new store, which have their own lines. */
const harmless: Record<string, string> = {
  share: 'a caller holds its share of the idempotency store',
  busy: 'a caller has too many exchanges with the idempotency store',
  ...{ connecting: '', closed: '', quarantine: '', new: '' },
};

export type StoreWatch = ReturnType<typeof createStoreWatch>;

/** Logs when the store fails, with each reason once, and when nothing has failed for ten seconds. */
export function createStoreWatch(log: StoreLog) {
  /** What was logged since the store failed. Empty while it works. */
  const reasons = new Set<string>();
  let failedAt = -Infinity;
  /** When a line about a caller was last logged. Anybody can cause such lines, so there is one a minute. */
  let callerLoggedAt = -Infinity;
  /** Whether the store has failed a moment ago. */
  const isFailing = () => performance.now() <= failedAt + 10_000;

  /** Passes on the result of a use of the store, on behalf of a caller or of the gateway itself. */
  async function watch<Result>(use: Promise<Result>, caller?: string): Promise<Result> {
    try {
      const result = await use;
      if (reasons.size > 0 && !isFailing()) {
        reasons.clear();
        log.info({}, 'idempotency store is available again');
      }
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) note(error, caller);
      throw error;
    }
  }

  function note({ reason, message }: StoreUnavailable, caller?: string): void {
    const line = harmless[reason];
    const now = performance.now();
    if (line && now > callerLoggedAt + 60_000) {
      callerLoggedAt = now;
      log.warn({ caller }, line);
    }
    if (line !== undefined) return;
    failedAt = performance.now();
    if (!reasons.has(reason)) log.error({ reason }, message);
    reasons.add(reason);
  }

  return { watch, isFailing };
}
