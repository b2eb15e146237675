import { remove } from '../lib/remove.ts';
import { type AdmissionKey, disconnected } from './gate.ts';

/**
 * How much CPU time the turns of an iteration of the event loop may take, in milliseconds: as much as everything else took in
 * the iteration before, from its first turn on, clamped to 2 to 32 ms. The least is short, because Node accepts one connection
 * in each iteration.
 */
const MIN_MS = 2;
const MAX_MS = 32;

/** The request that a turn belongs to, known by its caller and by when it arrived. */
type Owner = { readonly caller: AdmissionKey; readonly since: number };
/** Work that waits for its turn. */
type Waiting = Owner & { begin(): void };

/**
 * Shares out CPU time by caller. Work on requests runs in turns. A turn lasts until the event loop continues, and work that the
 * same request begins meanwhile is part of it, as long as the time of the iteration is not used up. Work of another request is
 * not part of it, even if it has the same caller: one response of the service may continue hundreds of requests. There is one
 * turn at a time, and its CPU time is measured. When the turns of an iteration have used up its time, the others wait for the
 * next iteration, and the caller of the last turn rests: for one iteration for each millisecond that this turn took. Callers
 * take turns. The oldest request of a caller goes first, because requests that all end late would all hold memory until then.
 *
 * Without turns, or without rests, others are not served during 320 requests with 4,990 invalid references each, or during
 * 320 queries of 199 lists each (docs/decisions/0025).
 */
export class Lane {
  /** The request that has its turn, and when the turn began. */
  #running: Owner | undefined;
  #startedAt = 0;
  /** The CPU time of the turns of this iteration, and that of the thread when the first of them began. */
  #spentMs = 0;
  #cpuMs = 0;
  #budgetMs = MIN_MS;
  #isCounting = false;
  /** For how many more iterations each caller rests. */
  readonly #resting = new Map<AdmissionKey, number>();
  /** The work that waits, by caller, the oldest request first. The first caller is next. */
  readonly #waiting = new Map<AdmissionKey, Waiting[]>();

  /**
   * Returns undefined if work of a request may run now, in a new turn or as part of the current one. Otherwise returns a
   * promise that resolves when its turn begins, and rejects with `CLIENT_DISCONNECTED` when `signal` is aborted.
   */
  turn(caller: AdmissionKey, since: number, signal?: AbortSignal): Promise<void> | undefined {
    const running = this.#running;
    if (running) {
      const isPart = running.caller === caller && running.since === since;
      if (isPart && this.#turnMs < this.#budgetMs) return undefined;
    } else if (this.#isFreeFor(caller) && !this.#waiting.has(caller)) {
      this.#begin({ caller, since });
      return undefined;
    }
    if (signal?.aborted) return Promise.reject(disconnected);
    return this.#wait({ caller, since }, signal);
  }

  #wait({ caller, since }: Owner, signal: AbortSignal | undefined): Promise<void> {
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
    const waiting = { caller, since, begin };
    signal?.addEventListener('abort', abort, { once: true });
    all.splice(all.findLastIndex((other) => other.since <= since) + 1, 0, waiting);
    return promise;
  }

  #isFreeFor(caller: AdmissionKey): boolean {
    return this.#spentMs < this.#budgetMs && !this.#resting.has(caller);
  }

  /** The CPU time of the turn so far. Below a millisecond its wall time, which is read in a fifth of the time. */
  get #turnMs(): number {
    const wallMs = performance.now() - this.#startedAt;
    if (wallMs < 1) return wallMs;
    return Math.min(wallMs, cpuMsOfThread() - this.#cpuMs - this.#spentMs);
  }

  #begin(owner: Owner): void {
    this.#running = owner;
    this.#startedAt = performance.now();
    if (!this.#isCounting) this.#countIteration();
    queueMicrotask(this.#afterMicrotasks);
  }

  readonly #end = () => {
    if (!this.#running) return;
    const ms = this.#turnMs;
    this.#spentMs += ms;
    if (this.#spentMs >= this.#budgetMs) {
      this.#resting.set(this.#running.caller, Math.ceil(ms));
    }
    this.#running = undefined;
    if (this.#waiting.size > 0) this.#beginNext();
  };
  // A turn has four steps: the work, its microtasks, a batch of DataLoader, which runs in nextTick, and its microtasks.
  readonly #beforeEnd = process.nextTick.bind(process, this.#end);
  readonly #afterBatch = queueMicrotask.bind(undefined, this.#beforeEnd);
  readonly #afterMicrotasks = process.nextTick.bind(process, this.#afterBatch);

  /** Begins the next turn, if work waits for it. */
  #beginNext(): void {
    for (const [caller, all] of this.#waiting) {
      if (!this.#isFreeFor(caller)) continue;
      const next = all.shift();
      this.#waiting.delete(caller); // Moves it to the end.
      if (all.length > 0) this.#waiting.set(caller, all);
      if (!next) continue;
      this.#begin(next);
      next.begin();
      return;
    }
  }

  #countIteration(): void {
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
    if (this.#resting.size > 0) this.#countIteration();
    if (!this.#running && this.#waiting.size > 0) this.#beginNext();
  };
}

function cpuMsOfThread(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
