import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { UpstreamError } from './errors.ts';
import { type Http, invalid, type UpstreamRequest } from './http.ts';
import { policyOf } from './operations.ts';

/** Makes a call under the policy of its operation, and reads its answer. */
export type Call = <Answer>(
  request: UpstreamRequest,
  read: (json: string) => Answer,
  /** Ends when the caller goes away. */
  caller: AbortSignal,
) => Promise<Answer>;

/** The mean wait before a first retry, in milliseconds; it doubles with each. */
const RETRY_BASE_MS = 100;

/**
 * What stands around every attempt: one deadline for all of a call, retries where the operation's
 * policy has any, and one log line each.
 */
export function createCalls(options: { http: Http; timeoutMs: number; log: Logger }): {
  call: Call;
  /** Resolves when no call is in flight: a write outlives the caller who asked for it. */
  settled(): Promise<void>;
} {
  const inFlight = new Set<Promise<unknown>>();

  async function attempt<Answer>(
    request: UpstreamRequest,
    read: (json: string) => Answer,
    signal: AbortSignal,
    caller: AbortSignal,
  ): Promise<Answer> {
    const start = performance.now();
    const record = (outcome: string, details: { status?: number | undefined; fault?: string }) => {
      const line = {
        requestId: request.requestId,
        operation: request.operation,
        outcome,
        ...details,
        ms: Math.round(performance.now() - start),
      };
      // Nobody waits for this write any more: the log is the only one that learns of its outcome.
      const forgotten = caller.aborted && !policyOf(request.operation).abortable;
      options.log[forgotten || details.fault ? 'warn' : 'info'](line, 'call');
    };
    try {
      const { status, text } = await options.http.send(request, signal);
      const answer = understand(text, read);
      record('answered', { status });
      return answer;
    } catch (cause) {
      const error = explain(cause, signal);
      record(error.code, { status: error.status, fault: error.fault });
      throw error;
    }
  }

  async function run<Answer>(
    request: UpstreamRequest,
    read: (json: string) => Answer,
    caller: AbortSignal,
  ): Promise<Answer> {
    const policy = policyOf(request.operation);
    const ended = new AbortController();
    const deadline = performance.now() + options.timeoutMs;
    const timer = setTimeout(() => ended.abort('deadline'), options.timeoutMs);
    const leave = () => ended.abort('caller');
    if (policy.abortable) caller.addEventListener('abort', leave, { once: true });
    try {
      for (let retry = 0; ; retry++) {
        try {
          return await attempt(request, read, ended.signal, caller);
        } catch (error) {
          if (!(error instanceof UpstreamError) || !error.transient) throw error;
          if (retry >= policy.retries) throw error;
          const wait = Math.max(
            error.retryAfterMs ?? 0,
            Math.random() * RETRY_BASE_MS * 2 ** (retry + 1),
          );
          if (performance.now() + wait >= deadline) throw error;
          await sleep(wait, undefined, { signal: ended.signal }).catch(() => {
            throw explain(error, ended.signal);
          });
        }
      }
    } finally {
      clearTimeout(timer);
      caller.removeEventListener('abort', leave);
    }
  }

  return {
    call(request, read, caller) {
      const running = run(request, read, caller).finally(() => inFlight.delete(running));
      inFlight.add(running);
      return running;
    },
    async settled() {
      while (inFlight.size > 0) await Promise.allSettled(inFlight);
    },
  };
}

/** Reads an answer; what cannot be read is told by its size alone, never by its words. */
function understand<Answer>(text: string, read: (json: string) => Answer): Answer {
  try {
    return read(text);
  } catch {
    throw invalid(`not what the specification shows, ${text.length} characters`);
  }
}

/** The failure of an attempt; where we ended it ourselves, why. */
function explain(cause: unknown, signal: AbortSignal): UpstreamError {
  const error =
    cause instanceof UpstreamError
      ? cause
      : new UpstreamError('UPSTREAM_UNAVAILABLE', { effect: 'possible', fault: 'unknown' });
  if (!signal.aborted) return error;
  const { effect, status } = error;
  return signal.reason === 'deadline'
    ? new UpstreamError('UPSTREAM_TIMEOUT', { effect, status, fault: 'deadline' })
    : new UpstreamError('CLIENT_GONE', { effect, status, fault: 'caller gone' });
}
