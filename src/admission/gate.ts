import { clientDisconnected, overloaded } from '../errors/gateway-error.ts';
import { remove } from '../lib/remove.ts';
import { type AdmissionKey, FairShares } from './fair-shares.ts';

/** Why nothing entered: the queue is full, the time to wait is over, or the signal was aborted. */
export type NoPlaceReason = 'full' | 'late' | 'aborted';

/** Errors of rejections are created once, because their stack takes longer than the rest of a rejection. */
export const disconnected = clientDisconnected();

/** Returns `error` for each reason, or `CLIENT_DISCONNECTED` if the client disconnected. */
export function rejectionWith(error: Error): (reason: NoPlaceReason) => Error {
  return (reason) => (reason === 'aborted' ? disconnected : error);
}

type GateOptions = {
  limit: number;
  /** How long an entry may wait, in milliseconds. */
  maxWaitMs?: number;
  /** How many entries may wait. */
  maxWaiting?: number;
  /** The error of an entry that is rejected: `OVERLOADED` or `CLIENT_DISCONNECTED` if omitted. */
  rejection?: (reason: NoPlaceReason) => Error;
};

type EnterOptions = {
  /** Enters before other entries of the caller. */
  isUrgent?: boolean;
  amount?: number;
  /** Ends the waiting. */
  signal?: AbortSignal | undefined;
};

type Waiting = Readonly<{ amount: number; isUrgent: boolean; since: number; enter(): void }>;

/** What is held until a client acts: until it sends the rest of a body, or receives a response. */
export type Idle<Key extends string = AdmissionKey> = {
  readonly caller: Key;
  /** Whether it holds anything of this gate. */
  holds(gate: Gate<Key>): boolean;
  /** Whether the client takes too long. */
  isOverdue(): boolean;
  /** Gives everything back. */
  drop(): void;
};

/** Something that uses what nothing holds, such as a cache. It gives everything back as soon as it is needed. */
export type Borrower = {
  readonly borrowed: number;
  shrinkTo(amount: number): void;
};

/**
 * The one place where requests and calls wait for a place or memory. Callers take turns. The entries of one caller keep
 * their order, urgent ones first. No caller holds or queues more than its fair share. Every entry must be matched by `leave`.
 */
export class Gate<Key extends string = AdmissionKey> {
  /** How much can be held at the same time: places, or bytes. */
  readonly limit: number;
  readonly #held: FairShares<Key>;
  readonly #queued: FairShares<Key>;
  readonly #maxWaitMs: number;
  readonly #rejection: (reason: NoPlaceReason) => Error;
  /** The entries that wait, by caller. The first caller is next. */
  readonly #lines = new Map<Key, Waiting[]>();
  /** The oldest first. An array, since a Set would keep requests from being collected early (docs/decisions/0011). */
  readonly #idle: Idle<Key>[] = [];
  #borrower: Borrower | undefined;
  #isAdmitting = false;

  constructor(options: GateOptions) {
    const { limit, maxWaitMs = Infinity, maxWaiting = 10_000 } = options;
    this.limit = limit;
    this.#held = new FairShares(limit);
    this.#queued = new FairShares(maxWaiting);
    this.#maxWaitMs = maxWaitMs;
    this.#rejection = options.rejection ?? rejectionWith(overloaded());
  }

  /** How much is held: places, or bytes. */
  get held(): number {
    return this.#held.total;
  }

  /** How many entries wait. */
  get waiting(): number {
    return this.#queued.total;
  }

  /** The most that one caller can ever hold. */
  get maxPerCaller(): number {
    return this.#held.maxPerCaller;
  }

  /** How much nothing holds. What is borrowed counts as free, so that it never keeps anything from entering. */
  get free(): number {
    return Math.max(0, this.limit - this.held);
  }

  /** From now on this may use what is free. */
  lendTo(borrower: Borrower): void {
    this.#borrower = borrower;
  }

  /** Until `unwatch` is called, this is dropped when it is overdue and others need what it holds. */
  watch(idle: Idle<Key>): void {
    this.#idle.push(idle);
  }

