/** The mean event-loop delay above which the process is overloaded, in milliseconds. */
const LATE_MS = 150;
/** Consecutive late samples that count as overload: a single one is a cold start or a garbage collection. */
const LATE_SAMPLES = 2;
/** Requests in progress while overloaded. More at the same time would only cost memory and its collection. */
const MIN_CONCURRENCY = 64;
/** The share of time that the event loop works, below which it has time for more requests. */
const MAX_UTILIZATION = 0.9;
/** The longest time that a request may have to wait for its turn, in milliseconds. */
const MAX_WAIT_MS = 2000;
/** The shortest and the longest time over which the rate is measured, in milliseconds. */
const MIN_MEASURED_MS = 250;
const MAX_MEASURED_MS = 2000;

/** What happened since the previous sample. */
type Sample = { delayMs: number; utilization: number; elapsedMs: number };

/**
 * Lets requests wait in the order of their arrival while the event loop is late. How many may wait
 * follows from the rate at which requests are completed: as many as get their turn in `MAX_WAIT_MS`.
 */
export class AdmissionQueue {
  #limit = Number.POSITIVE_INFINITY;
  #inProgress = 0;
  #waiting: (() => boolean)[] = [];
  #maxWaiting = Number.POSITIVE_INFINITY;
  #lateSamples = 0;
  /** Requests completed while others waited, and how long that was. */
  #completed = 0;
  #measuredMs = 0;

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether one more request would wait too long. */
  get isFull(): boolean {
    return this.#waiting.length >= this.#maxWaiting;
  }

  /**
   * Calls `start` when it is the request's turn. `start` returns false if the request is not wanted any
   * more; otherwise `leave` must be called when it has ended.
   */
  enter(start: () => boolean): void {
    this.#waiting.push(start);
    this.#startWaiting();
  }

  leave(): void {
    this.#inProgress -= 1;
    this.#completed += 1;
    this.#startWaiting();
  }

  /** Adjusts the limits. Must be called regularly. */
  sample({ delayMs, utilization, elapsedMs }: Sample): void {
    // With time to spare, requests wait for the service, and a delay is caused by other processes.
    const hasTime = utilization < MAX_UTILIZATION;
    // NaN means that the event loop was blocked throughout.
    this.#lateSamples = hasTime || delayMs <= LATE_MS ? 0 : this.#lateSamples + 1;
    if (hasTime) this.#limit *= 2;
    else if (this.#lateSamples >= LATE_SAMPLES) this.#limit = MIN_CONCURRENCY;
    this.#measure(elapsedMs);
    this.#startWaiting();
  }

  #measure(elapsedMs: number): void {
    if (this.#waiting.length === 0) {
      this.#completed = 0;
      this.#measuredMs = 0;
    } else {
      this.#measuredMs += elapsedMs;
    }
    this.#maxWaiting =
      this.#measuredMs < MIN_MEASURED_MS
        ? Number.POSITIVE_INFINITY
        : Math.max(MIN_CONCURRENCY, (this.#completed / this.#measuredMs) * MAX_WAIT_MS);
    if (this.#measuredMs > MAX_MEASURED_MS) {
      this.#measuredMs /= 2;
      this.#completed /= 2;
    }
  }

  #startWaiting(): void {
    while (this.#inProgress < this.#limit) {
      const start = this.#waiting.shift();
      if (!start) return;
      if (start()) this.#inProgress += 1;
    }
  }
}
