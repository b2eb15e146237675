import type { IncomingHttpHeaders } from 'node:http';
import { SpanKind } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { createIterationLimit } from '../admission/gate.ts';
import type { Memory } from '../admission/memory.ts';
import { memo } from '../lib/memo.ts';
import type { RequestScope } from '../request-scope.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';
import { logCall, logSent, logUnexpected } from './call-log.ts';
import type { CallObserver } from './call-metrics.ts';
import type { Operation, UpstreamRequest } from './operations.ts';
import { limitsOf, readResponse } from './read-response.ts';
import type { Transport } from './transport/got-client.ts';
import { cacheHint, cacheMark, proxyHint, proxyMark } from './transport/response-marks.ts';
import { Exchange } from './transport/send-once.ts';
import { invalidResponse, toUpstreamError } from './upstream-error.ts';

export type AttemptDependencies = {
  baseUrl: URL;
  transport: Transport;
  memory: Memory;
  /** The longest body of a response after decompression, in bytes. */
  maxResponseBytes: number;
  log: Logger;
  observer: CallObserver;
};

export type AttemptOptions = {
  /** Ends the attempt. */
  signal: AbortSignal;
  /** Called right before the request is sent. Prevents it by an UpstreamError. */
  mayStart?: (() => void) | undefined;
  /** 0 for the first attempt. */
  retry?: number;
};

/** Creates a function that makes one exchange, up to the decoded response, with one span, one log line and one observation. */
export function createAttempt(dependencies: AttemptDependencies) {
  const { baseUrl, transport, memory, log, observer } = dependencies;
  const spanOf = memo((operation: Operation) => describeSpan(operation, baseUrl));
  const reading = createIterationLimit();
  const checkOrigin = createOriginCheck(log, observer);
  return <Result>(
    request: UpstreamRequest<Result>,
    scope: RequestScope,
    { signal, mayStart, retry = 0 }: AttemptOptions,
  ): Promise<Result> => {
    const { operation } = request;
    const isWrite = operation.effect === 'write';
    const { name, options } = spanOf(operation);
    return inSpan(name, options, async (span) => {
      if (retry > 0) span.setAttribute('http.request.resend_count', retry);
      const start = performance.now();
      const reservation = memory.open(scope.caller.admissionKey);
      const limits = limitsOf(isWrite, reservation, dependencies.maxResponseBytes, signal);
      const exchange = new Exchange({
        ...limits,
        mayStart,
        read: () => reading.enterIteration(scope.caller.admissionKey, signal),
      });
      let status: number | undefined;
      const finish = (outcome: string, fault?: string) => {
        const ms = performance.now() - start;
        observer.attempted(operation, outcome, ms / 1000);
        if (status !== undefined) span.setAttribute('http.response.status_code', status);
        const isErrorStatus = status !== undefined && status >= 400;
        if (fault !== undefined) fail(span, isErrorStatus ? String(status) : outcome);
        logCall(log, request, scope, { outcome, status, fault, ms: Math.round(ms) });
      };
      try {
        const endIteration = isWrite ? logSent(log, request, scope) : undefined;
        const response = await transport.send(request, scope, exchange, endIteration);
        status = response.statusCode;
        checkOrigin(operation, response.headers);
        const result = await readResponse(request, response, limits, scope, reservation);
        finish('answered');
        return result;
      } catch (cause) {
        logUnexpected(log, scope, cause, signal);
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

/**
 * Creates a function that checks whether the service has sent a response, and not a cache in front of it. A write whose response
 * comes from a cache throws an UpstreamError, because that response says nothing about it. A read is only counted and, once,
 * logged: its list may be old, or that of another caller. If the first response shows that a proxy stands before the service, this
 * is logged, because most proxies repeat a GET that changes something, and some answer it.
 */
function createOriginCheck(log: Logger, observer: CallObserver) {
  let isFirst = true;
  let isLogged = false;
  return (operation: Operation, headers: IncomingHttpHeaders): void => {
    const proxy = isFirst && proxyMark(headers);
    isFirst = false;
    if (proxy)
      log.info({ header: proxy, hint: proxyHint }, 'a proxy seems to stand before the service');
    const header = cacheMark(headers);
    if (header === undefined) return;
    observer.cached(operation);
    if (operation.effect === 'write') {
      throw invalidResponse(`a cache has responded, by the header ${header}`);
    }
    if (isLogged) return;
    isLogged = true;
    const fields = { operation: operation.name, header, hint: cacheHint };
    log.warn(fields, 'a cache responds in place of the service');
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
