/**
 * Entries in their order, any of which may leave. The iterator keeps its place: to find the first entry of a Set anew,
 * V8 passes over all that were deleted since it last copied the rest.
 */
export class Line<Entry> {
  readonly #entries = new Set<Entry>();
  #iterator = this.#entries.values();
  #first: Entry | undefined;

  get size(): number {
    return this.#entries.size;
  }

  get first(): Entry | undefined {
    if (this.#first !== undefined && this.#entries.has(this.#first)) return this.#first;
    if (this.#entries.size === 0) return undefined;
    let next = this.#iterator.next();
    if (next.done) {
      this.#iterator = this.#entries.values();
      next = this.#iterator.next();
    }
    this.#first = next.value;
    return this.#first;
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  delete(entry: Entry): void {
    this.#entries.delete(entry);
  }
}
