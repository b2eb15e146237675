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
  /** How much each caller holds. Callers that hold nothing are left out. */
  readonly #held = new Map<Key, number>();
  /** How much all callers hold together. */
  total = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The most that one caller can ever hold. */
  get maxPerCaller(): number {
    return Math.ceil(this.#limit / 2);
  }

  /** Whether a caller may take so much more now. */
  fits(caller: Key, amount: number): boolean {
    const mustStayFree = (this.#held.get(caller) ?? 0) + amount - 1;
    return amount + mustStayFree + this.total <= this.#limit;
  }

  /** Whether a caller would still hold no more than `maxPerCaller` if it took so much more. */
  isInShare(caller: Key, amount: number): boolean {
    return (this.#held.get(caller) ?? 0) + amount <= this.maxPerCaller;
  }

  /** Counts so much more for a caller, whether it fits or not. */
  take(caller: Key, amount: number): void {
    if (amount === 0) return;
    this.total += amount;
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + amount);
  }

  give(caller: Key, amount: number): void {
    this.total -= amount;
    const left = (this.#held.get(caller) ?? 0) - amount;
    if (left > 0) this.#held.set(caller, left);
    else this.#held.delete(caller);
  }
}
