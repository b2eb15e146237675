import type { Logger } from 'pino';
import { loggable } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import { operations, type UpstreamRequest } from './operations.ts';
import { UpstreamError } from './upstream-error.ts';

/**
 * The audit trail: if the process dies, the log shows which writes were in flight. Resolves when the line is
 * written, together with those of all writes in this iteration of the event loop.
 */
export function logSent(
  log: Logger,
  request: UpstreamRequest,
  { requestId, caller }: RequestScope,
): Promise<void> | undefined {
  if (!log.isLevelEnabled('info')) return undefined;
  const claim = 'claimId' in request ? request.claimId : undefined;
  log.info({ requestId, operation: request.operation, caller: caller.hash, claim }, 'sent');
  return new Promise((resolve) => log.flush(() => resolve()));
}

/** Logs one attempt, or a call rejected before one. A write whose client disconnected is a warning. */
export function logCall(
  log: Logger,
  { operation }: UpstreamRequest,
  { requestId, signal, caller }: RequestScope,
  line: { outcome: string; status?: number | undefined; fault?: string | undefined; ms: number },
): void {
  const isWrite = operations[operation].effect === 'write';
  const clientDisconnected = signal.aborted && isWrite;
  const hash = isWrite ? caller.hash : undefined;
  const level = clientDisconnected || line.fault !== undefined ? 'warn' : 'info';
  log[level]({ requestId, operation, caller: hash, ...line, clientDisconnected }, 'call');
}

/** Logs an error that only a bug of the gateway can cause. An abort may end any work with an error of its own. */
export function logUnexpected(
  log: Logger,
  { requestId }: RequestScope,
  error: unknown,
  signal: AbortSignal,
): void {
  if (error instanceof UpstreamError || signal.aborted) return;
  log.error({ requestId, error: loggable(error) }, 'internal error');
}
