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

/** Consecutive faults that open the circuit. */
const CONSECUTIVE_FAULTS = 10;
/** It also opens when half of the attempts of ten seconds fail, at five attempts a second or more. */
const FREQUENT_FAULTS = { threshold: 0.5, duration: 10_000, minimumRps: 5 };
/** Milliseconds before a probe; the delay grows from the first value to the second. */
const OPEN_MS = { initialDelay: 500, maxDelay: 4000 };

export type CircuitBreaker = {
  readonly state: 'closed' | 'half-open' | 'open';
  /** Runs an attempt of a read. It serves as the probe if one is due. */
  read<Result>(attempt: () => Promise<Result>): Promise<Result>;
  /** Runs an attempt of a write. A write is never a probe: if one is due, `probe` runs first. */
  write<Result>(
    attempt: () => Promise<Result>,
    probe: () => Promise<unknown>,
    /** Called right before the attempt. Throws if the write must not be sent any more. */
    checkBeforeSending: () => void,
  ): Promise<Result>;
};

/**
 * Stops calling a service that fails, so that clients get an error at once and the service can recover
 * (docs/decisions/0005). Connection faults, timeouts and 5xx count as faults; a 4xx or a status record
 * does not.
 */
export function createCircuitBreaker(): CircuitBreaker {
  const policy = circuitBreaker(handleWhen(isFault), {
    halfOpenAfter: new ExponentialBackoff(OPEN_MS),
    breaker: anyOf(
      new ConsecutiveBreaker(CONSECUTIVE_FAULTS),
      new SamplingBreaker(FREQUENT_FAULTS),
    ),
  });

  let changes = 0;
  policy.onStateChange(() => {
    changes += 1;
  });

  /** Runs an attempt and counts its result, unless the circuit has changed since the attempt started. */
  async function execute<Result>(attempt: () => Promise<Result>): Promise<Result> {
    try {
      return await policy.execute(async () => {
        const before = changes;
        try {
          return await attempt();
        } catch (error) {
          throw before === changes ? error : new OutdatedFault(error);
        }
      });
    } catch (error) {
      if (error instanceof OutdatedFault) throw error.fault;
      throw isBrokenCircuitError(error) ? notSent('circuit open') : error;
    }
  }

  async function read<Result>(attempt: () => Promise<Result>): Promise<Result> {
    // One probe at a time; other calls are rejected at once instead of waiting for it.
    if (policy.state === CircuitState.HalfOpen) throw notSent('circuit open');
    return execute(attempt);
  }

  const isClosed = () => policy.state === CircuitState.Closed;
  return {
    get state() {
      if (isClosed()) return 'closed';
      return policy.state === CircuitState.HalfOpen ? 'half-open' : 'open';
    },
    read,
    async write(attempt, probe, checkBeforeSending) {
      // The result of the probe does not matter, only whether it closed the circuit.
      if (!isClosed()) await read(probe).catch(() => {});
      if (!isClosed()) throw notSent('circuit open');
      checkBeforeSending();
      return execute(attempt);
    },
  };
}

/** A fault of an attempt that started before the circuit last opened or closed. */
class OutdatedFault {
  readonly fault: unknown;

  constructor(fault: unknown) {
    this.fault = fault;
  }
}

function isFault(error: unknown): boolean {
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
