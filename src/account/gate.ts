import { Line } from './line.ts';
import { Shares } from './shares.ts';

/** Urgent entries of a caller go before its others, but after this many in a row one of the others is next. */
const MAX_URGENT_IN_A_ROW = 3;
/** The part of the longest time to wait in which all that waits should enter, after something has waited for too long. */
const TARGET_WAIT = 0.5;
/** What may wait of a caller in any case. */
const MIN_WAITING = 4;

/** Why nothing was given: the queue is full, the time to wait is over, or the signal was aborted. */
export type NoPlaceReason = 'full' | 'late' | 'aborted';

/** The gate did not open. The caller holds nothing. */
export class NoPlace extends Error {
  override readonly name = 'NoPlace';
  readonly reason: NoPlaceReason;

  constructor(reason: NoPlaceReason) {
    super(`no place: ${reason}`);
    this.reason = reason;
  }
}

/** Made once, because the stack of an error takes longer than the rest of a rejection. */
const noPlaces = {
  full: new NoPlace('full'),
  late: new NoPlace('late'),
  aborted: new NoPlace('aborted'),
};

type GateOptions = {
  /** How much can be held at the same time: places, or bytes. */
  limit: number;
  /** How long it may take to enter, in milliseconds. */
  maxWaitMs?: number;
  /** How many may wait. */
  maxWaiting?: number;
};

export type Entry = { readonly caller: string; readonly amount: number };

export type EnterOptions = {
  /** Goes before other entries of the caller. */
  isUrgent?: boolean;
  amount?: number;
  /** Ends the waiting. */
  signal?: AbortSignal | undefined;
};

type Waiting = { readonly amount: number; enter(): void };

/** What waits of one caller. */
type Lines = {
  urgent: Line<Waiting>;
  other: Line<Waiting>;
  urgentInARow: number;
  /** How many may wait. */
  maxSize: number;
  /** How many have entered since then, in the time of `performance.now()`. */
  entered: number;
  countedFrom: number;
};

/**
 * The one place where requests, calls and CPU-bound work wait for a place or memory. Callers take turns, the entries of
 * one caller keep their order but for urgent ones, and no caller holds or queues more than its share while that is
 * scarce. Every entry must be matched by `leave` or `leaveAll`.
 */
export class Gate {
  readonly #held: Shares;
  readonly #queued: Shares;
  readonly #maxWaitMs: number;
  /** The callers that have something waiting. The first one is next. */
  readonly #lines = new Map<string, Lines>();

