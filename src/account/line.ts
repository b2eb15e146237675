import { remove } from '../lib/remove.ts';

/** The part of the longest time to wait in which all that waits should enter, after something has waited for too long. */
const TARGET_WAIT = 0.5;
/** What may wait in any case. */
const MIN_SIZE = 4;

/** Entries, the one that began first before the others, any of which may leave. */
export class Line<Entry extends { readonly since: number }> {
  readonly #entries: Entry[] = [];
  #maxSize = Infinity;
  /** How many have entered since then, in the time of `performance.now()`. */
  #entered = 0;
  #countedFrom = performance.now();

  get size(): number {
    return this.#entries.length;
  }

  /** Whether no more may wait. */
  get isFull(): boolean {
    return this.size >= this.#maxSize;
  }

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  add(entry: Entry): void {
    const before = this.#entries.findLastIndex(({ since }) => since <= entry.since);
    this.#entries.splice(before + 1, 0, entry);
  }

  /** Removes an entry: it has entered, or waits no more. */
  delete(entry: Entry, hasEntered: boolean): void {
    remove(this.#entries, entry);
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
