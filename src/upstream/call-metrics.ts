import { Counter, Histogram, type Registry } from 'prom-client';
import { DURATION_BUCKETS, registerGauge } from '../telemetry/registry.ts';
import type { OperationName } from './operations.ts';
import type { CircuitChange } from './resilience/circuit-breaker.ts';

const circuitStates = { closed: 0, 'half-open': 1, open: 2 } as const;

type CallState = {
  readonly circuitState: keyof typeof circuitStates;
  readonly inFlight: number;
  readonly queued: number;
};

/** Counts the events of calls. Operation names come from the table only. */
export type CallObserver = ReturnType<typeof createCallObserver>;

/** Registers the metrics of calls to the service. */
export function createCallObserver(registry: Registry) {
  const registers = [registry];
  const attempts = new Histogram({
    name: 'ledger_gateway_call_duration_seconds',
    help: 'Attempts at calls to the service, by operation and outcome',
    labelNames: ['operation', 'outcome'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const retries = new Counter({
    name: 'ledger_gateway_call_retries_total',
    help: 'Retries of reads',
    labelNames: ['operation'],
    registers,
  });
  const shared = new Counter({
    name: 'ledger_gateway_calls_shared_total',
    help: 'Reads that shared an equal call in flight',
    labelNames: ['operation'],
    registers,
  });
  const transitions = new Counter({
    name: 'ledger_gateway_circuit_transitions_total',
    help: 'How often the circuit breaker opened and closed',
    labelNames: ['to'],
    registers,
  });
  for (const to of ['open', 'closed']) transitions.inc({ to }, 0);
  return {
    circuitChanged: (to: CircuitChange) => transitions.inc({ to }),
    attempted: (operation: OperationName, outcome: string, seconds: number) =>
      attempts.observe({ operation, outcome }, seconds),
    retried: (operation: OperationName) => retries.inc({ operation }),
    shared: (operation: OperationName) => shared.inc({ operation }),
  };
}

/** Registers gauges of the state of all calls. */
export function watchCalls(registry: Registry, calls: CallState): void {
  const gauge = (name: string, help: string, read: () => number) =>
    registerGauge(registry, `ledger_gateway_${name}`, help, read);
  gauge(
    'circuit_state',
    'The circuit breaker: 0 closed, 1 half-open, 2 open',
    () => circuitStates[calls.circuitState],
  );
  gauge('calls_in_flight', 'Calls to the service in flight', () => calls.inFlight);
  gauge('calls_queued', 'Calls waiting for a place', () => calls.queued);
}
