import {
  type Intent,
  type Limiter,
  openAtMostOnce,
  StoreUnavailable,
} from '@ledger-gateway/at-most-once';
import type { Logger } from 'pino';
import { Gate } from '../admission/gate.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Operation } from '../upstream/operations.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import { createIdempotencyMetrics, measureStore } from './idempotency-metrics.ts';
import { IdempotentCalls } from './idempotent-call.ts';

type Options = Pick<ConstructorParameters<typeof IdempotentCalls>[0], 'upstream' | 'isRequired'> &
  Omit<Parameters<typeof openAtMostOnce>[1], 'log' | 'limiter' | 'isWithoutEffect' | 'observe'> & {
    /** The store, in the form of IDEMPOTENCY_STORE. */
    store: string;
    operations: readonly Operation[];
    metrics: Metrics;
    log: Logger;
  };

/** Opens the store, and adds idempotency keys to calls. Throws what `openAtMostOnce` throws. */
export async function createIdempotency(options: Options): Promise<IdempotentCalls> {
  const { store, upstream, isRequired, operations: all, log, ...settings } = options;
  const [kind = ''] = store.split(':');
  const operations = all.filter((one) => one.effect === 'write');
  const metrics = createIdempotencyMetrics(options.metrics, kind, operations, log);
  const atMostOnce = await openAtMostOnce(store, {
    ...settings,
    log,
    limiter: createKeyLimiter(),
    // After any other error, the outcome is unknown.
    isWithoutEffect: (error) => error instanceof UpstreamError,
    observe: metrics.started,
  });
  measureStore(options.metrics, kind, atMostOnce);
  const { timeoutMs } = settings;
  return new IdempotentCalls({ upstream, isRequired, timeoutMs, atMostOnce, operations, metrics });
}

/** Limits how many changes of keys are in progress, by caller: thousands of changes of one caller would delay those of others. */
export function createKeyLimiter(): Limiter {
  return new Gate<Intent['caller']>({
    limit: 64, // More would only wait for each other in the store.
    maxWaiting: Infinity,
    maxWaitMs: 5000,
    rejection: new StoreUnavailable('busy'),
  });
}
