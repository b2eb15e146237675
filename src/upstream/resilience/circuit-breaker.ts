import {
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
  type IBreaker,
  isBrokenCircuitError,
  SamplingBreaker,
} from 'cockatiel';
import { notSent, UpstreamError } from '../upstream-error.ts';
import { FaultQuota } from './fault-quota.ts';

/** Consecutive faults that open the circuit. */
const CONSECUTIVE_FAULTS = 10;
/** It also opens when half of the attempts of ten seconds fail, at five attempts a second or more. */
const FREQUENT_FAULTS = { threshold: 0.5, duration: 10_000, minimumRps: 5 };
/** Milliseconds before a probe; the delay grows from the first value to the second. */
const OPEN_MS = { initialDelay: 500, maxDelay: 4000 };

/** The share of the timeout that an attempt must have left, for its timeout to count as a fault. */
const MIN_TIME_SHARE = 0.5;
/** The share of the timeout that a probe gets, so that a hanging service does not delay the next probe. */
const PROBE_SHARE = 0.5;
/** How long a caller whose probe failed leaves the next probes to others that wait for one, in milliseconds. */
const PROBE_YIELD_MS = 5000;

const noProbe = { caller: '', othersWaitedAt: 0 };

/** An attempt at an operation on behalf of a caller. */
export type GuardedAttempt<Result> = {
  readonly caller: string;
  /** In the time of `performance.now()`. */
  readonly deadline: number;
  /** A probe has its own signal: it continues when the client that caused it disconnects. */
  send(probeSignal?: AbortSignal): Promise<Result>;
};

/**
 * Stops calling a service that fails, so that clients get an error at once and the service can recover
 * (docs/decisions/0005). Connection faults, timeouts and 5xx count as faults, within the quota of their
 * caller; a 4xx or a status record does not.
 */
