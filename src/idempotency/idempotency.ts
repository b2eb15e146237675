import type { Logger } from 'pino';
import type { Metrics } from '../telemetry/metrics.ts';
import { Claims } from './claims.ts';
import { Completeness } from './completeness.ts';
import { createIdempotencyMetrics } from './idempotency-metrics.ts';
import { type IdempotencyParts, IdempotentCalls } from './idempotent-call.ts';
import { OpenWrites } from './open-writes.ts';
import { createSettle } from './settle.ts';
import { createStore } from './stores/create-store.ts';
import { createStoreWatch } from './stores/store-watch.ts';

type Options = Pick<IdempotencyParts, 'calls' | 'isRequired' | 'timeoutMs'> & {
  /** The setting IDEMPOTENCY_STORE. */
  store: string;
  retentionMs: number;
  quarantineMs: number;
  maxKeys: number;
  /** What a `memory` store may take, in bytes. */
  memoryBytes: number;
  maxWritesPerKey: number;
  /** How long closing may take, in milliseconds. */
  shutdownTimeoutMs: number;
  metrics: Metrics;
  log: Logger;
};

/**
 * Opens the store, and adds idempotency keys to calls. `settle` answers for a key.
 *
 * @throws what `createStore` throws
 */
export async function createIdempotency(options: Options) {
  const { log } = options;
  const store = await createStore(options.store, options);
  const storeWatch = createStoreWatch(log);
  const completeness = new Completeness({ ...options, store, ...storeWatch });
  const openWrites = new OpenWrites(log, options.shutdownTimeoutMs);
  const [kind = ''] = options.store.split(':');
  const parts = {
    ...options,
    claims: new Claims(store, completeness, options.maxWritesPerKey, storeWatch.isFailing),
    openWrites,
    metrics: createIdempotencyMetrics(options.metrics, store, kind, log, storeWatch),
  };
  return {
    calls: new IdempotentCalls(parts),
    settle: createSettle(parts),
    /** Updates the store with what it does not have yet, and closes it. */
    async close() {
      completeness.close();
      await openWrites.close();
      await store.close();
    },
  };
}
