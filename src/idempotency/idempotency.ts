import type { Logger } from 'pino';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Calls } from '../upstream/call.ts';
import { Claims } from './claims.ts';
import { Completeness } from './completeness.ts';
import { createStore } from './create-store.ts';
import { createIdempotencyMetrics } from './idempotency-metrics.ts';
import { IdempotentCalls } from './idempotent-call.ts';
import { OpenWrites } from './open-writes.ts';
import { createSettle, type Settle } from './settle.ts';
import { createStoreWatch } from './store-watch.ts';

type Options = {
  /** The setting IDEMPOTENCY_STORE. */
  store: string;
  retentionMs: number;
  quarantineMs: number;
  maxKeys: number;
  /** What a `memory` store may take, in bytes. */
  memoryBytes: number;
  maxWritesPerKey: number;
  /** Whether a write without a key is rejected. */
  isRequired: boolean;
  /** The timeout of a call, and of a repeat that waits for one. */
  timeoutMs: number;
  /** How long closing may take, in milliseconds. */
  shutdownTimeoutMs: number;
  calls: Calls;
  metrics: Metrics;
  log: Logger;
};

export type Idempotency = {
  /** The calls, with idempotency keys for writes. */
  calls: Calls;
  settle: Settle;
  /** Updates the store with what it does not have yet, and closes it. */
  close(): Promise<void>;
};

/** Opens the store and connects the parts. @throws what `createStore` throws */
export async function createIdempotency(options: Options): Promise<Idempotency> {
  const { log } = options;
  const store = await createStore(options.store, options);
  const storeWatch = createStoreWatch(log);
  const completeness = new Completeness({ ...options, store, ...storeWatch });
  const openWrites = new OpenWrites(log, options.shutdownTimeoutMs);
  const [kind = ''] = options.store.split(':');
  const parts = {
    ...options,
    claims: new Claims(store, completeness, options.maxWritesPerKey),
    openWrites,
    metrics: createIdempotencyMetrics(options.metrics, store, kind, log, storeWatch),
  };
  return {
    calls: new IdempotentCalls(parts),
    settle: createSettle(parts),
    async close() {
      completeness.close();
      await openWrites.close();
      await store.close();
    },
  };
}
