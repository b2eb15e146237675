import type { Logger } from 'pino';
import { loggable } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { UpstreamRequest, WriteRequest } from './operations.ts';
import { loggedIds } from './targets.ts';
import type { EndIteration } from './transport/send-once.ts';
import { UpstreamError } from './upstream-error.ts';

/**
 * Logs that a write is about to be sent, with the identifiers in it, and calls its observer. If the process dies, the log then
 * shows which writes were in flight. Returns what calls back when the lines are written, together with those of all writes in
 * this iteration of the event loop.
 */
export function logSent(
  log: Logger,
  request: UpstreamRequest,
  { requestId, caller }: RequestScope,
): EndIteration {
  const observed = 'observer' in request ? request.observer?.sending() : undefined;
  const isLogged = log.isLevelEnabled('info');
  if (isLogged) {
    const claim = 'claimId' in request ? request.claimId : undefined;
    const { name: operation } = request.operation;
    log.info({ requestId, operation, caller: caller.hash, claim, ...loggedIds(request) }, 'sent');
  }
  const flush: EndIteration = (then) => (isLogged ? log.flush(then) : setImmediate(then));
  return observed ? (then) => void observed.then(() => flush(then)) : flush;
}

/**
 * Logs one attempt, or a call rejected before its first attempt. After its client has disconnected, a write is a warning. The
 * line of a write that has failed has the identifiers in it: a write that was not sent has no line `sent`, and that line is missing
 * if `LOG_LEVEL` is above `info`.
 */
export function logCall(
  log: Logger,
  request: UpstreamRequest,
  { requestId, signal }: RequestScope,
  line: { outcome: string; status?: number | undefined; fault?: string | undefined; ms: number },
): void {
  const { name: operation, effect } = request.operation;
  const isWrite = effect === 'write';
  const hasFailed = line.fault !== undefined;
  const clientDisconnected = signal.aborted && isWrite;
  const level = clientDisconnected || hasFailed ? 'warn' : 'info';
  const ids = hasFailed && isWrite && loggedIds(request);
  log[level]({ requestId, operation, ...line, clientDisconnected, ...ids }, 'call');
}

/** Logs a write in flight, before an exit that does not wait for it. */
export function logInterrupted(
  log: Logger,
  { request, requestId }: { request: WriteRequest; requestId: string },
): void {
  const line = { requestId, operation: request.operation.name, ...loggedIds(request) };
  log.warn({ ...line, outcome: 'UNKNOWN', fault: 'process exited' }, 'call');
}

/** Logs an error that only a bug of the gateway can cause. After an abort, any error may occur, and none is logged. */
export function logUnexpected(
  log: Logger,
  { requestId }: RequestScope,
  error: unknown,
  signal: AbortSignal,
): void {
  if (error instanceof UpstreamError || signal.aborted) return;
  log.error({ requestId, error: loggable(error) }, 'internal error');
}
