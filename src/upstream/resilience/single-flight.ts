import { remove } from '../../lib/remove.ts';

/** A call in flight that several requests wait for. */
type Flight = {
  key: string;
  result: Promise<unknown>;
  waiting: number;
  controller: AbortController;
};

/**
 * Lets equal reads in flight share one call. Equal means the same token, forwarded headers, operation and query, with
 * no write started or finished in between: a client that wrote never reads a result older than its write
 * (docs/decisions/0007).
 */
export class SingleFlight {
  /** An array, since a Map would keep removed entries from being collected early (docs/decisions/0011). */
  readonly #flights: Flight[] = [];
  #writes = 0;

  /** Call when a write starts and when it finishes: later reads do not join earlier ones. */
  endSharing(): void {
    this.#writes += 1;
  }

  /**
   * Joins the call for `key`, or starts it. When `signal` is aborted the others keep waiting; when the
   * last one is aborted, the call is.
   */
  async join<Result>(
    key: string,
    signal: AbortSignal,
    start: (controller: AbortController) => Promise<Result>,
    onJoin: () => void,
  ): Promise<Result> {
    const current = `${this.#writes} ${key}`;
    // The latest ones: to look through thousands takes longer than a call.
    const known = this.#flights.slice(-1000).find(({ key }) => key === current);
    if (known) onJoin();
    const flight = known ?? this.#start(current, start);
    flight.waiting += 1;
    const leave = () => {
      flight.waiting -= 1;
      if (flight.waiting === 0) this.#cancel(flight);
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    try {
      // Equal keys name the same operation, so the result has the same type.
      return (await flight.result) as Result;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #start(key: string, start: (controller: AbortController) => Promise<unknown>): Flight {
    const controller = new AbortController();
    const flight = { key, result: start(controller), waiting: 0, controller };
    this.#flights.push(flight);
    const forget = () => remove(this.#flights, flight);
    flight.result.then(forget, forget);
    return flight;
  }

  #cancel(flight: Flight): void {
    remove(this.#flights, flight);
    flight.controller.abort('client disconnected');
  }
}