  constructor({ limit, maxWaitMs = Infinity, maxWaiting = 10_000 }: GateOptions) {
    this.#held = new Shares(limit);
    this.#queued = new Shares(maxWaiting);
    this.#maxWaitMs = maxWaitMs;
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

  /** Whether there is neither a place for one more entry of a caller nor room for it to wait. */
  isFullFor(caller: string): boolean {
    return this.waiting > 0 && this.#isQueueFull(caller) && !this.#held.fits(caller, 1);
  }

  /** How much must be given back before a caller may enter with so much. */
  lacking(caller: string, amount: number): number {
    return this.#held.lacking(caller, amount);
  }

  /** Whether a caller with so much more holds no more than its share. */
  isInShare(caller: string, amount: number): boolean {
    return this.#held.isInShare(caller, amount);
  }

  /** Enters if nothing else of the caller waits and there is a place. */
  tryEnter(caller: string, amount = 1): boolean {
    return !this.#lines.has(caller) && this.tryOvertake(caller, amount);
  }

  /** Skips the queue, if there is a place. Only for work in progress, which frees capacity when it ends. */
  tryOvertake(caller: string, amount: number): boolean {
    if (!this.#held.fits(caller, amount)) return false;
    this.#held.take(caller, amount);
    return true;
  }

  /** Books what is held already, whether there is a place or not. */
  take(caller: string, amount: number): void {
    this.#held.take(caller, amount);
  }

  /** Resolves when the caller has entered. Rejects with NoPlace. */
  async enter(caller: string, options: EnterOptions = {}): Promise<void> {
    const { isUrgent = false, amount = 1, signal } = options;
    if (signal?.aborted) throw noPlaces.aborted;
    if (this.tryEnter(caller, amount)) return;
    if (this.#isQueueFull(caller)) throw noPlaces.full;
    await this.#wait(caller, isUrgent, amount, signal);
  }

  /** Gives back what was entered with. */
  leave(caller: string, amount = 1): void {
    this.#held.give(caller, amount);
    if (this.waiting > 0) this.#admit();
  }

  /** Gives back several entries before others are admitted, so that a large one does not wait behind small ones. */
  leaveAll(entries: readonly Entry[]): void {
    for (const { caller, amount } of entries) this.#held.give(caller, amount);
    if (this.waiting > 0) this.#admit();
  }

  #wait(caller: string, isUrgent: boolean, amount: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const lines = this.#lines.get(caller) ?? {
      urgent: new Line(),
      other: new Line(),
      urgentInARow: 0,
      maxSize: Infinity,
      entered: 0,
      countedFrom: performance.now(),
    };
    const line = isUrgent ? lines.urgent : lines.other;
    const remove = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      line.delete(waiting);
      this.#queued.give(caller, 1);
      if (sizeOf(lines) === 0) this.#lines.delete(caller);
    };
    const fail = (reason: NoPlaceReason) => {
      remove();
      reject(noPlaces[reason]);
      this.#admit(); // What was behind it may need less.
    };
    const abort = () => fail('aborted');
    const late = () => {
      this.#shorten(lines);
      fail('late');
    };
    const waiting: Waiting = {
      amount,
      enter() {
        remove();
        resolve();
      },
    };
    const timer = this.#maxWaitMs === Infinity ? undefined : setTimeout(late, this.#maxWaitMs);
    signal?.addEventListener('abort', abort, { once: true });
    line.add(waiting);
    this.#lines.set(caller, lines);
    this.#queued.take(caller, 1);
    return promise;
  }

  /** Admits entries that fit, one caller after another. */
  #admit(): void {
    for (let caller = this.#nextCaller(); caller !== undefined; caller = this.#nextCaller()) {
      const lines = this.#lines.get(caller);
      const next = lines && nextOf(lines);
      if (!lines || !next) return;
      lines.urgentInARow = next === lines.urgent.first ? lines.urgentInARow + 1 : 0;
      this.#lines.delete(caller); // Moves it to the end.
      this.#lines.set(caller, lines);
      lines.entered += 1;
      this.#held.take(caller, next.amount);
      next.enter();
    }
  }

  /**
   * Something of a caller has waited for too long. From now on, and until nothing of it waits, only as much may wait as
   * has entered lately in a part of that time: what waits in vain costs more than what is rejected at once, so that even
   * less would enter.
   */
  #shorten(lines: Lines): void {
    const ms = performance.now() - lines.countedFrom;
    const targetMs = this.#maxWaitMs * TARGET_WAIT;
    if (ms < targetMs) return; // Too short a time to know.
    lines.maxSize = Math.max(Math.ceil((lines.entered / ms) * targetMs), MIN_WAITING);
    lines.entered = 0;
    lines.countedFrom = performance.now();
  }

  /** Whether no more of a caller may wait. */
  #isQueueFull(caller: string): boolean {
    const lines = this.#lines.get(caller);
    return !this.#queued.fits(caller, 1) || (lines !== undefined && sizeOf(lines) >= lines.maxSize);
  }

  /** With amounts of one, only callers above their share do not fit while something is free, and these are few. */
  #nextCaller(): string | undefined {
    for (const [caller, lines] of this.#lines) {
      if (this.#held.fits(caller, nextOf(lines)?.amount ?? 0)) return caller;
    }
    return undefined;
  }
}

function sizeOf({ urgent, other }: Lines): number {
  return urgent.size + other.size;
}

function nextOf({ urgent, other, urgentInARow }: Lines): Waiting | undefined {
  const [first, second] = urgentInARow < MAX_URGENT_IN_A_ROW ? [urgent, other] : [other, urgent];
  return first.first ?? second.first;
}
