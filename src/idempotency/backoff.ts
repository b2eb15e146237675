import { setTimeout as sleep } from 'node:timers/promises';

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2000;

/** Pauses between attempts, each twice as long as the one before. They do not keep the process running. */
export class Backoff {
  #pauseMs = MIN_PAUSE_MS;

  /** Resolves after the next pause, or at once when `signal` is aborted. */
  async pause(signal: AbortSignal): Promise<void> {
    await sleep(this.#pauseMs, undefined, { ref: false, signal }).catch(() => {});
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS);
  }

  /** The next pause is the shortest again. */
  reset(): void {
    this.#pauseMs = MIN_PAUSE_MS;
  }
}
