/** Collects the work of one iteration of the event loop, such as the changes of one transaction. */
export class Batch<Work, Result> {
  readonly #process: (work: Work[]) => (Result | Error)[] | Promise<(Result | Error)[]>;
  #work: Work[] = [];
  #results: Promise<(Result | Error)[]> | undefined;

  /** @param process returns a result or an error for each work, in their order; it may throw one error for all */
  constructor(process: (work: Work[]) => (Result | Error)[] | Promise<(Result | Error)[]>) {
    this.#process = process;
  }

  async run(work: Work): Promise<Result> {
    const index = this.#work.push(work) - 1;
    this.#results ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      const all = this.#work;
      this.#work = [];
      this.#results = undefined;
      return this.#process(all);
    });
    const result = (await this.#results)[index];
    if (result instanceof Error) throw result;
    return result as Result;
  }
}
