import { clientDisconnected, overloaded } from '../errors/gateway-error.ts';
import { remove } from '../lib/remove.ts';
import { FairShares } from './fair-shares.ts';

/** Why nothing was given: the queue is full, the time to wait is over, or the signal was aborted. */
export type NoPlaceReason = 'full' | 'late' | 'aborted';

/** This and other errors are made once, because their stack takes longer than the rest of a rejection. */
export const disconnected = clientDisconnected();

/** The error for what does not enter: this one, unless its client disconnected. */
export function rejectionWith(error: Error): (reason: NoPlaceReason) => Error {
  return (reason) => (reason === 'aborted' ? disconnected : error);
}

type GateOptions = {
  limit: number;
  /** How long it may take to enter, in milliseconds. */
  maxWaitMs?: number;
  /** How many may wait. */
  maxWaiting?: number;
  /** The error for what does not enter, and holds nothing: `OVERLOADED` or `CLIENT_DISCONNECTED` if omitted. */
  rejection?: (reason: NoPlaceReason) => Error;
};

type EnterOptions = {
  /** Goes before other entries of the caller. */
  isUrgent?: boolean;
  amount?: number;
  /** Ends the waiting. */
  signal?: AbortSignal | undefined;
};

type Waiting = Readonly<{ amount: number; isUrgent: boolean; since: number; enter(): void }>;

/** What is held until a client acts: until it sends the rest of a body, or takes a response. */
export type Idle = {
  readonly caller: string;
  amount(): number;
  /** Whether the client takes too long. */
  isOverdue(): boolean;
  /** Gives everything back. */
  drop(): void;
};

/**
 * The one place where requests and calls wait for a place or memory. Callers take turns, the entries of
 * one caller keep their order but for urgent ones, and no caller holds or queues more than its share. Every entry must be
 * matched by `leave`.
 */
export class Gate {
  /** How much can be held at the same time: places, or bytes. */
  readonly limit: number;
  readonly #held: FairShares;
  readonly #queued: FairShares;
  readonly #maxWaitMs: number;
  readonly #rejection: (reason: NoPlaceReason) => Error;
  /** What waits, by caller. The first caller is next. */
  readonly #lines = new Map<string, Waiting[]>();
  /** The oldest first. An array, since a Set would keep requests from being collected early (docs/decisions/0011). */
  readonly #idle: Idle[] = [];
  #isAdmitting = false;

  constructor(options: GateOptions) {
    const { limit, maxWaitMs = Infinity, maxWaiting = 10_000 } = options;
    this.limit = limit;
    this.#held = new FairShares(limit);
    this.#queued = new FairShares(maxWaiting);
    this.#maxWaitMs = maxWaitMs;
    this.#rejection = options.rejection ?? rejectionWith(overloaded());
  }

  /** How much is held. */
  get held(): number {
    return this.#held.total;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queued.total;
  }

  /** The most that one caller can ever hold. */
  get maxPerCaller(): number {
    return this.#held.maxPerCaller;
  }

