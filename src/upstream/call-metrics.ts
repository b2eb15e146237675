import type { Logger } from 'pino';
import type { Gate } from '../admission/gate.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Operation } from './operations.ts';
import type { ReadCache, ReadSource } from './read-cache.ts';
import type { CircuitBreaker } from './resilience/circuit-breaker.ts';
import type { ConnectionObserver } from './transport/connections.ts';

/** Counts the events of calls. The names of operations come only from their declarations. */
export type CallObserver = ReturnType<typeof createCallObserver>;

/** The label of the metrics of the service, and the field of its log lines. */
const labels = { service: 'ledger' };

/** Registers the metrics of calls. */
export function createCallObserver(metrics: Metrics) {
  const attempts = metrics.histogram(
    'call_duration_seconds',
    'Attempts at calls to the service, by operation and outcome',
    ['operation', 'outcome'],
  );
  const retries = metrics.counter('call_retries_total', 'Retries of reads', 'operation');
  const sharedHelp = 'Reads that shared an equal call in flight';
  const shared = metrics.counter('calls_shared_total', sharedHelp, 'operation');
  const keptHelp = 'Reads that got a list kept from an equal call before';
  const kept = metrics.counter('read_cache_hits_total', keptHelp, 'operation');
  const sentHelp = 'Reads that shared no equal call, neither in flight nor kept';
  const sent = metrics.counter('read_cache_misses_total', sentHelp, 'operation');
  const reads = { kept, joined: shared, sent };
  const cachedHelp = 'Responses to calls that a cache has sent in place of the service';
  const cached = metrics.counter('calls_cached_total', cachedHelp, 'operation');
  const help = 'How often the circuit breaker opened and closed';
  const transitions = metrics.counter('circuit_transitions_total', help, 'service', 'to');
  for (const to of ['open', 'closed']) transitions.inc({ ...labels, to }, 0);
  return {
    circuitChanged: (to: 'open' | 'closed') => transitions.inc({ ...labels, to }),
    attempted: ({ name: operation }: Operation, outcome: string, seconds: number) =>
      attempts.observe({ operation, outcome }, seconds),
    cached: ({ name: operation }: Operation) => cached.inc({ operation }),
    retried: ({ name: operation }: Operation) => retries.inc({ operation }),
    read: ({ name: operation }: Operation, source: ReadSource) => reads[source].inc({ operation }),
  };
}

/** Registers gauges of the parts that admit calls, and of the memory of kept lists. */
export function watchCalls(
  metrics: Metrics,
  { gate, circuit }: { readonly gate: Gate; readonly circuit: CircuitBreaker },
  cache: ReadCache,
): void {
  const stateHelp = 'The circuit breaker: 0 closed, 1 half-open, 2 open';
  const states = ['closed', 'half-open', 'open'];
  metrics.gauge('circuit_state', stateHelp, () => states.indexOf(circuit.state), labels);
  metrics.gauge('read_cache_bytes', 'Memory of kept lists', () => cache.borrowed);
  metrics.gauge('calls_in_flight', 'Calls to the service in flight', () => gate.held, labels);
  metrics.gauge('calls_queued', 'Calls waiting for a place', () => gate.waiting, labels);
}

/** Counts the connections to the service, and logs what is wrong with them. */
export function createConnectionObserver(metrics: Metrics, log: Logger): ConnectionObserver {
  const help = 'Connections opened to the service';
  const opened = metrics.counter('connections_opened_total', help, 'service');
  opened.inc(labels, 0);
  return {
    opened: () => opened.inc(labels),
    closedEarly: () => log.warn(labels, 'service closed a connection early'),
    surplus: () =>
      log.error(labels, 'service sent a surplus response, so connections are no longer reused'),
  };
}
