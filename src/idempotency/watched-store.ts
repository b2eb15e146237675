import {
  type IdempotencyStore,
  type StoreLog,
  StoreUnavailable,
  type UnavailableReason,
} from './store.ts';

/** A store that failed works again when nothing failed for this time, in milliseconds. */
const CALM_MS = 1000;
/** Callers without room are logged once in this time, in milliseconds. */
const SHARE_LOG_MS = 60_000;

/** Failures at the start and the end of the process. */
const expected = new Set<UnavailableReason>(['connecting', 'closed']);

/** Each use includes those before it: a store that takes claims also takes other changes and can be read. */
const uses = ['read', 'change', 'claim'] as const;

/** Logs when a store fails, with each reason once, and when it works again. */
export function watchStore(store: IdempotencyStore, log: StoreLog): IdempotencyStore {
  /** What was logged since the store failed. Empty while it works. */
  const reasons = new Set<string>();
  let failedUse = 0;
  let failedAt = -Infinity;
  let shareLoggedAt = -Infinity;

  async function watch<Result>(
    use: (typeof uses)[number],
    work: Promise<Result>,
    caller: string | null = null,
  ): Promise<Result> {
    const startedAt = performance.now();
    const level = uses.indexOf(use);
    try {
      const result = await work;
      if (reasons.size > 0 && level >= failedUse && startedAt > failedAt + CALM_MS) {
        reasons.clear();
        failedUse = 0;
        log.info({}, 'idempotency store is available again');
      }
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        if (error.reason === 'share') noteShare(caller);
        else if (!expected.has(error.reason)) noteFailure(error, level);
      }
      throw error;
    }
  }

  function noteFailure({ reason, message }: StoreUnavailable, level: number): void {
    failedAt = performance.now();
    failedUse = Math.max(failedUse, level);
    if (reasons.has(reason)) return;
    reasons.add(reason);
    log.error({ reason }, message);
  }

  function noteShare(caller: string | null): void {
    if (performance.now() < shareLoggedAt + SHARE_LOG_MS) return;
    shareLoggedAt = performance.now();
    log.warn({ caller }, 'a caller holds its share of the idempotency store');
  }

  return {
    read: (key) => watch('read', store.read(key)),
    swap: (change) => watch(change.isClaim ? 'claim' : 'change', store.swap(change), change.caller),
    isContinuation: (writtenOn, serverId) => store.isContinuation(writtenOn, serverId),
    exclusiveSince: store.exclusiveSince,
    get usage() {
      return store.usage;
    },
    close: () => store.close(),
  };
}
