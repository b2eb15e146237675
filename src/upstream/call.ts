import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { AdmissionKey } from '../admission/fair-shares.ts';
import { Gate } from '../admission/gate.ts';
import { remove } from '../lib/remove.ts';
import { reserveOrShorten } from '../lib/short-text.ts';
import { suspendedMs } from '../lib/suspension.ts';
import { WaitGroup } from '../lib/wait-group.ts';
import type { RequestScope } from '../request-scope.ts';
import { type AttemptDependencies, createAttempt } from './attempt.ts';
import { logCall, logUnexpected } from './call-log.ts';
import type { Operation, ReadRequest, UpstreamRequest, WriteRequest } from './operations.ts';
import type { ReadCache } from './read-cache.ts';
import { CircuitBreaker } from './resilience/circuit-breaker.ts';
import { delayOfRetry, RetryBudget } from './resilience/retry.ts';
import { memoryOf } from './responses.ts';
import { notBegun } from './transport/send-once.ts';
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
  /** Counts a write that is about to be sent. Undefined if it is counted, or need not be. */
  count(operation: Operation, scope: RequestScope): Promise<void> | undefined;
};

export type CallOptions = AttemptDependencies & {
  timeoutMs: number;
  maxConcurrency: number;
  readCache: ReadCache;
  /** The read that probes an open circuit before a write is sent (docs/decisions/0005). */
  probe: ReadRequest;
  /** Undefined if everything is allowed. */
  policy?: CallPolicy | undefined;
};

/** These errors are created once, because a stack trace takes longer than the rest of a rejection. */
const queueFull = new UpstreamError('UPSTREAM_BUSY', { ...notBegun, fault: 'queue full' });
const queuedTooLong = new UpstreamError('UPSTREAM_BUSY', { ...notBegun, fault: 'queued too long' });
const tooLate = new UpstreamError('UPSTREAM_TIMEOUT', { ...notBegun, fault: 'too late to send' });

/** An attempt to be made when there is a place for it. */
type Admission<Result> = {
  caller: AdmissionKey;
  /** In the time of `performance.now()`. */
  deadline: number;
  signal: AbortSignal;
  send(): Promise<Result>;
  /** For a write only: sends a read as the probe of an open circuit. */
  probe?: () => Promise<unknown>;
};