  /** From now on, and until the returned function is called, this is dropped if others need it and it is overdue. */
  watch(idle: Idle): () => void {
    this.#idle.push(idle);
    return () => remove(this.#idle, idle);
  }

  /** Enters if nothing else of the caller waits, nothing is about to be admitted, and there is a place or can be made. */
  tryEnter(caller: string, amount = 1): boolean {
    return !this.#isAdmitting && !this.#lines.has(caller) && this.tryOvertake(caller, amount);
  }

  /** Enters before all that waits, if there is a place or can be made. Only for work in progress, which ends and leaves. */
  tryOvertake(caller: string, amount: number): boolean {
    this.#makeRoom(caller, amount);
    const fits = this.#held.fits(caller, amount);
    if (fits) this.#held.take(caller, amount);
    return fits;
  }

  /** Books what is held already, whether there is a place or not. */
  take(caller: string, amount: number): void {
    this.#held.take(caller, amount);
  }

  /** Resolves when the caller has entered. Rejects with the error for the reason if it does not. */
  async enter(caller: string, options: EnterOptions = {}): Promise<void> {
    const { amount = 1 } = options;
    if (this.tryEnter(caller, amount)) return;
    if (options.signal?.aborted) throw this.#rejection('aborted');
    if (this.#isFullFor(caller, options)) throw this.#rejection('full');
    const waiting = this.#wait(caller, options);
    this.#makeRoom(caller, amount);
    await waiting;
  }

  /** Enters until this iteration of the event loop ends. Returns undefined if at once, and otherwise what `enter` does. */
  enterIteration(caller: string, signal?: AbortSignal): Promise<void> | undefined {
    const leave = () =>
      void setImmediate(() => {
        this.#held.give(caller, 1);
        this.#admit();
      });
    if (!this.tryEnter(caller)) return this.enter(caller, { signal }).then(leave);
    leave();
    return undefined;
  }

  /**
   * Gives back what was entered with. What waits enters at the end of this iteration of the event loop, all together: requests
   * that leave one by one each wake the service, which takes more CPU time the more connections there are.
   */
  leave(caller: string, amount = 1): void {
    this.#held.give(caller, amount);
    if (this.waiting === 0 || this.#isAdmitting) return;
    this.#isAdmitting = true;
    setImmediate(() => {
      this.#isAdmitting = false;
      this.#admit();
    });
  }

  #wait(caller: string, options: EnterOptions): Promise<void> {
    const { amount = 1, isUrgent = false, signal } = options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const line = this.#lines.get(caller) ?? [];
    const end = (reason?: NoPlaceReason) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      remove(line, waiting);
      this.#queued.give(caller, 1);
      if (line.length === 0) this.#lines.delete(caller);
      if (!reason) return resolve();
      reject(this.#rejection(reason));
      this.#admit(); // What was behind it may need less.
    };
    const abort = () => end('aborted');
    const late = () => {
      this.#makeRoom(caller, amount); // Something may be overdue by now.
      this.#admit();
      if (line.includes(waiting)) end('late');
    };
    const waiting = { amount, isUrgent, since: performance.now(), enter: () => end() };
    const timer = this.#maxWaitMs < Infinity ? setTimeout(late, this.#maxWaitMs) : undefined;
    signal?.addEventListener('abort', abort, { once: true });
    const at = isUrgent ? line.findIndex((other) => !other.isUrgent) : -1;
    line.splice(at < 0 ? line.length : at, 0, waiting);
    this.#lines.set(caller, line);
    this.#queued.take(caller, 1);
    return promise;
  }

  /** Admits entries that fit, one caller after another. Few do not fit while something is free: those above their share. */
  #admit(): void {
    const fits = ([caller, [first]]: [string, Waiting[]]) =>
      this.#held.fits(caller, first?.amount ?? 0);
    for (;;) {
      const [caller = '', line = []] = this.#lines.entries().find(fits) ?? [];
      const [first] = line;
      if (!first) return;
      this.#lines.delete(caller); // Moves it to the end.
      this.#lines.set(caller, line);
      this.#held.take(caller, first.amount);
      first.enter();
    }
  }

  /**
   * Drops what is overdue until there is room for a caller, if that is enough; a caller beyond its share gets only what is
   * its own.
   */
  #makeRoom(caller: string, amount: number): void {
    const lacking = this.#held.lacking(caller, amount);
    if (lacking <= 0 || this.#idle.length === 0) return;
    const isInShare = this.#held.isInShare(caller, amount);
    const overdue = this.#idle.filter(
      (idle) => idle.amount() > 0 && (isInShare || idle.caller === caller) && idle.isOverdue(),
    );
    // What the caller gives back itself counts twice: it also holds less.
    const weigh = (idle: Idle) => idle.amount() * (idle.caller === caller ? 2 : 1);
    if (overdue.reduce((sum, idle) => sum + weigh(idle), 0) < lacking) return;
    for (const idle of overdue) {
      if (this.#held.fits(caller, amount)) break;
      remove(this.#idle, idle);
      idle.drop();
    }
  }

  /** Whether no more of a caller may wait: what is not urgent would wait as long as its oldest entry, often in vain. */
  #isFullFor(caller: string, { isUrgent }: EnterOptions): boolean {
    const [oldest] = this.#lines.get(caller) ?? [];
    const waitedMs = oldest ? performance.now() - oldest.since : 0;
    const isLong = !isUrgent && waitedMs > this.#maxWaitMs * 0.75;
    return isLong || !this.#queued.fits(caller, 1);
  }
}

/**
 * For reading from connections: in an iteration of the event loop, 16 parts of up to 64 KB, which take some milliseconds.
 * Node would read all that has arrived on all connections in one iteration, which can take hundreds of milliseconds.
 */
export const createReading = () => new Gate({ limit: 16, maxWaiting: Infinity });
