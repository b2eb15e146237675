import { createLineLimit } from '../../../src/telemetry/line-limit.ts';
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
  const mayLogCaller = createLineLimit(1, 60_000);
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
    if (line && mayLogCaller()) log.warn({ caller }, line);
    if (line !== undefined) return;
    failedAt = performance.now();
    if (!reasons.has(reason)) log.error({ reason }, message);
    reasons.add(reason);
  }

  return { watch, isFailing };
}
