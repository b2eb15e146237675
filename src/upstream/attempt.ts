import type { IncomingHttpHeaders } from 'node:http';
import { SpanKind } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { createIterationLimit } from '../admission/gate.ts';
import type { Memory, Reservation } from '../admission/memory.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { memo } from '../lib/memo.ts';
import type { RequestScope } from '../request-scope.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';
import { logCall, logSent, logUnexpected } from './call-log.ts';
import type { CallObserver } from './call-metrics.ts';
import type { Operation, UpstreamRequest } from './operations.ts';
import { cacheMark } from './transport/cache-mark.ts';
import type { Transport } from './transport/got-client.ts';
import { responseBody } from './transport/response-body.ts';
import { Exchange } from './transport/send-once.ts';
import { statusError } from './transport/transport-error.ts';
import { invalidResponse, noRoom, toUpstreamError } from './upstream-error.ts';
import { ContractFault } from './wire-types.ts';

export type AttemptDependencies = {
  baseUrl: URL;
  transport: Transport;
  memory: Memory;
  /** The longest body of a response after decompression, in bytes. */
  maxResponseBytes: number;
  log: Logger;
  observer: CallObserver;
};

/** How many bytes of a response to a write are received even if there is no memory. Up to 256 writes may be in flight. */
const MAX_UNRESERVED = 131_072;
/** How many times its length a body takes while it is decoded: for its parts, its text, and the values. */
const DECODED = 5;

export type AttemptOptions = {
  /** Ends the attempt. */
  signal: AbortSignal;
  /** Called right before the request is sent. Prevents it by a NotSent. */
  mayStart?: (() => void) | undefined;
  /** 0 for the first attempt. */
  retry?: number;
};

/**
 * Creates a function that makes one exchange with the service, up to the decoded response, with one span, one log line and
 * one observation.
 */
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
      const { maxResponseBytes: maxBytes } = dependencies;
      const tryReserve = createReserve(reservation, isWrite);
      const limits = { signal, maxBytes, cutsTexts: isWrite, tryReserve };
      const reserve = (bytes: number) =>
        isWrite ? undefined : withMemory(reservation.reserveTotal(bytes * DECODED, signal));
      const exchange = new Exchange({
        ...limits,
        mayStart,
        reserve,
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
        if (isWrite) await logSent(log, request, scope);
        const response = await transport.send(request, scope, exchange);
        status = response.statusCode;
        checkOrigin(operation, response.headers);
        if (status > 299) throw statusError(status, response.headers);
        const bytes = await responseBody(response, limits);
        await reserve(bytes.length);
        const decode = () => decodeBody(operation, bytes);
        const result = await decodeInTurn(isWrite, decode, reservation, scope, signal);
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
 * Creates a function that reserves memory for so many more bytes of a response, and returns whether they may be received. A
 * response of ordinary length to a write is received even without memory, because its outcome must reach the client.
 */
function createReserve(reservation: Reservation, isWrite: boolean): (bytes: number) => boolean {
  let received = 0;
  return (bytes) => {
    received += bytes;
    return reservation.tryReserveTotal(received) || (isWrite && received <= MAX_UNRESERVED);
  };
}

/**
 * Creates a function that checks whether the service has sent a response, and not a cache in front of it. A write whose response
 * comes from a cache throws an UpstreamError, because that response says nothing about it. A read is only counted and, once,
 * logged: its list may be old, or that of another caller.
 */
function createOriginCheck(log: Logger, observer: CallObserver) {
  let isLogged = false;
  return (operation: Operation, headers: IncomingHttpHeaders): void => {
    const header = cacheMark(headers);
    if (header === undefined) return;
    observer.cached(operation);
    if (operation.effect === 'write') {
      throw invalidResponse(`a cache has responded, by the header ${header}`);
    }
    if (!isLogged)
      log.warn({ operation: operation.name, header }, 'a cache responds in place of the service');
    isLogged = true;
  };
}

/**
 * The name and the attributes of the spans of an operation, by OpenTelemetry's conventions for HTTP clients. The query is
 * left out, because its values come from clients.
 */
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

/** Waits for memory. Rejects with an UpstreamError if there is none in time, or never can be. Undefined if it is there now. */
function withMemory(waiting: Promise<void> | undefined): Promise<void> | undefined {
  return waiting?.catch((error: unknown) => {
    const isTooMuch = error instanceof GatewayError && error.code === 'OPERATION_LIMIT_EXCEEDED';
    throw (isTooMuch ? invalidResponse : noRoom)('no memory to decode the response');
  });
}

/**
 * Waits for CPU time of the caller, and decodes the body of a response. The response to a write is always decoded, even after
 * the deadline and without memory, because it carries the outcome. A list may take 50 times the memory of its text, which is
 * reserved once the list exists, so earlier lists must be reserved first. Rejects with an UpstreamError.
 */
async function decodeInTurn<Result>(
  isWrite: boolean,
  decode: () => Result,
  reservation: Reservation,
  scope: RequestScope,
  signal: AbortSignal,
): Promise<Result> {
  const turn = scope.turn(isWrite ? undefined : signal);
  if (turn) await turn;
  const inShare = isWrite ? undefined : withMemory(reservation.waitForShare(signal));
  if (!inShare) return decode();
  await inShare;
  return decodeInTurn(isWrite, decode, reservation, scope, signal);
}

/** Decodes the body of a response. Throws an UpstreamError if it is invalid. */
function decodeBody<Result>(
  operation: { decode(body: Uint8Array): Result },
  body: Uint8Array,
): Result {
  try {
    return operation.decode(body);
  } catch (error) {
    if (!(error instanceof ContractFault)) throw error; // This is a bug of the gateway.
    throw invalidResponse(`${error.message}, ${body.length} bytes`);
  }
}
