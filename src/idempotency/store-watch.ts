import { createLineLimit } from '../telemetry/line-limit.ts';
import { type StoreLog, StoreUnavailable, type UnavailableReason } from './store.ts';

/** A store that failed works again when nothing has failed for this time, in milliseconds. */
const CALM_MS = 10_000;
/** A caller that has used up its share is logged once in this time, in milliseconds. */
const SHARE_LOG_MS = 60_000;

/** What concerns one caller: the store itself works. */
const shares: Partial<Record<UnavailableReason, string>> = {
  share: 'a caller holds its share of the idempotency store',
  busy: 'a caller has too many exchanges with the idempotency store',
};

/** Failures at the start and the end of the process, and after a loss, which has a line of its own. */
const expected = new Set<UnavailableReason>(['connecting', 'closed', 'quarantine']);

export type StoreWatch = {
  /** Passes on the result of a use of the store, on behalf of a caller or of the gateway itself. */
  watch<Result>(use: Promise<Result>, caller?: string): Promise<Result>;
  /** Whether the store has failed a moment ago, for whatever is not the fault of one caller. */
  isFailing(): boolean;
};

/** Logs when the store fails, with each reason once, and when it works again. */
export function createStoreWatch(log: StoreLog): StoreWatch {
  /** What was logged since the store failed. Empty while it works. */
  const reasons = new Set<string>();
  let failedAt = -Infinity;
  const mayLogShare = createLineLimit(1, SHARE_LOG_MS);

  function note({ reason, message }: StoreUnavailable, caller?: string): void {
    const line = shares[reason];
    if (line !== undefined) {
      if (mayLogShare()) log.warn({ caller }, line);
    } else if (!expected.has(reason)) {
      failedAt = performance.now();
      if (!reasons.has(reason)) log.error({ reason }, message);
      reasons.add(reason);
    }
  }

  const isFailing = () => performance.now() <= failedAt + CALM_MS;

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

  return { watch, isFailing };
}
