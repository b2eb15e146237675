/**
 * Who holds how much of something limited: places, bytes, or room in a queue. A caller holds at most as much as is free.
 * So one alone holds a half, and whatever some callers do, the next one finds something at once (docs/decisions/0018).
 */
export class FairShares {
  readonly #limit: number;
  readonly #timesFree: number;
  /** What each caller holds that holds anything. */
  readonly #held = new Map<string, number>();
  #total = 0;

  /** @param timesFree a caller holds at most so many times what is free */
  constructor(limit: number, timesFree = 1) {
    this.#limit = limit;
    this.#timesFree = timesFree;
  }

  get total(): number {
    return this.#total;
  }

  /** The most that one caller can ever hold. */
  get maxPerCaller(): number {
    return Math.ceil((this.#limit * this.#timesFree) / (this.#timesFree + 1));
  }

  /** Whether a caller may take so much more now. */
  fits(caller: string, amount: number): boolean {
    return this.lacking(caller, amount) <= 0;
  }

  /** How much must be given back before a caller may take so much more. Not positive if it may now. */
  lacking(caller: string, amount: number): number {
    const free = Math.floor((this.#of(caller) + amount - 1) / this.#timesFree);
    return amount + free + this.#total - this.#limit;
  }

  /** Whether a caller that takes so much more holds no more than it could if it were alone. */
  isInShare(caller: string, amount: number): boolean {
    return this.#of(caller) + amount <= this.maxPerCaller;
  }

  /** Books so much for a caller, whether it fits or not. */
  take(caller: string, amount: number): void {
    if (amount === 0) return; // Leaves no trace of a caller that holds nothing.
    this.#total += amount;
    this.#held.set(caller, this.#of(caller) + amount);
  }

  give(caller: string, amount: number): void {
    this.#total -= amount;
    const left = this.#of(caller) - amount;
    if (left > 0) this.#held.set(caller, left);
    else this.#held.delete(caller);
  }

  #of(caller: string): number {
    return this.#held.get(caller) ?? 0;
  }
}
