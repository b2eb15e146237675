import type { Logger } from 'pino';
import type { RequestScope } from '../request-scope.ts';
import { SENT } from '../telemetry/log.ts';
import { operations, type UpstreamRequest } from './operations.ts';

/** The audit trail: if the process dies, the log shows which writes were in flight. */
export function logSent(
  log: Logger,
  request: UpstreamRequest,
  { requestId, caller }: RequestScope,
): void {
  const claim = 'claimId' in request ? request.claimId : undefined;
  log.info({ requestId, operation: request.operation, caller: caller.hash, claim }, SENT);
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
