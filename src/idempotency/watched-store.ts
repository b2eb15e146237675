import {
  type IdempotencyStore,
  type StoreLog,
  StoreUnavailable,
  type UnavailableReason,
} from './store.ts';

/** A store that failed works again when nothing has failed for this time, in milliseconds. */
const CALM_MS = 10_000;
/** Callers without room are logged once in this time, in milliseconds. */
const SHARE_LOG_MS = 60_000;

/** Failures at the start and the end of the process. */
const expected = new Set<UnavailableReason>(['connecting', 'closed']);

/** Logs when a store fails, with each reason once, and when it works again. */
export function watchStore(store: IdempotencyStore, log: StoreLog): IdempotencyStore {
  /** What was logged since the store failed. Empty while it works. */
  const reasons = new Set<string>();
  let failedAt = -Infinity;
  let shareLoggedAt = -Infinity;

  function note({ reason, message }: StoreUnavailable, caller: string | null): void {
    const now = performance.now();
    if (reason === 'share') {
      if (now < shareLoggedAt + SHARE_LOG_MS) return;
      shareLoggedAt = now;
      log.warn({ caller }, 'a caller holds its share of the idempotency store');
    } else if (!expected.has(reason)) {
      failedAt = now;
      if (!reasons.has(reason)) log.error({ reason }, message);
      reasons.add(reason);
    }
  }

  async function watch<Result>(work: Promise<Result>, caller: string | null): Promise<Result> {
    try {
      const result = await work;
      if (reasons.size > 0 && performance.now() > failedAt + CALM_MS) {
        reasons.clear();
        log.info({}, 'idempotency store is available again');
      }
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) note(error, caller);
      throw error;
    }
  }

  return {
    sizeOf: (key) => watch(store.sizeOf(key), null),
    read: (key) => watch(store.read(key), null),
    swap: (change) => watch(store.swap(change), change.caller),
    isContinuation: (writtenOn, serverId) => store.isContinuation(writtenOn, serverId),
    exclusiveSince: store.exclusiveSince,
    get usage() {
      return store.usage;
    },
    close: () => store.close(),
  };
}
