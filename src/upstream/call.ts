import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Gate } from '../admission/gate.ts';
import { remove } from '../lib/remove.ts';
import { reserveOrShorten } from '../lib/short-text.ts';
import { suspendedMs } from '../lib/suspension.ts';
import type { RequestScope } from '../request-scope.ts';
import { type Attempt, type AttemptDependencies, createAttempt } from './attempt.ts';
import type { AnyMember, Operation, ReadRequest, WriteRequest } from './operations.ts';
import type { ReadCache } from './read-cache.ts';
import { type Begun, CircuitBreaker } from './resilience/circuit-breaker.ts';
import { RetryBudget } from './resilience/retry.ts';
import { memoryOf } from './responses.ts';
import { notBegun } from './transport/send-once.ts';
import {
  type OutcomeUnknown,
  toUpstreamError,
  UpstreamError,
  unknownOutcome,
} from './upstream-error.ts';

export type Reads = Pick<UpstreamCalls, 'read'>;
/** Writes, each with the union member for its outcome: those of `IdempotentCalls`, and of `createAudit` around it. */
export type Writes = {
  /** Throws an error only if the write had no effect. */
  write<Member extends AnyMember>(
    request: WriteRequest<unknown, Member>,
    scope: RequestScope,
  ): Promise<Member | OutcomeUnknown>;
};

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

