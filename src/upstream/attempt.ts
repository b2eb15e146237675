import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { TaskQueue } from '../lib/task-queue.ts';
import type { RequestScope } from '../request-scope.ts';
import { inSpan, outgoingTraceHeaders } from '../telemetry/tracing.ts';
import { logCall, logSent } from './call-log.ts';
import {
  type OperationName,
  operations,
  type Responses,
  type UpstreamRequest,
} from './operations.ts';
import { parseBody } from './records.ts';
import { checkRoom, checkSize } from './response-size.ts';
import type { Transport } from './transport/got-client.ts';
import type { ResponseBody } from './transport/response-body.ts';
import { invalidResponse, toUpstreamError } from './upstream-error.ts';

/**
 * One exchange with the service, up to the decoded response. Ends when `signal` is aborted. Nothing is sent
 * after `sendBy`, in the time of `performance.now()`.
 */
export type Attempt = <Name extends OperationName>(
  request: UpstreamRequest<Name>,
  scope: RequestScope,
  signal: AbortSignal,
  sendBy?: number,
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
  /** Decompresses and decodes a body. It holds its turn meanwhile, so only one large body is in memory. */
  function decode<Name extends OperationName>(
    operation: Name,
    body: ResponseBody,
    signal: AbortSignal,
  ): Promise<Responses[Name]> {
    const work = async () => {
      const bytes = await body.read(signal);
      await checkSize(bytes);
      if (operations[operation].effect === 'read') checkRoom(bytes.length);
      try {
        return operations[operation].decode(parseBody(bytes), bytes.length);
      } catch {
        // The error of a parser quotes the body, which may be confidential.
        throw invalidResponse(`not as specified, ${bytes.length} bytes`);
      }
    };
    return taskQueue.run(body.size, 'start', work, signal);
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

  return (request, scope, signal, sendBy) => {
    const attributes = { 'http.request.method': operations[request.operation].method };
    return inSpan(request.operation, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const start = performance.now();
      let status: number | undefined;
      try {
        const trace = outgoingTraceHeaders(scope.trace);
        if (operations[request.operation].effect === 'write') logSent(log, request, scope);
        const response = await transport.send(request, scope, { signal, sendBy }, trace);
        status = response.statusCode;
        const result = await decode(request.operation, response.body, signal);
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
