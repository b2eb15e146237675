/** An entry of a LinkedList. */
export type Link<Value> = {
  readonly value: Value;
  previous: Link<Value> | undefined;
  next: Link<Value> | undefined;
};

/** A list from which any entry can be removed in constant time. */
export class LinkedList<Value> {
  #first: Link<Value> | undefined;
  #last: Link<Value> | undefined;
  #size = 0;

  get first(): Link<Value> | undefined {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a value at the end. */
  push(value: Value): Link<Value> {
    const link: Link<Value> = { value, previous: undefined, next: undefined };
    this.#append(link);
    return link;
  }

  /** Removes an entry of this list. */
  remove(link: Link<Value>): void {
    const { previous, next } = link;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    this.#size -= 1;
    // A removed entry must not keep the others in memory.
    link.previous = undefined;
    link.next = undefined;
  }

  moveToEnd(link: Link<Value>): void {
    this.remove(link);
    this.#append(link);
  }

  #append(link: Link<Value>): void {
    link.previous = this.#last;
    if (this.#last) this.#last.next = link;
    else this.#first = link;
    this.#last = link;
    this.#size += 1;
  }
}
