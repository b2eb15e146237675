import type { Gate } from '../admission/gate.ts';
import type { Lane } from '../admission/lane.ts';
import type { Memory } from '../admission/memory.ts';
import { rejectionReasons } from '../errors/gateway-error.ts';
import type { FieldResult, RequestState } from '../request-state.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** A request whose response has been sent, or whose client has disconnected. */
type RespondedRequest = Pick<RequestState, 'errorCodes' | 'fields' | 'rejection'> & {
  path: string | undefined;
  status: number;
  seconds: number;
};

type Watched = { requests: Gate; memory: Memory; lane: Lane; isReady(): boolean };

export type HttpMetrics = ReturnType<typeof registerHttpMetrics>;

/** Registers the metrics of requests, and of what they hold. */
export function registerHttpMetrics(
  metrics: Metrics,
  { requests, memory, lane, isReady }: Watched,
) {
  const responses = metrics.counter('http_requests_total', 'HTTP responses, by status', 'status');
  const durations = metrics.histogram(
    'request_duration_seconds',
    'GraphQL requests as clients see them, by root field and outcome',
    ['operation', 'outcome'],
  );
  const shedHelp = 'Requests rejected because they got no place';
  const shed = metrics.counter('requests_shed_total', shedHelp);
  const rejectionsHelp = 'Requests without a valid token, by reason';
  const rejections = metrics.counter('requests_refused_total', rejectionsHelp, 'reason');
  responses.inc({ status: 500 }, 0);
  for (const reason of rejectionReasons) rejections.inc({ reason }, 0);
  metrics.gauge('requests_in_progress', 'GraphQL requests in progress', () => requests.held);
  metrics.gauge('requests_waiting', 'GraphQL requests waiting for a place', () => requests.waiting);
  metrics.gauge('memory_held_bytes', 'Memory reserved for requests in progress', () => memory.held);
  metrics.gauge('memory_limit_bytes', 'Memory that requests may hold', () => memory.limit);
  metrics.gauge('ready', 'Whether /readyz responds with 200', () => Number(isReady()));
  return {
    responded({ path, status, errorCodes, seconds, fields, rejection }: RespondedRequest) {
      responses.inc({ status });
      if (rejection) rejections.inc({ reason: rejection.reason });
      if (path !== '/graphql') return;
      const timed = new Map<string, FieldResult>();
      for (const one of fields.values()) timed.set(`${one.field} ${one.result}`, one);
      const [result = 'ok'] = errorCodes;
      if (timed.size === 0) timed.set('', { field: 'none', result });
      for (const { field, result } of timed.values()) {
        durations.observe({ operation: field, outcome: result }, seconds);
      }
    },
    shed: () => shed.inc(),
    /** The response to `GET /metrics`. */
    text: shareRendering(() => metrics.text(), lane),
    contentType: metrics.contentType,
  };
}

/** Renders in turns of CPU time, like the work of a caller, and once for all requests that wait by then. */
export function shareRendering(render: () => Promise<string>, lane: Pick<Lane, 'turn'>) {
  let next: Promise<string> | undefined;
  const renderInTurn = async () => {
    await lane.turn('metrics', performance.now());
    next = undefined;
    return render();
  };
  return () => {
    next ??= renderInTurn();
    return next;
  };
}
