import { Counter, type Registry } from 'prom-client';
import { operations } from '../upstream/operations.ts';
import type { FieldObserver } from './context.ts';

/** Registers the metric of resolved root fields. */
export function createFieldObserver(registry: Registry): FieldObserver {
  const fields = new Counter({
    name: 'ledger_gateway_operations_total',
    help: 'Root fields resolved, by field and by union member or error code',
    labelNames: ['operation', 'outcome'],
    registers: [registry],
  });
  // A counter without an initial value shows no increase at its first step, and alerts would miss it.
  for (const { effect, graphql: operation } of Object.values(operations)) {
    fields.inc({ operation, outcome: 'INTERNAL_SERVER_ERROR' }, 0);
    if (effect === 'write') fields.inc({ operation, outcome: 'LedgerOutcomeUnknown' }, 0);
  }
  return (operation, outcome) => fields.inc({ operation, outcome });
}
