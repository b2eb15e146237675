import { GatewayError } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';
import { operations, type WriteName } from '../upstream/operations.ts';
import { recordableCodes } from '../upstream/upstream-error.ts';
import { storeUnavailable } from './idempotency-error.ts';
import { type IdempotencyStore, type StoreLog, StoreUnavailable, type Usage } from './store.ts';
import type { StoreWatch } from './store-watch.ts';

/** What became of a write with an idempotency key. */
export const idempotencyResults = [
  'claimed',
  'replayed',
  'joined',
  'reused',
  'settled',
  'orphaned',
  'unavailable',
] as const;

export type IdempotencyMetrics = ReturnType<typeof createIdempotencyMetrics>;

/** The metrics of keys and their store, and of unknown outcomes when they come about. `kind` is that of the store. */
export function createIdempotencyMetrics(
  metrics: Metrics,
  store: Pick<IdempotencyStore, 'usage'>,
  kind: string,
  log: StoreLog,
  { watch, isFailing }: StoreWatch,
) {
  const options = { attributes: { 'ledger.store': kind } };
  const claimsHelp = 'Writes with an idempotency key, by result';
  const claims = metrics.counter('idempotency_total', claimsHelp, 'result');
  for (const result of idempotencyResults) claims.inc({ result }, 0);
  const unknown = metrics.counter(
    'unknown_outcomes_total',
    'Writes whose outcome became unknown, without replays and repeats',
    'operation',
    'outcome',
  );
  for (const { effect, graphql: operation } of Object.values(operations)) {
    if (effect === 'read') continue;
    for (const outcome of [...recordableCodes, 'ORPHANED']) unknown.inc({ operation, outcome }, 0);
  }
  const latency = metrics.histogram(
    'idempotency_store_duration_seconds',
    'Uses of the store of idempotency keys, by operation',
    ['operation'],
    [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5],
  );
  const gauge = (name: string, help: string, value: keyof Usage) =>
    metrics.gauge(`idempotency_${name}`, help, () => store.usage?.[value] ?? NaN, { store: kind });
  gauge('keys', 'Keys in the store', 'keys');
  gauge('keys_limit', 'The most keys that the store takes', 'maxKeys');
  gauge('bytes', 'Bytes in the store', 'bytes');
  gauge('bytes_limit', 'The most bytes that the store takes', 'maxBytes');
  metrics.gauge(
    'idempotency_store_up',
    'Whether the store of idempotency keys takes claims: 0 until nothing has failed for ten seconds',
    () => Number(store.usage !== undefined && !isFailing()),
    { store: kind },
  );
  return {
    count: (result: (typeof idempotencyResults)[number]) => claims.inc({ result }),
    /** Counts and logs a write whose outcome became unknown: once, and not its repeats. */
    unknownOutcome(
      operation: WriteName,
      code: string,
      { requestId, caller }: Pick<RequestScope, 'requestId' | 'caller'>,
      claim: string | undefined,
    ) {
      unknown.inc({ operation: operations[operation].graphql, outcome: code });
      log.warn({ requestId, operation, caller: caller.hash, claim, code }, 'outcome unknown');
    },
    /** Counts what rejected a write or a settlement. Returns the error for the client. */
    rejected(error: unknown): unknown {
      if (error instanceof GatewayError && error.code.startsWith('IDEMPOTENCY_KEY_')) {
        claims.inc({ result: error.code === 'IDEMPOTENCY_KEY_SETTLED' ? 'settled' : 'reused' });
      }
      if (!(error instanceof StoreUnavailable)) return error;
      claims.inc({ result: 'unavailable' });
      return storeUnavailable(error.reason === 'quarantine');
    },
    /** Measures and watches a use of the store on behalf of a caller, and gives it a span. */
    timed<Result>(operation: string, caller: string, use: Promise<Result>): Promise<Result> {
      return inSpan(`idempotency ${operation}`, options, async (span) => {
        const end = latency.startTimer({ operation });
        try {
          return await watch(use, caller);
        } catch (error) {
          const reason = error instanceof StoreUnavailable ? error.reason : 'failed';
          if (!(error instanceof GatewayError)) fail(span, reason);
          throw error;
        } finally {
          end();
        }
      });
    },
  };
}
