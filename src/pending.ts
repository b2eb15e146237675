/**
 * What is under way: how much, and when it has ended. It counts, and holds nothing: a long-lived Set of
 * what comes and goes would keep it from being collected (docs/decisions/0011).
 */
export class Pending {
  #size = 0;
  #none: PromiseWithResolvers<void> | undefined;

  get size(): number {
    return this.#size;
  }

  /** Counts a promise until it settles. */
  track<Result>(promise: Promise<Result>): Promise<Result> {
    this.#size += 1;
    promise.then(this.#end, this.#end);
    return promise;
  }

  /** Resolves when nothing is under way, of what began in the meantime neither. */
  async none(): Promise<void> {
    while (this.#size > 0) {
      this.#none ??= Promise.withResolvers();
      await this.#none.promise;
    }
  }

  readonly #end = () => {
    this.#size -= 1;
    if (this.#size > 0) return;
    this.#none?.resolve();
    this.#none = undefined;
  };
}