/** A call while it runs, with what becomes of its next attempt. */
type Call<Result> = Attempt<Result> & {
  /** In the time of `performance.now()`. */
  readonly deadline: number;
  /** Whether its latest attempt has begun. */
  isAttempted: boolean;
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
  /** The writes that are being sent or were sent, whose outcome a forced exit would lose. */
  readonly pendingWrites: { readonly request: WriteRequest; readonly scope: RequestScope }[] = [];

  constructor(options: CallOptions) {
    this.#options = options;
    this.#attempt = createAttempt(options);
    const { maxConcurrency, observer, timeoutMs } = options;
    const gate = new Gate({
      limit: maxConcurrency,
      maxWaitMs: timeoutMs / 4, // So that enough time is left for the call itself.
      rejection: queueFull,
      lateRejection: queuedTooLong,
    });
    const circuit = new CircuitBreaker(timeoutMs, (to) => observer.circuitChanged(to));
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
      (controller) => this.#runRead(request, scope, controller),
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
      const result = await this.#runWrite(request, scope);
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

  /** Logs the writes in flight, before an exit that does not wait for them. */
  logPendingWrites(): void {
    const { observer } = this.#options;
    for (const { request, scope } of this.pendingWrites) observer.interrupted(request, scope);
  }

  /** Attempts a read, and retries it. It ends when `controller` is aborted, because all clients that wait have disconnected. */
  async #runRead<Result>(
    request: ReadRequest<Result>,
    scope: RequestScope,
    controller: AbortController,
  ): Promise<Result> {
    const { observer, timeoutMs } = this.#options;
    const { signal } = controller;
    const deadline = performance.now() + timeoutMs;
    const timer = abortLater(controller, timeoutMs);
    const budget = this.#retryBudgets.memo(scope.caller.admissionKey);
    const call = { request, scope, signal, deadline, retry: 0, isAttempted: false };
    try {
      for (;;) {
        try {
          const result = await this.#admit(call);
          budget.recordSuccess();
          return result;
        } catch (error) {
          call.retry += 1;
          const delayMs = budget.delayOf(call.retry, error, deadline);
          if (delayMs === undefined) throw error;
          observer.retried(request.operation);
          await sleep(delayMs, undefined, { signal });
        }
      }
    } catch (cause) {
      throw this.#failed(call, cause);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Attempts a write, once. It goes on when its client disconnects. */
  async #runWrite<Result>(request: WriteRequest<Result>, scope: RequestScope): Promise<Result> {
    const { policy, timeoutMs } = this.#options;
    const controller = new AbortController();
    const { signal } = controller;
    const { operation } = request;
    const now = performance.now();
    const deadline = Math.min(request.deadline ?? Infinity, now + timeoutMs);
    const timer = abortLater(controller, Math.max(0, deadline - now));
    let checkAgain: (() => void) | undefined;
    /** Called when the write has its place, and again when it has its connection. */
    const mayStart = () => {
      // If the machine was suspended since the request arrived, for example during an earlier write, this one is late, too.
      const leftMs = deadline - performance.now() - suspendedMs(scope.wallOffset);
      // A twentieth of the timeout must be left. Others may take a late write for orphaned.
      if (leftMs < timeoutMs / 20) throw tooLate;
      checkAgain?.();
    };
    const call = { request, scope, signal, deadline, retry: 0, isAttempted: false, mayStart };
    try {
      checkAgain = policy?.check(operation, scope);
      return await this.#admit(call);
    } catch (cause) {
      throw this.#failed(call, cause);
    } finally {
      clearTimeout(timer);
      remove(this.pendingWrites, call);
    }
  }

  /** The error of a call that has failed. Logs what its attempt has not logged. */
  #failed({ request, scope, signal, isAttempted }: Call<unknown>, cause: unknown): UpstreamError {
    const { observer } = this.#options;
    const error = toUpstreamError(cause, signal, isAttempted ? undefined : notBegun);
    const { code: outcome, fault } = error;
    observer.unexpected(cause, scope, signal);
    // One disconnect can cancel thousands of queued reads. Only the request is logged then.
    const isLogged = isAttempted || outcome === 'CLIENT_DISCONNECTED';
    if (!isLogged) observer.ended(request, scope, { outcome, fault });
    return error;
  }

  /** Makes an attempt when there is a place for it. Throws an UpstreamError if it is not admitted. */
  async #admit<Result>(call: Call<Result>): Promise<Result> {
    const { gate, circuit } = this.admission;
    const { request, scope, signal, deadline, mayStart } = call;
    const { admissionKey } = scope.caller;
    call.isAttempted = false;
    if (!gate.tryEnter(admissionKey)) {
      circuit.check(admissionKey); // If the circuit is open, it is rejected before it waits for a place.
      await gate.enter(admissionKey, { isUrgent: mayStart !== undefined, signal });
    }
    let begun: Begun | undefined;
    try {
      if (circuit.isOpenFor(admissionKey)) {
        await circuit.admit(admissionKey, deadline, mayStart && (() => this.#probe(call)));
      }
      begun = circuit.begin(deadline);
      mayStart?.(); // It may have waited for its place. What is not sent is neither counted nor logged as sent.
      // Places become free in bursts, when clients disconnect, so reads take turns.
      const waiting = mayStart
        ? this.#options.policy?.count(request.operation, scope)
        : scope.turn(signal);
      if (waiting) await waiting;
      call.isAttempted = true;
      if (call.mayStart) this.pendingWrites.push(call);
      const result = await this.#attempt(call);
      circuit.end(admissionKey, begun);
      return result;
    } catch (error) {
      // A write that the gateway did not send in time says nothing about the service.
      if (begun && error !== tooLate) circuit.end(admissionKey, begun, error);
      throw error;
    } finally {
      gate.leave(admissionKey);
    }
  }

  /** Sends a read as the probe of an open circuit, before a write. */
  #probe({ scope, signal }: Call<unknown>): Promise<unknown> {
    const { probe: request, timeoutMs } = this.#options;
    // If the probe hangs, time is left to respond. The value is an integer, because `timeout` throws for a fraction.
    const half = AbortSignal.timeout(Math.ceil(timeoutMs / 2));
    return this.#attempt({ request, scope, signal: AbortSignal.any([signal, half]), retry: 0 });
  }
}

/** Aborts a call after its timeout. If a response arrived while the process was busy or frozen, it is read before. */
function abortLater(controller: AbortController, timeoutMs: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(() => controller.abort('deadline')), timeoutMs);
}