/** Runs the attempts of a call: with a deadline, retries of reads, a place among the calls in flight, and the circuit breaker. */
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
  readonly pendingWrites: { request: WriteRequest; requestId: string }[] = [];

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

  /**
   * Calls a read, or shares the call of an equal one, and reserves memory for its list in the request, until the response to the
   * client exists. Throws an UpstreamError if the call fails, and as `Reservation.reserve` does.
   */
  async read<Result>(request: ReadRequest<Result>, scope: RequestScope): Promise<Result> {
    const { operation, search } = request;
    this.#options.policy?.check(operation, scope);
    const result = await this.#options.readCache.read(
      `${operation.name}${search} ${scope.identity}`,
      scope,
      (controller) => this.inFlight.track(this.#runRead(request, scope, controller)),
      (source) => this.#options.observer.read(operation, source),
    );
    const reserving = scope.reservation.reserve(memoryOf(result), scope.signal);
    if (reserving) await reserving;
    return result;
  }

  /** Calls a write. Throws an UpstreamError only if the write had no effect. */
  async write<Result>(
    request: WriteRequest<Result>,
    scope: RequestScope,
  ): Promise<Result | OutcomeUnknown> {
    const { admissionKey } = scope.caller;
    this.#options.readCache.forget(admissionKey);
    try {
      const result = await this.inFlight.track(this.#runWrite(request, scope));
      // The response is held until it is recorded and encoded. The short form has the same type.
      return reserveOrShorten(result, scope.reservation) as Result;
    } catch (error) {
      const unknown = error instanceof UpstreamError && unknownOutcome(error, scope.requestId);
      if (unknown) return unknown;
      throw error;
    } finally {
      this.#options.readCache.forget(admissionKey);
    }
  }

  /** Attempts a read, and retries it. It ends when `controller` is aborted, because all clients that wait have disconnected. */
  async #runRead<Result>(
    request: ReadRequest<Result>,
    scope: RequestScope,
    controller: AbortController,
  ): Promise<Result> {
    const { observer, timeoutMs } = this.#options;
    const { signal } = controller;
    const { admissionKey } = scope.caller;
    const deadline = performance.now() + timeoutMs;
    const timer = abortLater(controller, timeoutMs);
    const budget = this.#retryBudgets.memo(admissionKey);
    let retry = 0;
    let isAttempted = false;
    const attempt = () => {
      isAttempted = true;
      return this.#attempt(request, scope, { signal, retry });
    };
    // Places become free in bursts, when clients disconnect.
    const send = () => scope.turn(signal)?.then(attempt) ?? attempt();
    try {
      for (;;) {
        try {
          isAttempted = false;
          const result = await this.#admit({ caller: admissionKey, deadline, signal, send });
          budget.recordSuccess();
          return result;
        } catch (error) {
          retry += 1;
          const delayMs = delayOfRetry(retry, error, { budget, deadline });
          if (delayMs === undefined) throw error;
          observer.retried(request.operation);
          await sleep(delayMs, undefined, { signal });
        }
      }
    } catch (cause) {
      throw this.#failed(request, scope, isAttempted, cause, signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Attempts a write, once. It goes on when its client disconnects. */
  async #runWrite<Result>(request: WriteRequest<Result>, scope: RequestScope): Promise<Result> {
    const controller = new AbortController();
    const { signal } = controller;
    const { operation } = request;
    const { requestId, caller } = scope;
    const now = performance.now();
    const deadline = Math.min(request.deadline ?? Infinity, now + this.#options.timeoutMs);
    const timer = abortLater(controller, deadline - now);
    const pending = { request, requestId };
    let isAttempted = false;
    try {
      const mayStart = this.#startOf(request, scope, deadline);
      const attempt = () => {
        isAttempted = true;
        this.pendingWrites.push(pending);
        return this.#attempt(request, scope, { signal, mayStart });
      };
      const send = () => {
        mayStart(); // It may have waited for its place. What is not sent is neither counted nor logged as sent.
        return this.#options.policy?.count(operation, scope)?.then(attempt) ?? attempt();
      };
      const probe = () => this.#probe(scope, signal);
      return await this.#admit({ caller: caller.admissionKey, deadline, signal, send, probe });
    } catch (cause) {
      throw this.#failed(request, scope, isAttempted, cause, signal);
    } finally {
      clearTimeout(timer);
      remove(this.pendingWrites, pending);
    }
  }

  /** Sends the probe of an open circuit. */
  #probe(scope: RequestScope, signal: AbortSignal): Promise<unknown> {
    // If the probe hangs, time is left to respond. The value is an integer, because `timeout` throws for a fraction.
    const half = AbortSignal.timeout(Math.ceil(this.#options.timeoutMs / 2));
    const signals = AbortSignal.any([signal, half]);
    return this.#attempt(this.#options.probe, scope, { signal: signals });
  }

  /** The error of a call that has failed. Logs what its attempt has not logged. */
  #failed(
    request: UpstreamRequest,
    scope: RequestScope,
    isAttempted: boolean,
    cause: unknown,
    signal: AbortSignal,
  ): UpstreamError {
    const { log } = this.#options;
    const error = toUpstreamError(cause, signal, isAttempted ? undefined : notBegun);
    const { code: outcome, fault } = error;
    logUnexpected(log, scope, cause, signal);
    // One disconnect can cancel thousands of queued reads. Only the request is logged then.
    const isLogged = isAttempted || outcome === 'CLIENT_DISCONNECTED';
    if (!isLogged) logCall(log, request, scope, { outcome, fault, ms: 0 });
    return error;
  }

  /** Checks a write, and returns a function that throws if it may not be sent any more when its connection is there. */
  #startOf({ operation }: WriteRequest, scope: RequestScope, deadline: number): () => void {
    const checkAgain = this.#options.policy?.check(operation, scope);
    return () => {
      // If the machine was suspended since the request arrived, for example during an earlier write, this one is late, too.
      const leftMs = deadline - performance.now() - suspendedMs(scope.wallOffset);
      // A twentieth of the timeout must be left. Others may take a late write for orphaned.
      if (leftMs < this.#options.timeoutMs / 20) throw tooLate;
      checkAgain?.();
    };
  }

  /** Makes an attempt when there is a place for it. Throws an UpstreamError if it is not admitted. */
  async #admit<Result>(attempt: Admission<Result>): Promise<Result> {
    const { gate, circuit } = this.admission;
    const { caller, deadline, signal, send, probe } = attempt;
    if (!gate.tryEnter(caller)) {
      circuit.check(caller); // If the circuit is open, it is rejected before it waits for a place.
      await gate.enter(caller, { isUrgent: probe !== undefined, signal });
    }
    let end: ReturnType<CircuitBreaker['begin']> | undefined;
    try {
      if (circuit.isOpenFor(caller)) await circuit.admit(caller, deadline, probe);
      end = circuit.begin(caller, deadline);
      const result = await send();
      end();
      return result;
    } catch (error) {
      end?.(error);
      throw error;
    } finally {
      gate.leave(caller);
    }
  }
}

/** Aborts a call after its timeout. If a response arrived while the process was busy or frozen, it is read before. */
function abortLater(controller: AbortController, timeoutMs: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(() => controller.abort('deadline')), timeoutMs);
}
