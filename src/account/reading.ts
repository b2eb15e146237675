import { Gate } from './gate.ts';

/**
 * Reading from connections, shared out by caller. Node would read all that has arrived on all connections in one
 * iteration of the event loop, which can take hundreds of milliseconds.
 */
export class Reading {
  readonly #gate: Gate;

  /** In an iteration, so many parts are read. */
  constructor(parts: number) {
    this.#gate = new Gate({ limit: parts, maxWaiting: Infinity });
  }

  /**
   * Returns undefined if one more part may be read in this iteration. Otherwise resolves when it may be, or rejects with
   * `CLIENT_DISCONNECTED` when `signal` is aborted.
   */
  take(caller: string, signal?: AbortSignal): Promise<void> | undefined {
    const leave = () => void setImmediate(() => this.#gate.leave(caller));
    if (!this.#gate.tryEnter(caller)) return this.#gate.enter(caller, { signal }).then(leave);
    leave();
    return undefined;
  }
}
