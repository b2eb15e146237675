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
  /** The calls that reads may join. A Map would keep removed entries from being collected early (docs/decisions/0011). */
  readonly #flights: Flight[] = [];

  /** Call when a write starts and when it finishes: later reads do not join earlier ones. */
  endSharing(): void {
    this.#flights.length = 0;
  }

  /**
   * Joins the call for `key`, or starts it. When `signal` is aborted, the others keep waiting. When the signals of all are
   * aborted, the call is aborted.
   */
  async join<Result>(
    key: string,
    signal: AbortSignal,
    start: (controller: AbortController) => Promise<Result>,
    onJoin: () => void,
  ): Promise<Result> {
    // Only the latest calls, because looking through thousands takes longer than a call.
    const known = this.#flights.slice(-1000).find((flight) => flight.key === key);
    if (known) onJoin();
    const flight = known ?? this.#start(key, start);
    flight.waiting += 1;
    const leave = () => {
      flight.waiting -= 1;
      if (flight.waiting > 0) return;
      remove(this.#flights, flight);
      flight.controller.abort('client disconnected');
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
}
