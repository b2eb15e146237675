import { LRUCache } from 'lru-cache';
import { Gate } from '../admission/gate.ts';
import { countDown } from '../lib/count-down.ts';
import { remove } from '../lib/remove.ts';
import { reserveOrShorten } from '../lib/short-text.ts';
import { WaitGroup } from '../lib/wait-group.ts';
import type { RequestScope } from '../request-scope.ts';
import { type AttemptDependencies, createAttempt } from './attempt.ts';
import { logCall, logUnexpected } from './call-log.ts';
import type { Operation, ReadRequest, UpstreamRequest, WriteRequest } from './operations.ts';
import type { ReadCache } from './read-cache.ts';
import { CircuitBreaker, type GuardedAttempt } from './resilience/circuit-breaker.ts';
import { RetryBudget, withRetries } from './resilience/retry.ts';
import {
  type OutcomeUnknown,
  toUpstreamError,
  UpstreamError,
  unknownOutcome,
} from './upstream-error.ts';

/** Calls of operations: `UpstreamCalls` sends them, `IdempotentCalls` adds idempotency keys to writes. */
export type Calls = Pick<UpstreamCalls, 'read' | 'write'>;

/** Who may call what, and how often (policy/policy.ts). What it throws means that nothing was sent. */
export type CallPolicy = {
  /** Checks a call, and returns a function that checks it again, right before it is sent. */
  check(operation: Operation, scope: RequestScope): () => void;
  /** Counts a write that is about to be sent. Undefined if it need not be counted. */
  count(operation: Operation, scope: RequestScope): Promise<void> | undefined;
};

type CallOptions = AttemptDependencies & {
  timeoutMs: number;
  maxConcurrency: number;
  readCache: ReadCache;
  /** The read that probes an open circuit before a write is sent. */
  probe: ReadRequest;
  policy: CallPolicy;
};

/** These errors are created once, because a stack trace takes longer than the rest of a rejection. */
const queueFull = new UpstreamError('UPSTREAM_BUSY', { fault: 'queue full' });
const queuedTooLong = new UpstreamError('UPSTREAM_BUSY', { fault: 'queued too long' });
const tooLate = new UpstreamError('UPSTREAM_TIMEOUT', { fault: 'too late to send' });
/** What is known of a request before its attempt begins: it is not sent, whatever fails. */
const notAttempted = new UpstreamError('UPSTREAM_UNAVAILABLE', { fault: 'not attempted' });

/**
 * Runs the attempts of a call. Sets its deadline, retries reads, and admits each attempt: an attempt needs a place among the
 * calls in flight, and the circuit breaker must let it pass.
 */
