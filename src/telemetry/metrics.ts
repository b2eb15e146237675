import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { VerificationResult } from '../auth/authenticate.ts';
import { type RefusalReason, refusalReasons } from '../errors/gateway-error.ts';
import type { CallObserver } from '../upstream/attempt.ts';
import { operations } from '../upstream/operations.ts';
import type { LogOutput } from './log-output.ts';
import type { FieldOutcome } from './request-record.ts';

/** The metrics of the gateway. Their labels come from the code, never from a client. */
export type Metrics = {
  /** The response to `GET /metrics`, in Prometheus text format. */
  text(): Promise<string>;
  contentType: string;
  calls: CallObserver;
  /** Where a part registers metrics of its own. */
  registry: Registry;
  /** A root field was resolved to a union member or an error code. */
  resolved(field: string, outcome: string): void;
  /** A token was checked. */
  authenticated(result: VerificationResult): void;
  /** A request ended. */
  responded(request: RespondedRequest): void;
  /** A request was rejected because of overload. */
  shed(): void;
  /** Reads these values at each scrape. */
  watchCalls(calls: CallState): void;
  watchReadiness(isReady: () => boolean): void;
};

/** A request of a client, when its response has been sent or its client has disconnected. */
export type RespondedRequest = {
  path: string | undefined;
  status: number;
  disconnected: boolean;
  errorCodes: readonly string[];
  seconds: number;
  fields: ReadonlyMap<string, FieldOutcome>;
  refusal?: RefusalReason;
};

type DroppedLines = Pick<LogOutput, 'dropped'>;

type CallState = {
  readonly circuitState: keyof typeof circuitStates;
  readonly inFlight: number;
  readonly queued: number;
};

/** Upper bounds, in seconds. The last is the default deadline of an operation. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const circuitStates = { closed: 0, 'half-open': 1, open: 2 } as const;

export function createMetrics(
  build: { version: string; commit: string },
  log: DroppedLines,
): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counters = createCounters(registry);
  const createGauge = gaugesIn(registry);
  new Gauge({
    name: 'ledger_gateway_build_info',
    help: 'Always 1, with the version and the commit of the running gateway',
    labelNames: ['version', 'commit'],
    registers: [registry],
  }).set(build, 1);
  countDroppedLines(registry, log);

  // A counter without an initial value shows no increase at its first step, and alerts would miss it.
  for (const { effect, graphql: operation } of Object.values(operations)) {
    counters.fields.inc({ operation, outcome: 'INTERNAL_SERVER_ERROR' }, 0);
    if (effect === 'write') counters.fields.inc({ operation, outcome: 'LedgerOutcomeUnknown' }, 0);
  }
  counters.requests.inc({ status: 500 }, 0);
  counters.tokens.inc({ outcome: 'unavailable' }, 0);
  for (const reason of refusalReasons) counters.refusals.inc({ reason }, 0);

  return {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    calls: {
      attempted: (operation, outcome, seconds) =>
        counters.attempts.observe({ operation, outcome }, seconds),
      retried: (operation) => counters.retries.inc({ operation }),
      shared: (operation) => counters.shared.inc({ operation }),
    },
    registry,
    resolved: (operation, outcome) => counters.fields.inc({ operation, outcome }),
    authenticated: (outcome) => counters.tokens.inc({ outcome }),
    responded({ path, status, disconnected, errorCodes, seconds, fields, refusal }) {
      counters.requests.inc({ status });
      if (refusal) counters.refusals.inc({ reason: refusal });
      if (path !== '/graphql') return;
      for (const field of fields.values()) counters.durations.observe(field, seconds);
      if (fields.size > 0) return;
      const outcome = disconnected ? 'CLIENT_DISCONNECTED' : (errorCodes[0] ?? 'ok');
      counters.durations.observe({ operation: 'none', outcome }, seconds);
    },
    shed: () => counters.shed.inc(),
    watchCalls: (calls) => watchCalls(createGauge, calls),
    watchReadiness: (isReady) =>
      createGauge('ledger_gateway_ready', 'Whether /readyz responds with 200', () =>
        Number(isReady()),
      ),
  };
}

function createCounters(registry: Registry) {
  const registers = [registry];
  return {
    requests: new Counter({
      name: 'ledger_gateway_http_requests_total',
      help: 'HTTP responses, by status',
      labelNames: ['status'],
      registers,
    }),
    durations: new Histogram({
      name: 'ledger_gateway_request_duration_seconds',
      help: 'GraphQL requests as clients see them, by root field and outcome',
      labelNames: ['operation', 'outcome'],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    shed: new Counter({
      name: 'ledger_gateway_requests_shed_total',
      help: 'Requests rejected because the process was overloaded',
      registers,
    }),
    fields: new Counter({
      name: 'ledger_gateway_operations_total',
      help: 'Root fields resolved, by field and by union member or error code',
      labelNames: ['operation', 'outcome'],
      registers,
    }),
    attempts: new Histogram({
      name: 'ledger_gateway_call_duration_seconds',
      help: 'Attempts at calls to the service, by operation and outcome',
      labelNames: ['operation', 'outcome'],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    retries: new Counter({
      name: 'ledger_gateway_call_retries_total',
      help: 'Retries of reads',
      labelNames: ['operation'],
      registers,
    }),
    shared: new Counter({
      name: 'ledger_gateway_calls_shared_total',
      help: 'Reads that shared an equal call in flight',
      labelNames: ['operation'],
      registers,
    }),
    tokens: new Counter({
      name: 'ledger_gateway_token_verifications_total',
      help: 'Tokens checked: verified, remembered from the cache, refused, or keys unavailable',
      labelNames: ['outcome'],
      registers,
    }),
    refusals: new Counter({
      name: 'ledger_gateway_requests_refused_total',
      help: 'Requests without a valid token, by reason',
      labelNames: ['reason'],
      registers,
    }),
  };
}

type CreateGauge = (name: string, help: string, read: () => number) => void;

function gaugesIn(registry: Registry): CreateGauge {
  return (name, help, read) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
}

function watchCalls(gauge: CreateGauge, calls: CallState): void {
  gauge(
    'ledger_gateway_circuit_state',
    'The circuit breaker: 0 closed, 1 half-open, 2 open',
    () => circuitStates[calls.circuitState],
  );
  gauge('ledger_gateway_calls_in_flight', 'Calls to the service in flight', () => calls.inFlight);
  gauge('ledger_gateway_calls_queued', 'Calls waiting for a place', () => calls.queued);
}

function countDroppedLines(registry: Registry, log: DroppedLines): void {
  new Counter({
    name: 'ledger_gateway_log_lines_dropped_total',
    help: 'Log lines dropped because standard output did not accept them',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(log.dropped);
    },
  });
}