  unwatch(idle: Idle<Key>): void {
    remove(this.#idle, idle);
  }

  /** Enters if no other entry of the caller waits, none is about to be admitted, and there is enough or can be reclaimed. */
  tryEnter(caller: Key, amount = 1): boolean {
    return !this.#isAdmitting && !this.#lines.has(caller) && this.tryOvertake(caller, amount);
  }

  /** Enters before all that wait, if there is enough. Only for work in progress, which gives it back when it ends. */
  tryOvertake(caller: Key, amount: number): boolean {
    if (!this.#held.fits(caller, amount) && !this.#reclaim(caller, amount)) return false;
    this.take(caller, amount);
    return true;
  }

  /** Counts what is held already, whether there is enough or not. */
  take(caller: Key, amount: number): void {
    this.#held.take(caller, amount);
    if (!this.#borrower) return;
    const { free } = this;
    if (this.#borrower.borrowed > free) this.#borrower.shrinkTo(free);
  }

  /** Resolves when the caller has entered. Rejects with the error for the reason if it does not. */
  async enter(caller: Key, options: EnterOptions = {}): Promise<void> {
    const { amount = 1 } = options;
    if (this.tryEnter(caller, amount)) return;
    if (options.signal?.aborted) throw this.#rejection('aborted');
    if (this.#isFullFor(caller, options)) throw this.#rejection('full');
    const waiting = this.#wait(caller, options);
    this.#reclaim(caller, amount);
    await waiting;
  }

  /** Enters until this iteration of the event loop ends. Returns undefined if it entered at once, or else as `enter` does. */
  enterIteration(caller: Key, signal?: AbortSignal): Promise<void> | undefined {
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
   * Gives back what was entered with. Entries that wait are admitted together, at the end of this iteration of the event loop:
   * calls that are sent one by one wake the service each time, which takes more CPU time the more connections there are.
   */
  leave(caller: Key, amount = 1): void {
    this.#held.give(caller, amount);
    if (this.#lines.size === 0 || this.#isAdmitting) return;
    this.#isAdmitting = true;
    setImmediate(() => {
      this.#isAdmitting = false;
      this.#admit();
    });
  }

  #wait(caller: Key, options: EnterOptions): Promise<void> {
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
      this.#admit(); // The entry behind it may need less.
    };
    const abort = () => end('aborted');
    const late = () => {
      this.#reclaim(caller, amount); // Something may be overdue by now.
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

  /** Admits entries that fit, one caller after another. Only callers over their share are skipped. */
  #admit(): void {
    const fits = ([caller, [first]]: [Key, Waiting[]]) =>
      this.#held.fits(caller, first?.amount ?? 0);
    for (;;) {
      const next = this.#lines.entries().find(fits);
      if (next === undefined) return;
      const [caller, line] = next;
      const [first] = line;
      if (!first) return;
      this.#lines.delete(caller); // Moves it to the end.
      this.#lines.set(caller, line);
      this.take(caller, first.amount);
      first.enter();
    }
  }

  /** Drops what is overdue until there is enough, and returns whether there is. A caller over its share only gets what is its own. */
  #reclaim(caller: Key, amount: number): boolean {
    const isInShare = this.#held.isInShare(caller, amount);
    const mayDrop = (idle: Idle<Key>) =>
      idle.holds(this) && (isInShare || idle.caller === caller) && idle.isOverdue();
    for (const idle of this.#idle.filter(mayDrop)) {
      if (this.#held.fits(caller, amount)) return true;
      remove(this.#idle, idle);
      idle.drop();
    }
    return this.#held.fits(caller, amount);
  }

  /** Whether no more of a caller may wait. What is not urgent would wait as long as its oldest entry, often in vain. */
  #isFullFor(caller: Key, { isUrgent }: EnterOptions): boolean {
    const [oldest] = this.#lines.get(caller) ?? [];
    const waitedMs = oldest ? performance.now() - oldest.since : 0;
    const isLong = !isUrgent && waitedMs > this.#maxWaitMs * 0.75;
    return isLong || !this.#queued.fits(caller, 1);
  }
}

/**
 * Limits how many steps connections may take in an iteration of the event loop. One caller may take half of them. A step reads
 * up to 64 KB, or starts a pipelined request. Node alone would do everything that has arrived on all connections in one
 * iteration. Without this limit, 40 uploads of 15 MB make others wait for seconds on a busy machine, and so do 24,000 pipelined
 * requests (docs/decisions/0025).
 */
export const createIterationLimit = (steps = 16) =>
  new Gate({ limit: steps, maxWaiting: Infinity });
