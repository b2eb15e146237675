import { Gate, type NoPlaceReason } from '../../account/gate.ts';
import { UpstreamError } from '../upstream-error.ts';
import { CircuitBreaker, type CircuitChange, type GuardedAttempt } from './circuit-breaker.ts';

type AdmittedAttempt<Result> = GuardedAttempt<Result> & {
  readonly effect: 'read' | 'write';
  readonly signal: AbortSignal;
  /** Sends a read that tells whether the service has recovered. */
  probe(signal: AbortSignal): Promise<unknown>;
};

type AdmissionOptions = {
  maxConcurrency: number;
  timeoutMs: number;
  onCircuitChange(to: CircuitChange): void;
};

/** Admits attempts: each needs a place among the calls in flight, and the consent of the circuit breaker. */
export class Admission {
  readonly gate: Gate;
  readonly circuit: CircuitBreaker;
  readonly #timeoutMs: number;

  constructor({ maxConcurrency, timeoutMs, onCircuitChange }: AdmissionOptions) {
    this.gate = new Gate({
      limit: maxConcurrency,
      maxWaitMs: timeoutMs / 4, // So that a call is sent with time enough.
      rejection: (reason) => rejections[reason],
    });
    this.circuit = new CircuitBreaker(timeoutMs, onCircuitChange);
    this.#timeoutMs = timeoutMs;
  }

  /** Runs an attempt when there is a place for it. Throws an UpstreamError if it is not admitted. */
  async run<Result>(attempt: AdmittedAttempt<Result>): Promise<Result> {
    const { caller, effect, deadline, signal, probe } = attempt;
    // An attempt does not wait for a place in which it would be rejected.
    this.circuit.check(caller);
    if (!this.gate.tryEnter(caller)) {
      await this.gate.enter(caller, { isUrgent: effect === 'write', signal });
    }
    const timedProbe = () => {
      const leftMs = Math.max(0, deadline - performance.now());
      const probeMs = Math.min(this.#timeoutMs / 2, leftMs); // A hanging service leaves time to say so.
      return probe(AbortSignal.timeout(Math.ceil(probeMs))); // It throws for a fraction.
    };
    try {
      return await this.circuit.run(attempt, effect === 'write' ? timedProbe : undefined);
    } finally {
      this.gate.leave(caller);
    }
  }
}

/** Made once, because their stack takes longer than the rest of a rejection. */
const rejections: Record<NoPlaceReason, UpstreamError> = {
  aborted: new UpstreamError('UPSTREAM_UNAVAILABLE', { fault: 'aborted while queued' }),
  full: new UpstreamError('UPSTREAM_BUSY', { fault: 'queue full' }),
  late: new UpstreamError('UPSTREAM_BUSY', { fault: 'queued too long' }),
};
