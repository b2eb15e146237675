/** A call in flight that several callers wait for. */
type Shared = { key: string; answer: Promise<unknown>; waiting: number; ended: AbortController };

/**
 * Lets equal reads in flight be one call. Equal means the same token, operation and query, and that
 * no write began or ended since: whoever wrote never reads an answer that is older than the write.
 */
export class SharedCalls {
  /** Few. No Map: it would keep what has left it from being collected (docs/decisions/0011). */
  readonly #inFlight: Shared[] = [];
  #writes = 0;

  /** Notes that a write begins, or ended: reads from here on share nothing with those before. */
  recordWrite(): void {
    this.#writes += 1;
  }

  /**
   * Joins the call for `key`, or starts it. A caller who goes away leaves it to the others; the last
   * one to go ends it.
   */
  async join<Answer>(
    key: string,
    caller: AbortSignal,
    start: (ended: AbortController) => Promise<Answer>,
    onJoin: () => void,
  ): Promise<Answer> {
    const current = `${this.#writes} ${key}`;
    const known = this.#inFlight.find((one) => one.key === current);
    if (known) onJoin();
    const shared = known ?? this.#start(current, start);
    shared.waiting += 1;
    const leave = () => {
      shared.waiting -= 1;
      if (shared.waiting === 0) this.#end(shared);
    };
    if (caller.aborted) leave();
    caller.addEventListener('abort', leave, { once: true });
    try {
      // Equal keys name equal operations, and those have one kind of answer.
      return (await shared.answer) as Answer;
    } finally {
      caller.removeEventListener('abort', leave);
    }
  }

  #start(key: string, start: (ended: AbortController) => Promise<unknown>): Shared {
    const ended = new AbortController();
    const shared = { key, answer: start(ended), waiting: 0, ended };
    this.#inFlight.push(shared);
    const forget = () => this.#forget(shared);
    shared.answer.then(forget, forget);
    return shared;
  }

  #end(shared: Shared): void {
    this.#forget(shared);
    shared.ended.abort('caller');
  }

  #forget(shared: Shared): void {
    const index = this.#inFlight.indexOf(shared);
    if (index >= 0) this.#inFlight.splice(index, 1);
  }
}
