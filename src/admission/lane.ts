import { remove } from '../lib/remove.ts';
import { disconnected } from './gate.ts';

/** How long work may take in an iteration of the event loop, in milliseconds: as long as all else did, within these. */
const MIN_MS = 8;
const MAX_MS = 32; // Node accepts one connection in each.

/** A piece of work that waits. `since` is when its request arrived. */
type Waiting = { readonly since: number; begin(): void };

/**
 * CPU time, shared out by caller. Work on requests runs in pieces: what runs after a turn until the event loop goes on.
 * One piece runs at a time, and its CPU time is measured. When those of an iteration have taken as long as all else did,
 * such as rejections, the others wait for the next one, and the caller of the last piece rests for longer the longer that
 * took. Callers take turns, and of one caller the oldest request goes first: otherwise all would end late, and hold what
 * they have until then.
 */
export class Lane {
  /** The caller of the piece that runs, and when that began. */
  #running: string | undefined;
  #startedAt = 0;
  /** The CPU time of the pieces of this iteration, and that of the thread when the first of them began. */
  #spentMs = 0;
  #cpuMs = 0;
  #budgetMs = MIN_MS;
  #isCounting = false;
  /** How many iterations a caller still rests. */
  readonly #resting = new Map<string, number>();
  /** What waits, the oldest request first. The first caller is next. */
  readonly #waiting = new Map<string, Waiting[]>();

  /**
   * Returns undefined if work of a caller may run now, as a new piece or a part of its current one. Otherwise resolves
   * when it is its turn, or rejects with `CLIENT_DISCONNECTED` when `signal` is aborted.
   */
  take(caller: string, since: number, signal?: AbortSignal): Promise<void> | undefined {
    if (this.#running !== undefined) {
      if (this.#running === caller && this.#pieceMs < this.#budgetMs) return undefined;
    } else if (this.#isFreeFor(caller) && !this.#waiting.has(caller)) {
      this.#begin(caller);
      return undefined;
    }
    if (signal?.aborted) return Promise.reject(disconnected);
    return this.#wait(caller, since, signal);
  }

  #wait(caller: string, since: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const all = this.#waiting.get(caller) ?? [];
    this.#waiting.set(caller, all);
    const abort = () => {
      remove(all, waiting);
      if (all.length === 0) this.#waiting.delete(caller);
      reject(disconnected);
    };
    const begin = () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    const waiting = { since, begin };
    signal?.addEventListener('abort', abort, { once: true });
    all.splice(all.findLastIndex((other) => other.since <= since) + 1, 0, waiting);
    return promise;
  }

  #isFreeFor(caller: string): boolean {
    return this.#spentMs < this.#budgetMs && !this.#resting.has(caller);
  }

  /** The CPU time of the piece so far: its wall time below a millisecond, which takes a fifth of the time to read. */
  get #pieceMs(): number {
    const wallMs = performance.now() - this.#startedAt;
    if (wallMs < 1) return wallMs;
    return Math.min(wallMs, cpuMsOfThread() - this.#cpuMs - this.#spentMs);
  }

  #begin(caller: string): void {
    this.#running = caller;
    this.#startedAt = performance.now();
    this.#countIterations();
    queueMicrotask(this.#afterMicrotasks);
  }

  // Four steps: the work; its microtasks; a batch of DataLoader, which runs in nextTick; the microtasks of that.
  readonly #afterMicrotasks = () => process.nextTick(this.#afterBatch);
  readonly #afterBatch = () => queueMicrotask(this.#beforeEnd);
  readonly #beforeEnd = () => process.nextTick(this.#end);

  readonly #end = () => {
    const caller = this.#running;
    if (caller === undefined) return;
    const ms = this.#pieceMs;
    this.#running = undefined;
    this.#spentMs += ms;
    if (this.#spentMs >= this.#budgetMs) {
      // Another request passes through about eight iterations.
      this.#resting.set(caller, Math.min(Math.ceil(ms / MIN_MS), 8));
    }
    this.#beginNext();
  };

  /** Begins the next piece, if there is one. */
  #beginNext(): void {
    for (const [caller, all] of this.#waiting) {
      if (!this.#isFreeFor(caller)) continue;
      const next = all.shift();
      this.#waiting.delete(caller); // Moves it to the end.
      if (all.length > 0) this.#waiting.set(caller, all);
      this.#begin(caller);
      next?.begin();
      return;
    }
  }

  #countIterations(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#cpuMs = cpuMsOfThread();
    setImmediate(this.#nextIteration);
  }

  readonly #nextIteration = () => {
    this.#isCounting = false;
    const otherMs = cpuMsOfThread() - this.#cpuMs - this.#spentMs;
    this.#budgetMs = Math.max(MIN_MS, Math.min(otherMs, MAX_MS));
    this.#spentMs = 0;
    for (const [caller, iterations] of this.#resting) {
      if (iterations > 1) this.#resting.set(caller, iterations - 1);
      else this.#resting.delete(caller);
    }
    if (this.#resting.size > 0) this.#countIterations();
    if (this.#running === undefined) this.#beginNext();
  };
}

function cpuMsOfThread(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
