import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallObserver, Calls } from './upstream/calls.ts';
import { operations } from './upstream/operations.ts';

/** What is counted of the gateway. Labels come from code, never from a caller. */
export type Metrics = {
  /** What `GET /metrics` answers: Prometheus text. */
  text(): Promise<string>;
  contentType: string;
  calls: CallObserver;
  /** A root field was resolved: by union member, or by error code. */
  resolved(field: string, outcome: string): void;
  /** A token was looked at. */
  authenticated(outcome: 'verified' | 'remembered' | 'refused' | 'unavailable'): void;
  /** A request was answered with an HTTP status. */
  answered(status: number): void;
  /** A request was turned away, because the process has more to do than it can. */
  shed(): void;
  /** Reads circuit, queue and calls in flight at each scrape. */
  watch(calls: Pick<Calls, 'circuit' | 'inFlight' | 'queued'>): void;
};

const circuitStates = { closed: 0, 'half-open': 1, open: 2 } as const;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const requests = new Counter({
    name: 'ledger_gateway_http_requests_total',
    help: 'HTTP requests answered, by status',
    labelNames: ['status'],
    registers,
  });
  const shed = new Counter({
    name: 'ledger_gateway_requests_shed_total',
    help: 'Requests turned away because the process had more to do than it could',
    registers,
  });
  const fields = new Counter({
    name: 'ledger_gateway_operations_total',
    help: 'Root fields resolved, by field and by union member or error code',
    labelNames: ['operation', 'outcome'],
    registers,
  });
  const calls = new Histogram({
    name: 'ledger_gateway_call_duration_seconds',
    help: 'Calls to the service, each attempt on its own, by operation and outcome',
    labelNames: ['operation', 'outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
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
    help: 'Reads that were answered by an equal call in flight',
    labelNames: ['operation'],
    registers,
  });
  const tokens = new Counter({
    name: 'ledger_gateway_token_verifications_total',
    help: 'Tokens looked at: verified, remembered from the cache, refused, or keys unavailable',
    labelNames: ['outcome'],
    registers,
  });

  // A counter that was never seen has no increase at its first step: these are alerted on.
  for (const { effect, graphql } of Object.values(operations)) {
    if (effect === 'write') fields.inc({ operation: graphql, outcome: 'LedgerOutcomeUnknown' }, 0);
  }

  return {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    calls: {
      attempted: (operation, outcome, seconds) => calls.observe({ operation, outcome }, seconds),
      retried: (operation) => retries.inc({ operation }),
      shared: (operation) => shared.inc({ operation }),
    },
    resolved: (operation, outcome) => fields.inc({ operation, outcome }),
    authenticated: (outcome) => tokens.inc({ outcome }),
    answered: (status) => requests.inc({ status }),
    shed: () => shed.inc(),
    watch(watched) {
      const gauge = (name: string, help: string, read: () => number) =>
        new Gauge({ name, help, registers, collect: gaugeOf(read) });
      gauge(
        'ledger_gateway_circuit_state',
        'The circuit: 0 closed, 1 half-open, 2 open',
        () => circuitStates[watched.circuit],
      );
      gauge(
        'ledger_gateway_calls_in_flight',
        'Calls to the service in flight',
        () => watched.inFlight,
      );
      gauge('ledger_gateway_calls_queued', 'Calls waiting for a place', () => watched.queued);
    },
  };
}

function gaugeOf(read: () => number) {
  return function (this: Gauge) {
    this.set(read());
  };
}
