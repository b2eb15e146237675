import { setTimeout as sleep } from 'node:timers/promises';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Account } from '../account/account.ts';
import type { Gate } from '../account/gate.ts';
import { type RejectionReason, rejectionReasons } from '../errors/gateway-error.ts';
import { DURATION_BUCKETS, registerGauge } from '../telemetry/registry.ts';
import type { FieldOutcome } from '../telemetry/request-record.ts';

/** The longest pause between two renderings, in milliseconds. */
const MAX_PAUSE_MS = 1000;

/** A request of a client, when its response has been sent or its client has disconnected. */
export type RespondedRequest = {
  path: string | undefined;
  status: number;
  disconnected: boolean;
  errorCodes: readonly string[];
  seconds: number;
  fields: ReadonlyMap<string, FieldOutcome>;
  rejection?: RejectionReason;
};

export type HttpMetrics = ReturnType<typeof registerHttpMetrics>;

type Watched = { requests: Gate; account: Account; isReady(): boolean };

/** Registers the metrics of requests, and of what they hold. */
export function registerHttpMetrics(registry: Registry, watched: Watched) {
  const { requests, account, isReady } = watched;
  const counters = createCounters(registry);
  // A counter without an initial value shows no increase at its first step, and alerts would miss it.
  counters.requests.inc({ status: 500 }, 0);
  for (const reason of rejectionReasons) counters.rejections.inc({ reason }, 0);
  const gauge = (name: string, help: string, read: () => number) =>
    registerGauge(registry, `ledger_gateway_${name}`, help, read);
  gauge('requests_in_progress', 'GraphQL requests in progress', () => requests.held);
  gauge('requests_waiting', 'GraphQL requests that wait for a place', () => requests.waiting);
  gauge('memory_held_bytes', 'Memory booked for requests in progress', () => account.bytes);
  gauge('memory_limit_bytes', 'Memory that requests in progress may hold', () => account.limit);
  gauge('ready', 'Whether /readyz responds with 200', () => Number(isReady()));
  return {
    responded(request: RespondedRequest) {
      const { path, status, disconnected, errorCodes, seconds, fields, rejection } = request;
      counters.requests.inc({ status });
      if (rejection) counters.rejections.inc({ reason: rejection });
      if (path !== '/graphql') return;
      for (const field of fields.values()) counters.durations.observe(field, seconds);
      if (fields.size > 0) return;
      const outcome = disconnected ? 'CLIENT_DISCONNECTED' : (errorCodes[0] ?? 'ok');
      counters.durations.observe({ operation: 'none', outcome }, seconds);
    },
    shed: () => counters.shed.inc(),
    /** The response to `GET /metrics`, in Prometheus text format. */
    text: shareRendering(() => registry.metrics()),
    contentType: registry.contentType as string,
  };
}

/** Renders once for all that wait for it, after they have asked, and at most for a tenth of the time. */
export function shareRendering(render: () => Promise<string>): () => Promise<string> {
  let next: Promise<string> | undefined;
  let pause: Promise<unknown> = Promise.resolve();
  return () => {
    next ??= pause.then(() => {
      next = undefined;
      const start = performance.now();
      const rendered = render();
      const rest = () =>
        sleep(Math.min(9 * (performance.now() - start), MAX_PAUSE_MS), undefined, { ref: false });
      pause = rendered.then(rest, rest);
      return rendered;
    });
    return next;
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
      help: 'Requests rejected because their caller had too many waiting',
      registers,
    }),
    rejections: new Counter({
      name: 'ledger_gateway_requests_refused_total',
      help: 'Requests without a valid token, by reason',
      labelNames: ['reason'],
      registers,
    }),
  };
}
