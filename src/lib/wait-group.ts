/** Counts pending work. It holds no reference to it: a long-lived Set would delay its garbage collection (docs/decisions/0011). */
export class WaitGroup {
  #size = 0;
  #empty: PromiseWithResolvers<void> | undefined;

  /** Counts a promise until it settles, and returns it. */
  track<Result>(promise: Promise<Result>): Promise<Result> {
    this.#size += 1;
    promise.then(this.#settle, this.#settle);
    return promise;
  }

  /** Resolves when no work is pending, including work started while waiting. */
  async idle(): Promise<void> {
    while (this.#size > 0) {
      this.#empty ??= Promise.withResolvers();
      await this.#empty.promise;
    }
  }

  readonly #settle = () => {
    this.#size -= 1;
    if (this.#size > 0) return;
    this.#empty?.resolve();
    this.#empty = undefined;
  };
}
