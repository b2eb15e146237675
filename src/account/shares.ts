/** A caller leaves free at least what it holds, divided by this number. */
const FREE = 3;

/**
 * Who holds how much of something limited: places, bytes, or room in a queue. A caller holds at most three times what
 * is free. So one takes three quarters, and whatever some callers do, the next one finds something at once, and most of
 * what is left (docs/decisions/0018). Of less than three, it leaves nothing.
 */
export class Shares {
  readonly #limit: number;
  /** Up to this, a caller needs no more than what others leave to it. */
  readonly #share: number;
  /** What each caller holds that holds anything. */
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#share = Math.max(1, Math.floor(limit / (FREE + 1)));
  }

  get total(): number {
    return this.#total;
  }

  /** The most that one caller can ever hold. */
  get maxPerCaller(): number {
    return this.#limit - Math.floor((this.#limit + 1) / (FREE + 1));
  }

  /** Whether a caller may take so much more now. */
  fits(caller: string, amount: number): boolean {
    return this.lacking(caller, amount) <= 0;
  }

  /** How much must be given back before a caller may take so much more. Not positive if it may now. */
  lacking(caller: string, amount: number): number {
    const free = Math.floor((this.#of(caller) + amount) / FREE);
    return amount + free + this.#total - this.#limit;
  }

  /** Whether a caller that takes so much more holds no more than its share. */
  isInShare(caller: string, amount: number): boolean {
    return this.#of(caller) + amount <= this.#share;
  }

  /** Books so much for a caller, whether it fits or not. */
  take(caller: string, amount: number): void {
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