export class UpstreamCalls {
  readonly #options: CallOptions;
  readonly #attempt: ReturnType<typeof createAttempt>;
  readonly admission: { readonly gate: Gate; readonly circuit: CircuitBreaker };
  /** A retry budget for each caller, so that the faults of one caller do not use up the retries of others. */
  readonly #retryBudgets = new LRUCache<string, RetryBudget>({
    max: 1000,
    memoMethod: () => new RetryBudget(),
  });
  /** The calls in flight. A write continues after its client has disconnected. */
  readonly inFlight = new WaitGroup();
  /** The writes that are being sent or were sent, whose outcome a forced exit would lose. */
  readonly pendingWrites: { operation: string; requestId: string }[] = [];

  constructor(options: CallOptions) {
    this.#options = options;
    this.#attempt = createAttempt(options);
    const { log, maxConcurrency, observer, timeoutMs } = options;
    const gate = new Gate({
      limit: maxConcurrency,
      maxWaitMs: timeoutMs / 4, // So that enough time is left for the call itself.
      rejection: (reason) => (reason === 'full' ? queueFull : queuedTooLong),
    });
    const circuit = new CircuitBreaker(timeoutMs, (to) => {
      observer.circuitChanged(to);
      if (to === 'open') log.warn({ service: 'ledger' }, 'circuit opened');
      else log.info({ service: 'ledger' }, 'circuit closed');
    });
    this.admission = { gate, circuit };
  }

  /** Calls a read, or shares the call of an equal one. Throws an UpstreamError if it fails. */
  async read<Result>(request: ReadRequest<Result>, scope: RequestScope): Promise<Result> {
    const { operation, search } = request;
    this.#options.policy.check(operation, scope);
    return this.#options.readCache.read(
      `${operation.name}${search} ${scope.identity}`,
      scope,
      (controller) => this.inFlight.track(this.#run(request, scope, controller)),
      (source) => this.#options.observer.read(operation, source),
    );
  }

  /** Calls a write. Throws an UpstreamError only if the write had no effect. */
  async write<Result>(
    request: WriteRequest<Result>,
    scope: RequestScope,
  ): Promise<Result | OutcomeUnknown> {
    const caller = scope.caller.admissionKey;
    this.#options.readCache.forget(caller);
    try {
      // A write has a controller of its own, because it does not end when its client disconnects.
      const controller = new AbortController();
      const timeoutMs = Math.min(request.timeoutMs ?? Infinity, this.#options.timeoutMs);
      const running = this.#run(request, scope, controller, timeoutMs);
      const result = await this.inFlight.track(running);
      // The response is held until it is recorded and encoded. The short form has the same type.
      return reserveOrShorten(result, scope.reservation) as Result;
    } catch (error) {
      const unknown = error instanceof UpstreamError && unknownOutcome(error, scope.requestId);
      if (unknown) return unknown;
      throw error;
    } finally {
      this.#options.readCache.forget(caller);
    }
  }

  async #run<Result>(
    request: UpstreamRequest<Result>,
    scope: RequestScope,
    controller: AbortController,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<Result> {
    const { signal } = controller;
    const deadline = performance.now() + timeoutMs;
    // If a response arrived while the process was busy or frozen, it is read before the call ends.
    const abort = () => setImmediate(() => controller.abort('deadline'));
    const timer = setTimeout(abort, timeoutMs);
    const onRetry = () => this.#options.observer.retried(request.operation);
    const isWrite = request.operation.effect === 'write';
    const caller = scope.caller.admissionKey;
    const budget = this.#retryBudgets.memo(caller);
    // Reads are retried after connection faults, 502, 503 and 504. A write is sent once.
    const retries = isWrite ? 0 : 2;
    const options = { retries, deadline, signal, budget, onRetry };
    const sendProbe = () => {
      // If the probe hangs, time is left to respond. The value is an integer, because `timeout` throws for a fraction.
      const half = AbortSignal.timeout(Math.ceil(this.#options.timeoutMs / 2));
      return this.#attempt(this.#options.probe, scope, AbortSignal.any([signal, half]));
    };
    const probe = isWrite ? sendProbe : undefined;
    let isAttempted = false; // The attempt itself is logged then.
    const pending = { operation: request.operation.name, requestId: scope.requestId };
    try {
      const mayStart = isWrite ? this.#startOf(request, scope, timeoutMs) : undefined;
      return await withRetries(options, (retry) => {
        isAttempted = false;
        const attempt = () => {
          isAttempted = true;
          if (isWrite) this.pendingWrites.push(pending);
          return this.#attempt(request, scope, signal, mayStart, retry);
        };
        const countAndAttempt = () => {
          mayStart?.(); // It may have waited for its place. What is not sent is neither counted nor logged as sent.
          return this.#options.policy.count(request.operation, scope)?.then(attempt) ?? attempt();
        };
        // Places become free in bursts, when clients disconnect.
        const takeTurn = () => scope.turn(signal)?.then(attempt) ?? attempt();
        const send = isWrite ? countAndAttempt : takeTurn;
        return this.#admit({ caller, deadline, send, probe }, signal);
      });
    } catch (cause) {
      const error = toUpstreamError(cause, signal, isAttempted ? undefined : notAttempted);
      const { code: outcome, fault } = error;
      logUnexpected(this.#options.log, scope, cause, signal);
      // One disconnect can cancel thousands of queued reads. Only the request is logged then.
      const isLogged = isAttempted || outcome === 'CLIENT_DISCONNECTED';
      if (!isLogged) logCall(this.#options.log, request, scope, { outcome, fault, ms: 0 });
      throw error;
    } finally {
      clearTimeout(timer);
      if (isWrite) remove(this.pendingWrites, pending);
    }
  }

  /** Checks a write, and returns a function that throws if it may not be sent any more when its connection is there. */
  #startOf({ operation }: UpstreamRequest, scope: RequestScope, timeoutMs: number): () => void {
    const checkAgain = this.#options.policy.check(operation, scope);
    // If the machine was suspended since the request arrived, for example during an earlier write, this one is late, too.
    const leftMs = countDown(timeoutMs, scope.wallOffset);
    return () => {
      // A twentieth of the timeout must be left. Others may take a late write for orphaned.
      if (leftMs() < this.#options.timeoutMs / 20) throw tooLate;
      checkAgain();
    };
  }

  /** Runs an attempt when there is a place for it. Throws an UpstreamError if it is not admitted. */
  async #admit<Result>(attempt: GuardedAttempt<Result>, signal: AbortSignal): Promise<Result> {
    const { gate, circuit } = this.admission;
    const { caller, probe } = attempt;
    // If the circuit is open, the attempt is rejected before it waits for a place.
    circuit.check(caller);
    if (!gate.tryEnter(caller)) await gate.enter(caller, { isUrgent: probe !== undefined, signal });
    try {
      return await circuit.run(attempt);
    } finally {
      gate.leave(caller);
    }
  }
}
