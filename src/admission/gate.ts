import { clientDisconnected, overloaded } from '../errors/gateway-error.ts';
import { remove } from '../lib/remove.ts';

/**
 * What shares belong to: a hash of a caller, or of an issuer whose tokens have no `sub`. The optional property keeps other hashes
 * from being passed by mistake, such as the one that keys and log lines have.
 */
export type AdmissionKey = string & { readonly kind?: 'admission key' };

/** Errors of rejections are created once, because their stack takes longer than the rest of a rejection. */
export const disconnected = clientDisconnected();
const full = overloaded();

type GateOptions<Key extends string> = {
  limit: number;
  /** How long an entry may wait, in milliseconds. */
  maxWaitMs?: number;
  /** How many entries may wait. */
  maxWaiting?: number;
  /** The error of an entry that does not enter, `OVERLOADED` if omitted, and the one after `maxWaitMs` if that is another. */
  rejection?: Error;
  lateRejection?: Error;
  /** Those of another gate, if the same clients hold something of both. */
  idle?: Idle<Key>[];
};

type EnterOptions = {
  /** Enters before other entries of the caller. */
  isUrgent?: boolean;
  amount?: number;
  /** Ends the waiting. */
  signal?: AbortSignal | undefined;
};

type Waiting = Readonly<{ amount: number; isUrgent: boolean; since: number; enter(): void }>;

