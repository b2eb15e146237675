import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { TaskQueue } from '../lib/task-queue.ts';
import type { RequestScope } from '../request-scope.ts';
import { inSpan, outgoingTraceHeaders } from '../telemetry/tracing.ts';
import { logCall, logSent } from './call-log.ts';
import {
  type OperationName,
  operations,
  policyOf,
  type Responses,
  type UpstreamRequest,
} from './operations.ts';
import { parseBody } from './records.ts';
import type { Transport } from './transport/got-client.ts';
import type { UpstreamResponse } from './transport/undici-handler.ts';
import { invalidResponse, toUpstreamError } from './upstream-error.ts';

/** One exchange with the service, up to the decoded response. Ends when `signal` is aborted. */
export type Attempt = <Name extends OperationName>(
  request: UpstreamRequest<Name>,
  scope: RequestScope,
  signal: AbortSignal,
) => Promise<Responses[Name]>;

/** Events to count. Operation names come from the table only. */
export type CallObserver = {
  attempted(operation: OperationName, outcome: string, seconds: number): void;
  retried(operation: OperationName): void;
  shared(operation: OperationName): void;
};

type Dependencies = {
  transport: Transport;
  taskQueue: TaskQueue;
  log: Logger;
  observer: CallObserver;
};

/** Sends and decodes, with one span, one log line and one observation for each attempt. */
export function createAttempt({ transport, taskQueue, log, observer }: Dependencies): Attempt {
  /** Decodes a body. The outcome of a write counts even after the deadline; a late read is dropped. */
  async function decode<Name extends OperationName>(
    { operation }: UpstreamRequest<Name>,
    { rawBody }: UpstreamResponse,
    signal: AbortSignal,
  ): Promise<Responses[Name]> {
    const cancel = policyOf(operation).abortable ? signal : undefined;
    await taskQueue.slot(rawBody.length, 'start', cancel);
    try {
      return operations[operation].decode(parseBody(rawBody), rawBody.length);
    } catch {
      // The error of a parser quotes the body, which may be confidential.
      throw invalidResponse(`not as specified, ${rawBody.length} bytes`);
    }
  }

  function finish(
    request: UpstreamRequest,
    scope: RequestScope,
    span: Span,
    start: number,
    result: { outcome: string; status?: number | undefined; fault?: string | undefined },
  ): void {
    const { outcome, status, fault } = result;
    const ms = performance.now() - start;
    observer.attempted(request.operation, outcome, ms / 1000);
    if (status !== undefined) span.setAttribute('http.response.status_code', status);
    if (fault !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
    span.end();
    logCall(log, request, scope, { ...result, ms: Math.round(ms) });
  }

  return (request, scope, signal) => {
    const attributes = { 'http.request.method': operations[request.operation].method };
    return inSpan(request.operation, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const start = performance.now();
      let status: number | undefined;
      try {
        const trace = outgoingTraceHeaders(scope.trace);
        if (operations[request.operation].effect === 'write') logSent(log, request, scope);
        const response = await transport.send(request, scope, signal, trace);
        status = response.statusCode;
        const result = await decode(request, response, signal);
        finish(request, scope, span, start, { outcome: 'answered', status });
        return result;
      } catch (cause) {
        const error = toUpstreamError(cause, signal, status);
        const { code: outcome, fault } = error;
        finish(request, scope, span, start, { outcome, status: error.status, fault });
        throw error;
      }
    });
  };
}
