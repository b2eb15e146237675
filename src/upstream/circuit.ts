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
import { refused, UpstreamError } from './errors.ts';

/** Faults in a row that open the circuit. */
const CONSECUTIVE_FAULTS = 10;
/** Half of the attempts of ten seconds failing, at five a second or more, opens it too. */
const FREQUENT_FAULTS = { threshold: 0.5, duration: 10_000, minimumRps: 5 };
/** How long it stays open before a probe, in milliseconds: longer each time, up to the second. */
const OPEN_MS = { initialDelay: 500, maxDelay: 4000 };

export type Circuit = {
  readonly state: 'closed' | 'half-open' | 'open';
  /** Makes an attempt at a read, which is the probe where one is due. */
  read<Answer>(attempt: () => Promise<Answer>): Promise<Answer>;
  /** Makes an attempt at a write. Where a probe is due, `probe` goes first: a write never is one. */
  write<Answer>(
    attempt: () => Promise<Answer>,
    probe: () => Promise<unknown>,
    /** Throws where the write may not go out any more. */
    mayGo: () => void,
  ): Promise<Answer>;
};

/**
 * Stops calling a service that fails, so that callers learn it at once and the service can recover.
 * Faults are what the service or the way to it does wrong, never a 4xx or a status record.
 */
export function createCircuit(): Circuit {
  const policy = circuitBreaker(handleWhen(isFault), {
    halfOpenAfter: new ExponentialBackoff(OPEN_MS),
    breaker: either(
      new ConsecutiveBreaker(CONSECUTIVE_FAULTS),
      new SamplingBreaker(FREQUENT_FAULTS),
    ),
  });

  let changes = 0;
  policy.onStateChange(() => {
    changes += 1;
  });

  /** Makes an attempt and judges the service by it, unless the circuit has changed since it began. */
  async function execute<Answer>(attempt: () => Promise<Answer>): Promise<Answer> {
    try {
      return await policy.execute(async () => {
        const before = changes;
        try {
          return await attempt();
        } catch (error) {
          throw before === changes ? error : new Outdated(error);
        }
      });
    } catch (error) {
      if (error instanceof Outdated) throw error.fault;
      throw isBrokenCircuitError(error) ? refused('circuit open') : error;
    }
  }

  async function read<Answer>(attempt: () => Promise<Answer>): Promise<Answer> {
    // One probe at a time; whoever else comes is told at once instead of waiting for it.
    if (policy.state === CircuitState.HalfOpen) throw refused('circuit open');
    return execute(attempt);
  }

  const isClosed = () => policy.state === CircuitState.Closed;
  return {
    get state() {
      if (isClosed()) return 'closed';
      return policy.state === CircuitState.HalfOpen ? 'half-open' : 'open';
    },
    read,
    async write(attempt, probe, mayGo) {
      // Whatever the probe was answered, a 4xx too: what counts is whether it closed the circuit.
      if (!isClosed()) await read(probe).catch(() => {});
      if (!isClosed()) throw refused('circuit open');
      mayGo();
      return execute(attempt);
    },
  };
}

/** A fault that tells of the service as it was before the circuit opened or closed. */
class Outdated {
  readonly fault: unknown;

  constructor(fault: unknown) {
    this.fault = fault;
  }
}

function isFault(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false;
  switch (error.code) {
    case 'UPSTREAM_TIMEOUT':
      // One that was answered in time, and waited here for its turn, is no fault of the service.
      return error.status === undefined || error.status >= 300;
    case 'UPSTREAM_FAILED':
    case 'UPSTREAM_UNAVAILABLE':
      return true;
    default:
      return error.transient;
  }
}

/** A breaker that opens when one of two would. Both count every attempt. */
function either(first: IBreaker, second: IBreaker): IBreaker {
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
