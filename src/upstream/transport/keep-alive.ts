import type { IncomingHttpHeaders } from 'node:http';

/** The longest time after which an idle connection is used for a write, in milliseconds. */
const MAX_CERTAIN_MS = 60_000;
/** The most that a service may differ from itself: Kestrel closes idle connections once a second. */
const MAX_MARGIN_MS = 2000;
/** For how long nothing is learned after the service has closed a connection that seemed certain. */
const RELEARN_MS = 60_000;

/**
 * How long the service certainly keeps an idle connection: as it announces or its operator says, until it closes one earlier, or
 * as long as connections were idle on which it then answered a read. All durations are in milliseconds.
 */
export class KeepAlive {
  #keptMs: number;
  /** Until then, nothing is learned. 0 if the service has not closed a connection too early yet. */
  #learnsFrom = 0;

  /** @param configuredS what its operator says, in seconds */
  constructor(configuredS = 0) {
    this.#keptMs = configuredS * 1000;
  }

  /** For how long an idle connection is certainly kept. */
  get certainMs(): number {
    return Math.min(this.#keptMs - Math.min(this.#keptMs / 2, MAX_MARGIN_MS), MAX_CERTAIN_MS);
  }

  /** The service has announced a time with these headers. It is no longer believed once it has proved wrong. */
  announced(headers: IncomingHttpHeaders): void {
    const seconds = /\btimeout=(\d+)/i.exec(String(headers['keep-alive']))?.[1];
    if (this.#learnsFrom > 0 || seconds === undefined) return;
    this.#keptMs = Math.max(this.#keptMs, Number(seconds) * 1000);
  }

  /** The service has answered on a connection that was idle for so long. */
  answered(idleMs: number): void {
    if (performance.now() >= this.#learnsFrom) this.#keptMs = Math.max(this.#keptMs, idleMs);
  }

  /** The service has closed a connection that was idle for so long. Returns whether it was expected to keep it. */
  closed(idleMs: number): boolean {
    const isEarly = idleMs < this.certainMs;
    this.#keptMs = isEarly ? 0 : Math.min(this.#keptMs, idleMs);
    if (isEarly) this.#learnsFrom = performance.now() + RELEARN_MS;
    return isEarly;
  }
}
