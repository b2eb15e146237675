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

  /** Notes that a use of the store has succeeded. */
  function succeeded(): void {
    if (reasons.size === 0 || isFailing()) return;
    reasons.clear();
    log.info({}, 'idempotency store is available again');
  }

  /** Notes that a use of the store has failed, on behalf of a caller or of the gateway itself. */
  function failed(error: unknown, caller?: string): void {
    if (!(error instanceof StoreUnavailable)) return;
    const { reason, message } = error;
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

  return { succeeded, failed, isFailing };
}
