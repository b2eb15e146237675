/** The part of the longest time to wait in which all that waits should enter, after something has waited for too long. */
const TARGET_WAIT = 0.5;
/** What may wait in any case. */
const MIN_SIZE = 4;

/**
 * Entries in their order, any of which may leave. The iterator keeps its place: to find the first entry of a Set anew,
 * V8 passes over all that were deleted since it last copied the rest.
 */
export class Line<Entry> {
  readonly #entries = new Set<Entry>();
  #iterator = this.#entries.values();
  #first: Entry | undefined;
  #maxSize = Infinity;
  /** How many have entered since then, in the time of `performance.now()`. */
  #entered = 0;
  #countedFrom = performance.now();

  get size(): number {
    return this.#entries.size;
  }

  /** Whether no more may wait. */
  get isFull(): boolean {
    return this.size >= this.#maxSize;
  }

  get first(): Entry | undefined {
    if (this.#first !== undefined && this.#entries.has(this.#first)) return this.#first;
    if (this.#entries.size === 0) return undefined;
    let next = this.#iterator.next();
    if (next.done) {
      this.#iterator = this.#entries.values();
      next = this.#iterator.next();
    }
    this.#first = next.value;
    return this.#first;
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  /** Removes an entry: it has entered, or waits no more. */
  delete(entry: Entry, hasEntered: boolean): void {
    this.#entries.delete(entry);
    if (hasEntered) this.#entered += 1;
  }

  /**
   * Something has waited for too long. From now on, only as much may wait as has entered lately in a part of that time:
   * what waits in vain costs more than what is rejected at once, so that even less would enter.
   */
  shorten(maxWaitMs: number): void {
    const ms = performance.now() - this.#countedFrom;
    const targetMs = maxWaitMs * TARGET_WAIT;
    if (ms < targetMs) return; // Too short a time to know.
    this.#maxSize = Math.max(Math.ceil((this.#entered / ms) * targetMs), MIN_SIZE);
    this.#entered = 0;
    this.#countedFrom = performance.now();
  }
}
