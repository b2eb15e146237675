import type { FieldResult } from '../request-state.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Operation } from '../upstream/operations.ts';

export type FieldObserver = (field: FieldResult) => void;

/** Registers the metric of resolved root fields, and returns the function that counts one. */
export function createFieldObserver(
  metrics: Metrics,
  operations: readonly Operation[],
): FieldObserver {
  const help = 'Root fields resolved, by field and by union member or error code';
  const fields = metrics.counter('operations_total', help, 'operation', 'outcome');
  for (const { effect, graphql: operation } of operations) {
    fields.inc({ operation, outcome: 'INTERNAL_SERVER_ERROR' }, 0);
    if (effect === 'write') fields.inc({ operation, outcome: 'LedgerOutcomeUnknown' }, 0);
  }
  return ({ field, result }) => fields.inc({ operation: field, outcome: result });
}
