import { SpanKind } from '@opentelemetry/api';
import { createIterationLimit } from '../admission/gate.ts';
import { type Memory, Reservation } from '../admission/memory.ts';
import { memo } from '../lib/memo.ts';
import type { RequestScope } from '../request-scope.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';
import type { CallObserver } from './call-observer.ts';
import type { Operation, ReadRequest, WriteRequest } from './operations.ts';
import { limitsOf, readResponse } from './read-response.ts';
import type { Transport } from './transport/got-client.ts';
import { Exchange } from './transport/send-once.ts';
import { invalidResponse, toUpstreamError } from './upstream-error.ts';

export type AttemptDependencies = {
  baseUrl: URL;
  transport: Transport;
  memory: Memory;
  /** The longest body of a response after decompression, in bytes. */
  maxResponseBytes: number;
  observer: CallObserver;
};

/** A request that is to be sent once. */
export type Attempt<Result> = {
  readonly scope: RequestScope;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  /** How often a read was attempted before. */
  readonly retry: number;
} & (
  | { readonly request: ReadRequest<Result>; readonly mayStart?: undefined }
  /** `mayStart` is called right before a write is sent. It prevents that by an UpstreamError. */
  | { readonly request: WriteRequest<Result>; readonly mayStart: () => void }
);

/** Creates a function that makes one exchange, up to the decoded response, with one span, one log line and one observation. */
export function createAttempt(dependencies: AttemptDependencies) {
  const { baseUrl, transport, memory, observer } = dependencies;
  const spanOf = memo((operation: Operation) => describeSpan(operation, baseUrl));
  const reading = createIterationLimit();
  return <Result>(attempt: Attempt<Result>): Promise<Result> => {
    const { request, scope, signal, mayStart, retry } = attempt;
    const { operation } = request;
    const { effect } = operation;
    const { admissionKey } = scope.caller;
    const { name, options } = spanOf(operation);
    return inSpan(name, options, async (span) => {
      if (retry > 0) span.setAttribute('http.request.resend_count', retry);
      const start = performance.now();
      const reservation = new Reservation(memory, admissionKey);
      const limits = limitsOf(effect, reservation, dependencies.maxResponseBytes, signal);
      const read = () => reading.enterIteration(admissionKey, signal);
      const exchange = new Exchange({ ...limits, effect, mayStart, read });
      let status: number | undefined;
      const finish = (outcome: string, fault?: string) => {
        if (status !== undefined) span.setAttribute('http.response.status_code', status);
        const isErrorStatus = status !== undefined && status >= 400;
        if (fault !== undefined) fail(span, isErrorStatus ? String(status) : outcome);
        observer.ended(request, scope, { outcome, status, fault, ms: performance.now() - start });
      };
      try {
        if (attempt.mayStart) observer.sending(attempt.request, scope);
        const response = await transport.send(request, scope, exchange);
        status = response.statusCode;
        const cache = observer.responded(operation, response.headers);
        // A response of a cache says nothing about a write.
        if (cache !== undefined && effect === 'write') {
          throw invalidResponse(`a cache has responded, by the header ${cache}`);
        }
        const result = await readResponse(request, response, limits, scope, reservation);
        finish('answered');
        return result;
      } catch (cause) {
        observer.unexpected(cause, scope, signal);
        status ??= exchange.pausedStatus;
        const error = toUpstreamError(cause, signal, { sent: exchange.sent, status });
        status = error.status;
        finish(error.code, error.fault);
        throw error;
      } finally {
        reservation.close();
      }
    });
  };
}

/** The name and the attributes of spans, by OpenTelemetry's conventions, without the query, whose values come from clients. */
function describeSpan(
  { method, name }: Operation,
  { protocol, hostname, port, pathname, href }: URL,
) {
  const template = pathname + name;
  const attributes = {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'url.full': href + name,
    'url.template': template,
  };
  return { name: `${method} ${template}`, options: { kind: SpanKind.CLIENT, attributes } };
}
