/**
 * Shares out something limited among callers: keys, or bytes. A caller may hold at most as much as is free, or a multiple of
 * that. So whatever some callers do, there is room for the next one.
 */
export class Shares {
  readonly #limit: number;
  readonly #timesFree: number;
  /** How much each caller holds. Callers that hold nothing are left out. */
  readonly #held = new Map<string, number>();
  /** How much all callers hold together. */
  total = 0;

  /** @param timesFree a caller may hold at most what is free, times this factor */
  constructor(limit: number, timesFree = 1) {
    this.#limit = limit;
    this.#timesFree = timesFree;
  }

  /** Whether a caller may take so much more now. */
  fits(caller: string, amount: number): boolean {
    const mustStayFree = Math.floor(((this.#held.get(caller) ?? 0) + amount - 1) / this.#timesFree);
    return amount + mustStayFree + this.total <= this.#limit;
  }

  /** Counts so much more for a caller, or less if it is negative, whether it fits or not. */
  add(caller: string, amount: number): void {
    this.total += amount;
    const held = (this.#held.get(caller) ?? 0) + amount;
    if (held > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
  }
}
