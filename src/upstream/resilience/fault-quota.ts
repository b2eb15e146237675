import { LRUCache } from 'lru-cache';

/** How long attempts and faults are remembered, in milliseconds. */
const WINDOW_MS = 10_000;
/** Faults of one caller that count within a window: fewer than it takes to open the circuit. */
const FAULTS_PER_CALLER = 5;
/** Callers whose faults are counted. Forgetting one only gives it a new quota. */
const MAX_CALLERS = 10_000;

/**
 * Decides which faults count in the circuit breaker, so that one caller cannot open it for others
 * (docs/decisions/0005). A caller that is alone has no quota.
 */
export class FaultQuota {
  readonly #attempts = new LastCallers();
  readonly #faults = new LastCallers();
  readonly #counted = new LRUCache<string, number>({
    max: MAX_CALLERS,
    ttl: WINDOW_MS,
    noUpdateTTL: true,
    perf: Date,
  });

  /** Call for each attempt. */
  recordAttempt(caller: string): void {
    this.#attempts.add(caller);
  }

  /** Whether a fault counts. `isAmbiguous` if the request of the caller may be its cause, not the service. */
  admits(caller: string, isAmbiguous: boolean): boolean {
    this.#faults.add(caller);
    if (isAmbiguous && !this.#faults.hasOther(caller)) return false;
    const counted = this.#counted.get(caller) ?? 0;
    if (counted >= FAULTS_PER_CALLER && this.#attempts.hasOther(caller)) return false;
    this.#counted.set(caller, counted + 1);
    return true;
  }
}

/** The last two callers of something. */
class LastCallers {
  #last = { caller: '', at: 0 };
  #other = this.#last;

  add(caller: string): void {
    if (caller !== this.#last.caller) this.#other = this.#last;
    this.#last = { caller, at: Date.now() };
  }

  /** Whether one of them, within the window, was another caller. */
  hasOther(caller: string): boolean {
    const { at } = caller === this.#last.caller ? this.#other : this.#last;
    return Date.now() - at < WINDOW_MS;
  }
}