export class CircuitBreaker {
  readonly #policy = circuitBreaker(handleWhen(isFault), {
    halfOpenAfter: new ExponentialBackoff(OPEN_MS),
    breaker: anyOf(
      new ConsecutiveBreaker(CONSECUTIVE_FAULTS),
      new SamplingBreaker(FREQUENT_FAULTS),
    ),
  });
  readonly #quota = new FaultQuota();
  readonly #timeoutMs: number;
  #changes = 0;
  /** When the circuit last opened or a probe last failed, in the time of `Date.now()`, as in the policy. */
  #openedAt = 0;
  /** The caller of all faults since the last success, null if there are several, undefined if none. */
  #faultsOf: string | null | undefined;
  /** The caller of the last probe, if it failed, and when another caller was last rejected after it. */
  #failedProbe = noProbe;

  /** `timeoutMs` is the timeout of an operation, in milliseconds. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#policy.onStateChange((state) => {
      this.#changes += 1;
      if (state === CircuitState.Open) this.#openedAt = Date.now();
      if (state !== CircuitState.Closed) return;
      this.#faultsOf = undefined;
      this.#failedProbe = noProbe;
    });
  }

  /** For the metric. Also `half-open` while a probe is due: without requests, none is sent. */
  get state(): 'closed' | 'half-open' | 'open' {
    if (this.#policy.state === CircuitState.Closed) return 'closed';
    const isDue = Date.now() - this.#openedAt >= OPEN_MS.maxDelay;
    return isDue || this.#policy.state === CircuitState.HalfOpen ? 'half-open' : 'open';
  }

  /** Whether calls of this caller are rejected. A circuit that one caller opened is open only for that caller. */
  isOpenFor(caller: string): boolean {
    if (this.#policy.state === CircuitState.Closed) return false;
    return this.#faultsOf === null || this.#faultsOf === undefined || this.#faultsOf === caller;
  }

  /** Runs an attempt of a read. It serves as the probe if one is due. */
  async read<Result>(attempt: GuardedAttempt<Result>): Promise<Result> {
    const { caller } = attempt;
    // One probe at a time; other calls are rejected at once instead of waiting for it.
    if (
      this.isOpenFor(caller) &&
      (this.#policy.state === CircuitState.HalfOpen || this.#leavesProbeToOthers(caller))
    ) {
      throw this.#rejection(caller);
    }
    return this.#run(attempt);
  }

  /** Runs an attempt of a write. A write is never a probe: if one is due, `probe` runs first. */
  async write<Result>(
    attempt: GuardedAttempt<Result>,
    probe: GuardedAttempt<unknown>['send'],
  ): Promise<Result> {
    const { caller } = attempt;
    // The result of the probe does not matter, only whether it closed the circuit.
    if (this.isOpenFor(caller)) await this.read({ ...attempt, send: probe }).catch(() => {});
    if (this.isOpenFor(caller)) throw this.#rejection(caller);
    return this.#run(attempt);
  }

  async #run<Result>(attempt: GuardedAttempt<Result>): Promise<Result> {
    const isClosed = this.#policy.state === CircuitState.Closed;
    try {
      if (isClosed) return await this.#policy.execute(() => this.#observe(attempt));
      if (!this.isOpenFor(attempt.caller)) return await this.#observe(attempt);
      return await this.#policy.execute(() => this.#probe(attempt));
    } catch (error) {
      if (error instanceof UncountedFault) throw error.fault;
      throw isBrokenCircuitError(error) ? this.#rejection(attempt.caller) : error;
    }
  }

  /** Runs an attempt, and throws an UncountedFault for a fault that does not count. */
  async #observe<Result>({ caller, deadline, send }: GuardedAttempt<Result>): Promise<Result> {
    const before = this.#changes;
    const hadTime = performance.now() <= deadline - this.#timeoutMs * MIN_TIME_SHARE;
    this.#quota.recordAttempt(caller);
    try {
      const result = await send();
      if (this.#policy.state === CircuitState.Closed) this.#faultsOf = undefined;
      return result;
    } catch (error) {
      if (!isFault(error)) throw error;
      const isLate = error.code === 'UPSTREAM_TIMEOUT' && !hadTime;
      // An attempt that started before the circuit last changed says nothing about the service now.
      if (isLate || before !== this.#changes) throw new UncountedFault(error);
      if (!this.#quota.admits(caller, isAmbiguous(error))) throw new UncountedFault(error);
      this.#faultsOf = this.#faultsOf === undefined || this.#faultsOf === caller ? caller : null;
      throw error;
    }
  }

  /** Runs an attempt that closes the circuit, unless it fails in a way that the caller cannot cause alone. */
  async #probe<Result>({ caller, deadline, send }: GuardedAttempt<Result>): Promise<Result> {
    this.#quota.recordAttempt(caller);
    const leftMs = Math.max(0, deadline - performance.now());
    try {
      return await send(AbortSignal.timeout(Math.min(this.#timeoutMs * PROBE_SHARE, leftMs)));
    } catch (error) {
      if (!isFault(error)) throw error;
      // The service responds. If it does so to several callers, they open the circuit again.
      if (isAmbiguous(error)) throw new UncountedFault(error);
      this.#failedProbe = { caller, othersWaitedAt: 0 };
      throw error;
    }
  }

  #leavesProbeToOthers(caller: string): boolean {
    const last = this.#failedProbe;
    return caller === last.caller && Date.now() - last.othersWaitedAt < PROBE_YIELD_MS;
  }

  #rejection(caller: string): UpstreamError {
    const last = this.#failedProbe;
    if (caller !== last.caller) this.#failedProbe = { ...last, othersWaitedAt: Date.now() };
    return notSent('circuit open');
  }
}

/** A fault that says nothing about the state of the service. */
class UncountedFault {
  readonly fault: unknown;

  constructor(fault: unknown) {
    this.fault = fault;
  }
}

/** Whether the request may be the cause of this fault: a 5xx of the service itself, not of a proxy. */
function isAmbiguous(error: UpstreamError): boolean {
  return error.code === 'UPSTREAM_FAILED' && !error.transient;
}

function isFault(error: unknown): error is UpstreamError {
  if (!(error instanceof UpstreamError)) return false;
  switch (error.code) {
    case 'UPSTREAM_TIMEOUT':
      // Time spent in our decode queue is not a service fault.
      return error.status === undefined;
    case 'UPSTREAM_FAILED':
    case 'UPSTREAM_UNAVAILABLE':
      return true;
    default:
      return error.transient;
  }
}

/** A breaker that opens when one of two does. Both count every attempt. */
function anyOf(first: IBreaker, second: IBreaker): IBreaker {
  return {
    get state() {
      return [first.state, second.state];
    },
    set state(_) {},
    success(state) {
      first.success(state);
      second.success(state);
    },
    failure(state) {
      const opens = [first.failure(state), second.failure(state)];
      return opens.includes(true);
    },
  };
}
