import { setTimeout as sleep } from 'node:timers/promises';
import { context, propagation, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { Pending } from '../pending.ts';
import { inSpan } from '../tracing.ts';
import { inTurn, LONG, pause } from '../turns.ts';
import { RetryBudget } from './budget.ts';
import { Bulkhead } from './bulkhead.ts';
import { type Circuit, createCircuit } from './circuit.ts';
import { UpstreamError } from './errors.ts';
import { type Http, invalid, type UpstreamAnswer, type UpstreamRequest } from './http.ts';
import { type OperationName, operations, policyOf } from './operations.ts';
import { SharedCalls } from './shared.ts';
import { decode } from './wire.ts';

/** Reads a decoded answer of so many bytes. Throws where it is not what the specification shows. */
export type Read<Answer> = (value: unknown, bytes: number) => Answer;

/** Makes a call under the policy of its operation, and reads its answer. */
export type Call = <Answer>(
  request: UpstreamRequest,
  read: Read<Answer>,
  /** Ends when the caller goes away. */
  caller: AbortSignal,
) => Promise<Answer>;

/** What there is to count of the calls. Names come from the table of operations alone. */
export type CallObserver = {
  attempted(operation: OperationName, outcome: string, seconds: number): void;
  retried(operation: OperationName): void;
  shared(operation: OperationName): void;
};

export type Calls = {
  call: Call;
  /** Resolves when no call is in flight: a write outlives the caller who asked for it. */
  settled(): Promise<void>;
  /** Writes whose outcome nobody knows yet: what a forced end would lose. */
  pendingWrites(): Pick<UpstreamRequest, 'requestId' | 'operation'>[];
  readonly circuit: Circuit['state'];
  readonly inFlight: number;
  readonly queued: number;
};

/** The mean wait before a first retry, in milliseconds; it doubles with each. */
const RETRY_BASE_MS = 100;
/** The share of the deadline that a probe has: a hanging service must not hold the next one up. */
const PROBE_SHARE = 0.5;
/** The share of the deadline that must be left for a write to be sent at all. */
const MARGIN_SHARE = 0.05;

/**
 * What stands around every attempt: one deadline for all of a call, a place among those in flight,
 * the circuit, retries where the operation's policy has any, and one log line, count and span each.
 */
export function createCalls(options: {
  http: Http;
  timeoutMs: number;
  maxConcurrency: number;
  log: Logger;
  observer: CallObserver;
}): Calls {
  const { http, log, observer } = options;
  const running = new Pending();
  const writes: UpstreamRequest[] = [];
  const bulkhead = new Bulkhead(options.maxConcurrency);
  const circuit = createCircuit();
  const budget = new RetryBudget();
  const sharing = new SharedCalls();
  const probeMs = options.timeoutMs * PROBE_SHARE;
  const marginMs = options.timeoutMs * MARGIN_SHARE;

  function logCall(
    { operation, requestId }: UpstreamRequest,
    caller: AbortSignal,
    line: { outcome: string; status?: number | undefined; fault?: string | undefined; ms: number },
  ): void {
    // Nobody waits for this write any more: the log is the only one that learns of its outcome.
    const forgotten = caller.aborted && !policyOf(operation).abortable;
    const level = forgotten || line.fault !== undefined ? 'warn' : 'info';
    log[level]({ requestId, operation, ...line, forgotten }, 'call');
  }

  /** One attempt, from the socket to a record that was read. */
  function attempt<Answer>(
    request: UpstreamRequest,
    read: Read<Answer>,
    signal: AbortSignal,
    caller: AbortSignal,
  ): Promise<Answer> {
    const { operation } = request;
    const attributes = { 'http.request.method': operations[operation].method };
    return inSpan(operation, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const start = performance.now();
      const record = (outcome: string, status: number | undefined, fault?: string) => {
        const ms = performance.now() - start;
        observer.attempted(operation, outcome, ms / 1000);
        if (status !== undefined) span?.setAttribute('http.response.status_code', status);
        if (fault !== undefined) span?.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
        span?.end();
        logCall(request, caller, { outcome, status, fault, ms: Math.round(ms) });
      };
      let status: number | undefined;
      try {
        const trace = { ...request.trace };
        if (span) propagation.inject(context.active(), trace);
        const answer = await http.send({ ...request, trace }, signal);
        status = answer.status;
        // The answer of a write is told whenever it comes; a read that is over is over.
        const wanted = policyOf(operation).abortable ? signal : undefined;
        const work = () => understand(answer, read, wanted);
        const result = await (answer.length > LONG ? inTurn(work, wanted) : work());
        wanted?.throwIfAborted();
        record('answered', status);
        return result;
      } catch (cause) {
        const error = explain(cause, signal, status);
        record(error.code, error.status, error.fault);
        throw error;
      }
    });
  }

  /** An attempt in its turn, if the circuit lets it. */
  async function once<Answer>(
    request: UpstreamRequest,
    read: Read<Answer>,
    signal: AbortSignal,
    caller: AbortSignal,
    deadline: number,
  ): Promise<Answer> {
    const { effect } = operations[request.operation];
    // A probe is everybody's: it goes on when the caller who happened to make it has gone.
    const within = () =>
      circuit.state === 'closed'
        ? signal
        : AbortSignal.timeout(Math.max(0, Math.min(probeMs, deadline - performance.now())));
    let attempted = false;
    try {
      return await bulkhead.run(effect, signal, () => {
        const make = (within: AbortSignal) => {
          attempted = true;
          return attempt(request, read, within, caller);
        };
        if (effect === 'read') return circuit.read(() => make(within()));
        const { token, requestId } = request;
        return circuit.write(
          () => make(signal),
          () => attempt({ ...probe, token, requestId }, () => null, within(), caller),
          // Sent now, its answer would come too late to be told.
          () => {
            if (performance.now() > deadline - marginMs) throw tooLate();
          },
        );
      });
    } catch (cause) {
      const error = explain(cause, signal);
      if (!attempted) logCall(request, caller, { outcome: error.code, fault: error.fault, ms: 0 });
      throw error;
    }
  }

  /** A call with all of its attempts, until it is `ended`: by its deadline, or whoever else may. */
  async function run<Answer>(
    request: UpstreamRequest,
    read: Read<Answer>,
    ended: AbortController,
    caller: AbortSignal,
  ): Promise<Answer> {
    const { retries } = policyOf(request.operation);
    const deadline = performance.now() + options.timeoutMs;
    const timer = setTimeout(() => ended.abort('deadline'), options.timeoutMs);
    budget.recordCall();
    try {
      for (let retry = 0; ; retry++) {
        try {
          return await once(request, read, ended.signal, caller, deadline);
        } catch (cause) {
          const error = explain(cause, ended.signal);
          if (!error.transient) throw error;
          const backoff = Math.random() * RETRY_BASE_MS * 2 ** (retry + 1);
          const wait = Math.max(error.retryAfterMs ?? 0, backoff);
          if (retry >= retries || performance.now() + wait >= deadline) throw error;
          if (!budget.takeRetry()) throw error;
          observer.retried(request.operation);
          await sleep(wait, undefined, { signal: ended.signal }).catch(() => {
            throw explain(error, ended.signal);
          });
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    call(request, read, caller) {
      const { operation, search, token } = request;
      if (policyOf(operation).shared) {
        const key = `${operation}${search} ${token}`;
        const start = (ended: AbortController) =>
          running.track(run(request, read, ended, ended.signal));
        return sharing.join(key, caller, start, () => observer.shared(operation));
      }
      sharing.recordWrite();
      writes.push(request);
      const done = () => {
        writes.splice(writes.indexOf(request), 1);
        sharing.recordWrite();
      };
      return running.track(run(request, read, new AbortController(), caller).finally(done));
    },
    pendingWrites: () => writes.map(({ requestId, operation }) => ({ requestId, operation })),
    settled: () => running.none(),
    get circuit() {
      return circuit.state;
    },
    get inFlight() {
      return bulkhead.inFlight;
    },
    get queued() {
      return bulkhead.queued;
    },
  };
}

/** The read that asks whether a service is back before a write goes out (section 4.1). */
const probe = {
  operation: 'getGLCodes5',
  search: '?target=-1&project=&includeHide=false',
} as const;

function tooLate(): UpstreamError {
  return new UpstreamError('UPSTREAM_TIMEOUT', { effect: 'none', fault: 'too late to send' });
}

/**
 * Decodes an answer and reads it, with pauses for others where it is long. What cannot be read is told by
 * its size alone, never by its words.
 */
async function understand<Answer>(
  { length, text }: UpstreamAnswer,
  read: Read<Answer>,
  wanted: AbortSignal | undefined,
): Promise<Answer> {
  try {
    const pieces = decode(text());
    let piece = pieces.next();
    for (; !piece.done; piece = pieces.next()) {
      await pause();
      wanted?.throwIfAborted();
    }
    if (length > LONG) await pause();
    return read(piece.value, length);
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    throw invalid(`not what the specification shows, ${length} bytes`);
  }
}

/** The failure of an attempt; where we ended it ourselves, why. `answered` is its status, once it is there. */
function explain(cause: unknown, signal: AbortSignal, answered?: number): UpstreamError {
  const error =
    cause instanceof UpstreamError
      ? cause
      : new UpstreamError('UPSTREAM_UNAVAILABLE', { effect: 'possible', fault: 'unknown' });
  if (!signal.aborted) return error;
  const { effect, status = answered } = error;
  return signal.reason === 'caller'
    ? new UpstreamError('CLIENT_GONE', { effect, status, fault: 'caller gone' })
    : new UpstreamError('UPSTREAM_TIMEOUT', { effect, status, fault: 'deadline' });
}