/** What may be held until a client acts: until it sends the rest of a body, or receives a response. */
export type Idle<Key extends string = AdmissionKey> = {
  readonly caller: Key;
  /** Whether it holds anything of this gate. */
  holds(gate: Gate<Key>): boolean;
  /** Whether the gateway waits for the client, and the client takes too long. */
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
 * their order, urgent ones first. A caller may hold, and queue, at most as much as stays free. So one caller alone may hold
 * half, and whatever some callers do, the next one is admitted at once (docs/decisions/0018). Every entry must be matched by
 * `leave`.
 */
export class Gate<Key extends string = AdmissionKey> {
  /** How much can be held at the same time: places, or bytes. */
  readonly limit: number;
  /** How much is held, and how many entries wait. */
  held = 0;
  waiting = 0;
  /** How much each caller holds. Callers that hold nothing are left out. */
  readonly #heldBy = new Map<Key, number>();
  readonly #options: Required<GateOptions<Key>>;
  /** The entries that wait, by caller. The first caller is next. */
  readonly #lines = new Map<Key, Waiting[]>();
  /**
   * What is dropped when it is overdue and others need what it holds. The oldest first. An array, since a Set would keep
   * requests from being collected early (docs/decisions/0011).
   */
  readonly idle: Idle<Key>[];
  /** Uses what is free. What is borrowed counts as free, so that it never keeps anything from entering. */
  borrower: Borrower | undefined;
  #isAdmitting = false;

  constructor(options: GateOptions<Key>) {
    const { rejection = full } = options;
    const unlimited = { maxWaitMs: Infinity, maxWaiting: 10_000, idle: [] };
    this.#options = { ...unlimited, rejection, lateRejection: rejection, ...options };
    this.limit = options.limit;
    this.idle = this.#options.idle;
  }

  /** The most that one caller can ever hold. */
  get maxPerCaller(): number {
    return Math.ceil(this.limit / 2);
  }

  /** How much nothing holds. */
  get free(): number {
    return Math.max(0, this.limit - this.held);
  }

  /**
   * Enters if no other entry of the caller waits, none is about to be admitted, and there is enough or can be reclaimed. Work in
   * progress, which gives it back when it ends, overtakes all that wait.
   */
  tryEnter(caller: Key, amount = 1, overtakes = false): boolean {
    if (!overtakes && (this.#isAdmitting || this.#lines.has(caller))) return false;
    if (!this.#fits(caller, amount) && !this.#reclaim(caller, amount)) return false;
    this.take(caller, amount);
    return true;
  }

  /** Counts what is held already, whether there is enough or not. A negative amount is given back. */
  take(caller: Key, amount: number): void {
    this.held += amount;
    const own = (this.#heldBy.get(caller) ?? 0) + amount;
    if (own > 0) this.#heldBy.set(caller, own);
    else this.#heldBy.delete(caller);
    if (this.borrower && this.borrower.borrowed > this.free) this.borrower.shrinkTo(this.free);
  }

  /** Resolves when the caller has entered. Rejects with the error for the reason if it does not. */
  async enter(caller: Key, options: EnterOptions = {}): Promise<void> {
    const { amount = 1 } = options;
    if (this.tryEnter(caller, amount)) return;
    if (options.signal?.aborted) throw disconnected;
    if (this.#isFullFor(caller, options)) throw this.#options.rejection;
    const waiting = this.#wait(caller, options);
    this.#reclaim(caller, amount);
    await waiting;
  }

  /** Enters until this iteration of the event loop ends. Returns undefined if it entered at once, or else as `enter` does. */
  enterIteration(caller: Key, signal?: AbortSignal): Promise<void> | undefined {
    const leave = () =>
      void setImmediate(() => {
        this.take(caller, -1);
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
    this.take(caller, -amount);
    if (this.#lines.size === 0 || this.#isAdmitting) return;
    this.#isAdmitting = true;
    setImmediate(() => {
      this.#isAdmitting = false;
      this.#admit();
    });
  }

  #wait(caller: Key, options: EnterOptions): Promise<void> {
    const { amount = 1, isUrgent = false, signal } = options;
    const { maxWaitMs, lateRejection } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const line = this.#lines.get(caller) ?? [];
    const end = (rejection?: Error) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      remove(line, waiting);
      this.waiting -= 1;
      if (line.length === 0) this.#lines.delete(caller);
      if (!rejection) return resolve();
      reject(rejection);
      this.#admit(); // The entry behind it may need less.
    };
    const abort = () => end(disconnected);
    const late = () => {
      this.#reclaim(caller, amount); // Something may be overdue by now.
      this.#admit();
      if (line.includes(waiting)) end(lateRejection);
    };
    const waiting = { amount, isUrgent, since: performance.now(), enter: () => end() };
    const timer = maxWaitMs < Infinity ? setTimeout(late, maxWaitMs) : undefined;
    signal?.addEventListener('abort', abort, { once: true });
    const at = isUrgent ? line.findIndex((other) => !other.isUrgent) : -1;
    line.splice(at < 0 ? line.length : at, 0, waiting);
    this.#lines.set(caller, line);
    this.waiting += 1;
    return promise;
  }

  /** Admits entries that fit, one caller after another. Only callers over their share are skipped. */
  #admit(): void {
    const fits = ([caller, [first]]: [Key, Waiting[]]) => this.#fits(caller, first?.amount ?? 0);
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
    const isInShare = (this.#heldBy.get(caller) ?? 0) + amount <= this.maxPerCaller;
    const mayDrop = (idle: Idle<Key>) =>
      idle.holds(this) && (isInShare || idle.caller === caller) && idle.isOverdue();
    for (const idle of this.idle.filter(mayDrop)) {
      if (this.#fits(caller, amount)) return true;
      remove(this.idle, idle);
      idle.drop();
    }
    return this.#fits(caller, amount);
  }

  /** Whether no more of a caller may wait. What is not urgent would wait as long as its oldest entry, often in vain. */
  #isFullFor(caller: Key, { isUrgent }: EnterOptions): boolean {
    const { maxWaitMs, maxWaiting } = this.#options;
    const line = this.#lines.get(caller) ?? [];
    const waitedMs = line[0] ? performance.now() - line[0].since : 0;
    const isLong = !isUrgent && waitedMs > maxWaitMs * 0.75;
    return isLong || !isFair(line.length, 1, this.waiting, maxWaiting);
  }

  /** Whether a caller may take so much more now. */
  #fits(caller: Key, amount: number): boolean {
    return isFair(this.#heldBy.get(caller) ?? 0, amount, this.held, this.limit);
  }
}

/** Whether at least as much as one would have then stays free, if one that has `own` of `total` took so much more. */
function isFair(own: number, amount: number, total: number, limit: number): boolean {
  return total + own + 2 * amount <= limit + 1;
}

/**
 * Limits how many steps connections may take in an iteration of the event loop. One caller may take half of them. A step reads
 * up to 64 KB, or starts a pipelined request. Node alone would do everything that has arrived on all connections in one
 * iteration. Without this limit, 40 uploads of 15 MB make others wait for seconds on a busy machine, and so do 24,000 pipelined
 * requests (docs/decisions/0025).
 */
export const createIterationLimit = (steps = 16) =>
  new Gate({ limit: steps, maxWaiting: Infinity });
