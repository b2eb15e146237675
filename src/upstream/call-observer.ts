import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { Gate } from '../admission/gate.ts';
import { loggable } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { loggedIds } from './identifiers.ts';
import type { Operation, UpstreamRequest, WriteRequest } from './operations.ts';
import type { ReadCache, ReadSource } from './read-cache.ts';
import { cacheHint, cacheMarks, markIn, proxyHint, proxyMark } from './transport/response-marks.ts';
import { UpstreamError } from './upstream-error.ts';

/** How an attempt has ended, or a call that was rejected before its first attempt. */
type End = {
  outcome: string;
  status?: number | undefined;
  fault?: string | undefined;
  /** How long the attempt took. Undefined if there was none. */
  ms?: number;
};

/** The label of the metrics of the service, and the field of its log lines. */
const labels = { service: 'ledger' };

/** Counts and logs the events of calls and connections. In metrics, the names of operations come only from their declarations. */
export class CallObserver {
  readonly #log: Logger;
  readonly #attempts;
  readonly #retries;
  readonly #reads;
  readonly #cached;
  readonly #transitions;
  readonly #opened;
  #isFirstResponse = true;
  #isCacheLogged = false;

  /** Registers the metrics. */
  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    const attemptHelp = 'Attempts at calls to the service, by operation and outcome';
    const names = ['operation', 'outcome'] as const;
    this.#attempts = metrics.histogram('call_duration_seconds', attemptHelp, [...names]);
    const counter = (name: string, help: string) => metrics.counter(name, help, 'operation');
    this.#retries = counter('call_retries_total', 'Retries of reads');
    const keptHelp = 'Reads that got a list kept from an equal call before';
    const sentHelp = 'Reads that shared no equal call, neither in flight nor kept';
    this.#reads = {
      joined: counter('calls_shared_total', 'Reads that shared an equal call in flight'),
      kept: counter('read_cache_hits_total', keptHelp),
      sent: counter('read_cache_misses_total', sentHelp),
    };
    const cachedHelp = 'Responses to calls that a cache has sent in place of the service';
    this.#cached = counter('calls_cached_total', cachedHelp);
    const help = 'How often the circuit breaker opened and closed';
    this.#transitions = metrics.counter('circuit_transitions_total', help, 'service', 'to');
    for (const to of ['open', 'closed']) this.#transitions.inc({ ...labels, to }, 0);
    const openedHelp = 'Connections opened to the service';
    this.#opened = metrics.counter('connections_opened_total', openedHelp, 'service');
    this.#opened.inc(labels, 0);
  }

  /** A connection was opened. */
  opened(): void {
    this.#opened.inc(labels);
  }

  /** The service has closed a connection on which a write could have been sent. */
  closedEarly(): void {
    this.#log.warn(labels, 'service closed a connection early');
  }

  /** The service has sent a response that no request has asked for. */
  surplus(): void {
    const log = this.#log;
    log.error(labels, 'service sent a surplus response, so connections are no longer reused');
  }

  circuitChanged(to: 'open' | 'closed'): void {
    this.#transitions.inc({ ...labels, to });
    if (to === 'open') this.#log.warn(labels, 'circuit opened');
    else this.#log.info(labels, 'circuit closed');
  }

  read({ name: operation }: Operation, source: ReadSource): void {
    this.#reads[source].inc({ operation });
  }

  retried({ name: operation }: Operation): void {
    this.#retries.inc({ operation });
  }

  /**
   * Logs that a write is about to be sent, with the identifiers in it, and calls `onSend` of its trail. If the process dies, the
   * log then shows which writes were in flight. The line is written at the end of this iteration of the event loop, together with
   * those of all other writes. An exchange that begins after this call sends its request later than that, because Node runs
   * immediates in their order.
   */
  sending(request: WriteRequest, { requestId, caller }: RequestScope): void {
    const log = this.#log;
    const { operation, trail } = request;
    trail?.onSend?.();
    if (!log.isLevelEnabled('info')) return;
    const line = { requestId, operation: operation.name, caller: caller.hash, claim: trail?.claim };
    log.info({ ...line, ...loggedIds(request) }, 'sent');
    log.flush();
  }

  /**
   * Counts a response that a cache has sent in place of the service. Returns the header that shows the cache, or undefined if
   * there is none. A list that a cache has sent may be old, or that of another caller, so the first one is logged. If the first
   * response shows that a proxy stands before the service, this is logged, too, because most proxies repeat a GET that changes
   * something, and some answer it.
   */
  responded({ name: operation, effect }: Operation, headers: IncomingHttpHeaders) {
    const log = this.#log;
    const proxy = this.#isFirstResponse && proxyMark(headers);
    this.#isFirstResponse = false;
    if (proxy)
      log.info({ header: proxy, hint: proxyHint }, 'a proxy seems to stand before the service');
    const header = markIn(headers, cacheMarks);
    if (header === undefined) return undefined;
    this.#cached.inc({ operation });
    if (effect === 'read' && !this.#isCacheLogged) {
      this.#isCacheLogged = true;
      log.warn({ operation, header, hint: cacheHint }, 'a cache responds in place of the service');
    }
    return header;
  }

  /**
   * Counts and logs the end of an attempt, or of a call before its first attempt. After its client has disconnected, a write is a
   * warning. The line of a write that has failed has the identifiers in it: a write that was not sent has no line `sent`, and that
   * line is missing if `LOG_LEVEL` is above `info`.
   */
  ended(request: UpstreamRequest, { requestId, signal }: RequestScope, end: End): void {
    const { outcome, status, fault, ms } = end;
    const { name: operation, effect } = request.operation;
    if (ms !== undefined) this.#attempts.observe({ operation, outcome }, ms / 1000);
    const isWrite = effect === 'write';
    const hasFailed = fault !== undefined;
    const clientDisconnected = signal.aborted && isWrite;
    const line = { requestId, operation, outcome, status, fault, ms: Math.round(ms ?? 0) };
    const ids = hasFailed && isWrite && loggedIds(request);
    const level = clientDisconnected || hasFailed ? 'warn' : 'info';
    this.#log[level]({ ...line, clientDisconnected, ...ids }, 'call');
  }

  /** Logs a write in flight, before an exit that does not wait for it. */
  interrupted(request: WriteRequest, { requestId }: RequestScope): void {
    const line = { requestId, operation: request.operation.name, ...loggedIds(request) };
    this.#log.warn({ ...line, outcome: 'UNKNOWN', fault: 'process exited' }, 'call');
  }

  /** Logs an error that only a bug of the gateway can cause. After an abort, any error may occur, and none is logged. */
  unexpected(error: unknown, { requestId }: RequestScope, signal: AbortSignal): void {
    if (error instanceof UpstreamError || signal.aborted) return;
    this.#log.error({ requestId, error: loggable(error) }, 'internal error');
  }
}

/** Registers gauges of the parts that admit calls, and of the memory of kept lists. */
export function watchCalls(
  metrics: Metrics,
  { gate, circuit }: { readonly gate: Gate; readonly circuit: { readonly state: string } },
  cache: ReadCache,
): void {
  const stateHelp = 'The circuit breaker: 0 closed, 1 half-open, 2 open';
  const states = ['closed', 'half-open', 'open'];
  metrics.gauge('circuit_state', stateHelp, () => states.indexOf(circuit.state), labels);
  metrics.gauge('read_cache_bytes', 'Memory of kept lists', () => cache.borrowed);
  metrics.gauge('calls_in_flight', 'Calls to the service in flight', () => gate.held, labels);
  metrics.gauge('calls_queued', 'Calls waiting for a place', () => gate.waiting, labels);
}
