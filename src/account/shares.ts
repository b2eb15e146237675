/** The part of the limit that a caller may always use, and that is kept free for the next caller. */
const SHARE = 0.25;

/**
 * Who holds how much of something limited: places, bytes, or room in a queue. A caller below a quarter of the
 * limit takes whatever is free. Beyond that it takes only what leaves a quarter free, so that another caller
 * finds its part at once (docs/decisions/0018). With a limit below four, nothing is kept free.
 */
export class Shares {
  readonly #limit: number;
  readonly #share: number;
  readonly #reserve: number;
  /** What each caller holds that holds anything. */
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#reserve = Math.floor(limit * SHARE);
    this.#share = Math.max(1, this.#reserve);
  }

  get total(): number {
    return this.#total;
  }

  /** The most that one caller can ever hold. */
  get maxPerCaller(): number {
    return this.#limit - this.#reserve;
  }

  /** Whether a caller may take so much more now. */
  fits(caller: string, amount: number): boolean {
    return this.lacking(caller, amount) <= 0;
  }

  /** How much must be given back before a caller may take so much more. Not positive if it may now. */
  lacking(caller: string, amount: number): number {
    const reserved = this.isInShare(caller, amount) ? 0 : this.#reserve;
    return amount + reserved + this.#total - this.#limit;
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
