import type { AdmissionKey } from '../../admission/gate.ts';
import { notBegun } from '../transport/send-once.ts';
import { UpstreamError } from '../upstream-error.ts';

/** How many faults in a row open the circuit: those of one caller for this caller, those of several callers for all. */
const FAULTS = 10;
/** How many callers must have had these faults before the circuit opens for all. */
const CALLERS = 3;
/** The least time between two probes, and between two probes of the same caller, in milliseconds. */
const PROBE_MS = 500;
const PROBE_OF_CALLER_MS = 4000;

const circuitOpen = new UpstreamError('UPSTREAM_UNAVAILABLE', {
  ...notBegun,
  fault: 'circuit open',
});

/** The state of the circuit when an attempt began, and whether the attempt had time enough to count. */
export type Begun = { readonly changes: number; readonly hasTime: boolean };

/**
 * Stops calling a service that fails, so that clients get an error at once, and the service can recover. Connection faults,
 * timeouts, and the statuses 502, 503 and 504 open the circuit. It opens only for the callers that have these faults. When
 * three callers have them, it opens for all (docs/decisions/0005).
 */
export class CircuitBreaker {
  readonly #timeoutMs: number;
  readonly #onChange: (to: 'open' | 'closed') => void;
  #faults = 0;
  /** How many of these faults each caller has had. */
  readonly #faultyCallers = new Map<string, number>();
  /** Incremented when the circuit opens or closes. */
  #changes = 0;
  /** When the last probe of each caller, and of all, started, in the time of `performance.now()`. */
  readonly #probes = new Map<string, number>();
  #probedAt = 0;

  /** `timeoutMs` is the timeout of an operation, in milliseconds. */
  constructor(timeoutMs: number, onChange: (to: 'open' | 'closed') => void) {
    this.#timeoutMs = timeoutMs;
    this.#onChange = onChange;
  }

  /** The state for the metric. `half-open` means that every caller may probe. Without requests, no probe is sent. */
  get state(): 'closed' | 'half-open' | 'open' {
    if (this.#faults < FAULTS) return 'closed';
    return performance.now() - this.#probedAt >= PROBE_OF_CALLER_MS ? 'half-open' : 'open';
  }

  /** Whether calls of this caller are rejected, unless they are probes. */
  isOpenFor(caller: AdmissionKey): boolean {
    if (this.#faults < FAULTS) return false;
    const own = this.#faultyCallers.get(caller) ?? 0;
    return this.#faultyCallers.size >= CALLERS || own >= FAULTS;
  }

  /** Throws if a call of this caller would be rejected now. A caller whose probe fails must not prevent the probes of others. */
  check(caller: AdmissionKey): void {
    if (!this.isOpenFor(caller)) return;
    const now = performance.now();
    const last = this.#probes.get(caller) ?? Number.NEGATIVE_INFINITY;
    if (now - this.#probedAt < PROBE_MS || now - last < PROBE_OF_CALLER_MS) throw circuitOpen;
  }

  /**
   * Lets an attempt be the probe of an open circuit, or sends `probe` first, because a write is never the probe itself. Throws if
   * it may not, or if the circuit is still open after that. The deadline is in the time of `performance.now()`.
   */
  async admit(caller: AdmissionKey, deadline: number, probe?: () => Promise<unknown>) {
    this.check(caller);
    this.#recordProbe(caller);
    if (!probe) return;
    const begun = this.begin(deadline);
    try {
      await probe();
      this.end(caller, begun);
    } catch (error) {
      this.end(caller, begun, error);
    }
    if (this.isOpenFor(caller)) throw circuitOpen;
  }

  /** Begins an attempt, which `end` must follow. */
  begin(deadline: number): Begun {
    const hasTime = performance.now() <= deadline - this.#timeoutMs / 2;
    return { changes: this.#changes, hasTime };
  }

  /** Ends an attempt, with its error if it has failed. */
  end(caller: AdmissionKey, { changes, hasTime }: Begun, error?: unknown): void {
    // An attempt that started before the circuit last changed does not show the present state of the service.
    if (changes !== this.#changes) return;
    const known = error instanceof UpstreamError ? error : undefined;
    // A response with an error of its own shows that the service responds.
    const isServed = error === undefined || known?.sent === 'yes';
    // The time that the gateway takes to decode a response is no fault of the service.
    const isLate = known?.code === 'UPSTREAM_TIMEOUT' && known.status === undefined;
    if (known?.transient || isLate) {
      if (hasTime) this.#recordFault(caller);
    } else if (isServed && this.#faults > 0) this.#recordSuccess();
  }

  #recordSuccess(): void {
    if (this.#faults >= FAULTS) this.#change('closed');
    this.#faults = 0;
    this.#faultyCallers.clear();
    this.#probes.clear();
  }

  #recordFault(caller: AdmissionKey): void {
    this.#faults += 1;
    this.#faultyCallers.set(caller, (this.#faultyCallers.get(caller) ?? 0) + 1);
    if (this.#faults !== FAULTS) return;
    this.#change('open');
    this.#probedAt = performance.now();
  }

  #change(to: 'open' | 'closed'): void {
    this.#changes += 1;
    this.#onChange(to);
  }

  #recordProbe(caller: AdmissionKey): void {
    this.#probedAt = performance.now();
    this.#probes.set(caller, this.#probedAt);
    for (const [earlier, at] of this.#probes) {
      if (this.#probedAt - at >= PROBE_OF_CALLER_MS) this.#probes.delete(earlier);
    }
  }
}
