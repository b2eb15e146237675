import { Claims, Completeness, createStore, createStoreWatch } from '@ledger-gateway/at-most-once';
import type { Logger } from 'pino';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Operation } from '../upstream/operations.ts';
import { createIdempotencyMetrics } from './idempotency-metrics.ts';
import { type IdempotencyParts, IdempotentCalls } from './idempotent-call.ts';
import { createKeyLimiter } from './key-limiter.ts';
import { OpenWrites } from './open-writes.ts';
import { createOutcomeReader } from './recorded-outcome.ts';
import { createSettle } from './settle.ts';

type Options = Pick<IdempotencyParts, 'calls' | 'timeoutMs'> & {
  settings: Pick<IdempotencyParts, 'isRequired'> & {
    /** The store, in the form of IDEMPOTENCY_STORE. */
    store: string;
    retentionMs: number;
    quarantineMs: number;
    maxKeys: number;
  };
  operations: readonly Operation[];
  /** How many bytes a `memory` store may take. */
  memoryBytes: number;
  maxWritesPerKey: number;
  /** How long closing may take, in milliseconds. */
  shutdownTimeoutMs: number;
  metrics: Metrics;
  log: Logger;
};

/**
 * Opens the store, and adds idempotency keys to calls. `settle` closes a key and returns its outcomes.
 *
 * @throws what `createStore` throws
 */
export async function createIdempotency(options: Options) {
  const { settings, calls, timeoutMs, memoryBytes, log } = options;
  const { retentionMs, quarantineMs, maxKeys, isRequired } = settings;
  const store = await createStore(settings.store, { retentionMs, maxKeys, memoryBytes });
  const storeWatch = createStoreWatch(log);
  const { watch, isFailing } = storeWatch;
  const completeness = new Completeness({ store, retentionMs, quarantineMs, log, watch });
  const [kind = ''] = settings.store.split(':');
  const writes = options.operations.filter((one) => one.effect === 'write');
  const metrics = createIdempotencyMetrics(options.metrics, store, kind, writes, log, storeWatch);
  const { maxWritesPerKey } = options;
  const claims = new Claims(store, completeness, maxWritesPerKey, isFailing, createKeyLimiter());
  const openWrites = new OpenWrites(log, options.shutdownTimeoutMs);
  const readOutcome = createOutcomeReader(writes);
  const parts = { claims, openWrites, readOutcome, metrics, timeoutMs };
  return {
    calls: new IdempotentCalls({ calls, isRequired, ...parts }),
    settle: createSettle(parts),
    /** Updates the store with what it does not have yet, and closes it. */
    async close() {
      completeness.close();
      await openWrites.close();
      await store.close();
    },
  };
}
