import {
  type Intent,
  type Limiter,
  openAtMostOnce,
  StoreUnavailable,
} from '@ledger-gateway/at-most-once';
import type { Logger } from 'pino';
import { Gate, rejectionWith } from '../admission/gate.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Operation } from '../upstream/operations.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import { createIdempotencyMetrics, measureStore } from './idempotency-metrics.ts';
import { type IdempotencyParts, IdempotentCalls } from './idempotent-call.ts';
import { createOutcomeOf } from './recorded-outcome.ts';
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

/** Opens the store, and adds idempotency keys to calls. Throws what `openAtMostOnce` throws. */
export async function createIdempotency(options: Options) {
  const { settings, calls, timeoutMs, log } = options;
  const { store, isRequired, ...limits } = settings;
  const [kind = ''] = store.split(':');
  const writes = options.operations.filter((one) => one.effect === 'write');
  const metrics = createIdempotencyMetrics(options.metrics, kind, writes, log);
  const atMostOnce = await openAtMostOnce(store, {
    ...limits,
    memoryBytes: options.memoryBytes,
    maxWritesPerKey: options.maxWritesPerKey,
    timeoutMs,
    closeMs: options.shutdownTimeoutMs,
    log,
    limiter: createKeyLimiter(),
    // After any other error, the outcome is unknown.
    isWithoutEffect: (error) => error instanceof UpstreamError,
    observe: (use, running) => metrics.timed(use, running),
  });
  measureStore(options.metrics, kind, atMostOnce);
  const parts = { atMostOnce, outcomeOf: createOutcomeOf(writes, metrics), metrics };
  return {
    calls: new IdempotentCalls({ calls, isRequired, timeoutMs, ...parts }),
    settle: createSettle(parts),
    /** Updates the store with what it does not have yet, and closes it. */
    close: () => atMostOnce.close(),
  };
}

/** Limits how many changes of keys are in progress, by caller: thousands of changes of one caller would delay those of others. */
export function createKeyLimiter(): Limiter {
  const gate = new Gate<Intent['caller']>({
    limit: 64, // More would only wait for each other in the store.
    maxWaiting: Infinity,
    maxWaitMs: 5000,
    rejection: rejectionWith(new StoreUnavailable('busy')),
  });
  return {
    enter: (caller, isUrgent) => gate.enter(caller, { isUrgent }),
    leave: (caller) => gate.leave(caller),
  };
}
