import { type AtMostOnce, KeyRejected, StoreUnavailable } from '@ledger-gateway/at-most-once';
import { SpanKind } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { RequestScope } from '../request-scope.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { fail, startSpan } from '../telemetry/tracing.ts';
import { loggedIds } from '../upstream/identifiers.ts';
import type { WriteOperation, WriteRequest } from '../upstream/operations.ts';
import { recordableCodes } from '../upstream/upstream-error.ts';
import { idempotencyError } from './idempotency-error.ts';

/** The results of writes with an idempotency key, as labels of a metric. */
const idempotencyResults = [
  'claimed',
  'replayed',
  'joined',
  'reused',
  'settled',
  'orphaned',
  'unavailable',
] as const;

/** The databases of the kinds of stores, with the names of OpenTelemetry's conventions. */
const databases: Record<string, string> = {
  file: 'sqlite',
  redis: 'redis',
  rediss: 'redis',
  postgres: 'postgresql',
  postgresql: 'postgresql',
};

type LogScope = Pick<RequestScope, 'requestId' | 'caller'>;

const lineOf = ({ requestId, caller }: LogScope, claim?: string) => ({
  requestId,
  caller: caller.hash,
  claim,
});

export type IdempotencyMetrics = ReturnType<typeof createIdempotencyMetrics>;

/** The metrics of keys, of uses of their store, and of unknown outcomes. `kind` is the kind of the store. */
export function createIdempotencyMetrics(
  metrics: Metrics,
  kind: string,
  writes: readonly WriteOperation[],
  log: Pick<Logger, 'warn'>,
) {
  const system = databases[kind];
  const attributes = { 'ledger.store': kind, ...(system && { 'db.system.name': system }) };
  const options = { kind: SpanKind.CLIENT, attributes };
  const claimsHelp = 'Writes with an idempotency key, by result';
  const claims = metrics.counter('idempotency_total', claimsHelp, 'result');
  for (const result of idempotencyResults) claims.inc({ result }, 0);
  const unknownHelp = 'Writes whose outcome became unknown, without replays and repeats';
  const unknown = metrics.counter('unknown_outcomes_total', unknownHelp, 'operation', 'outcome');
  const labels = new Map(writes.map(({ name, graphql }) => [name, graphql]));
  for (const operation of labels.values()) {
    for (const outcome of [...recordableCodes, 'ORPHANED']) unknown.inc({ operation, outcome }, 0);
  }
  const latency = metrics.histogram(
    'idempotency_store_duration_seconds',
    'Uses of the store of idempotency keys, by operation',
    ['operation'],
    [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5],
  );
  let isKeylessLogged = false;
  return {
    count: (result: (typeof idempotencyResults)[number]) => claims.inc({ result }),
    /** Logs the first write that arrives without a key. Something on the way may remove keys, which a client does not see. */
    withoutKey({ requestId }: LogScope, isRejected: boolean) {
      const effect = isRejected ? 'It was not sent.' : 'A repeat is executed again.';
      const hint = `${effect} If the client sends a key, a proxy or router removes it: let it forward the header Idempotency-Key.`;
      if (!isKeylessLogged) log.warn({ requestId, hint }, 'write without idempotency key');
      isKeylessLogged = true;
    },
    /** Counts and logs, once, a write whose outcome has become unknown. Without the request, the line has no identifiers. */
    unknownOutcome(
      { operation, code, claim }: { operation: string; code: string; claim: string | undefined },
      scope: LogScope,
      request?: Pick<WriteRequest, 'identifiers'>,
    ) {
      unknown.inc({ operation: labels.get(operation) ?? operation, outcome: code });
      const ids = request && loggedIds(request);
      log.warn({ ...lineOf(scope, claim), operation, code, ...ids }, 'outcome unknown');
    },
    /** Counts the rejection of a write or a settlement, and logs a reused key. Returns the error for the client. */
    rejected(error: unknown, scope: LogScope, claim: string): unknown {
      if (error instanceof StoreUnavailable) claims.inc({ result: 'unavailable' });
      else if (error instanceof KeyRejected) {
        const result = error.reason === 'settled' ? 'settled' : 'reused';
        claims.inc({ result });
        if (result === 'reused') log.warn(lineOf(scope, claim), 'idempotency key reused');
      } else return error;
      return idempotencyError(error);
    },
    /** Measures one use of the store, in a span, until the function that it returns is called, with an error if the use failed. */
    started(operation: string): (error?: unknown) => void {
      const span = startSpan(`idempotency ${operation}`, options);
      const start = performance.now();
      return (error) => {
        latency.observe({ operation }, (performance.now() - start) / 1000);
        const reason = error instanceof StoreUnavailable ? error.reason : 'failed';
        if (error !== undefined && !(error instanceof KeyRejected)) fail(span, reason);
        span.end();
      };
    },
  };
}

/** How full the store is, and whether it can be used. */
export function measureStore(
  metrics: Metrics,
  kind: string,
  store: Pick<AtMostOnce, 'usage' | 'isUp'>,
): void {
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge(`idempotency_${name}`, help, read, { store: kind });
  const used = (value: keyof NonNullable<AtMostOnce['usage']>) => () => store.usage?.[value] ?? NaN;
  gauge('keys', 'Keys in the store', used('keys'));
  gauge('keys_limit', 'The most keys that the store takes', used('maxKeys'));
  gauge('bytes', 'Bytes in the store', used('bytes'));
  gauge('bytes_limit', 'The most bytes that the store takes', used('maxBytes'));
  const upHelp =
    'Whether the store of idempotency keys takes claims: 0 until nothing has failed for ten seconds';
  gauge('store_up', upHelp, () => Number(store.isUp));
}
