/**
 * What shares belong to: a hash of a caller, or of an issuer whose tokens have no `sub`. The optional property keeps other hashes
 * from being passed by mistake, such as the one that keys and log lines have.
 */
export type AdmissionKey = string & { readonly kind?: 'admission key' };

/**
 * Shares out something limited by caller: places, bytes, or the length of a queue. A caller may hold at most as much as is
 * free. So one caller alone may hold half, and whatever some callers do, the next one is admitted at once
 * (docs/decisions/0018).
 */
export class FairShares<Key extends string = AdmissionKey> {
  readonly #limit: number;
  readonly #timesFree: number;
  /** How much each caller holds. Callers that hold nothing are left out. */
  readonly #held = new Map<Key, number>();
  #total = 0;

  /** @param timesFree a caller may hold at most what is free, times this factor */
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
  fits(caller: Key, amount: number): boolean {
    const mustStayFree = Math.floor((this.#of(caller) + amount - 1) / this.#timesFree);
    return amount + mustStayFree + this.#total <= this.#limit;
  }

  /** Whether a caller would still hold no more than `maxPerCaller` if it took so much more. */
  isInShare(caller: Key, amount: number): boolean {
    return this.#of(caller) + amount <= this.maxPerCaller;
  }

  /** Counts so much more for a caller, whether it fits or not. */
  take(caller: Key, amount: number): void {
    if (amount === 0) return;
    this.#total += amount;
    this.#held.set(caller, this.#of(caller) + amount);
  }

  give(caller: Key, amount: number): void {
    this.#total -= amount;
    const left = this.#of(caller) - amount;
    if (left > 0) this.#held.set(caller, left);
    else this.#held.delete(caller);
  }

  #of(caller: Key): number {
    return this.#held.get(caller) ?? 0;
  }
}
