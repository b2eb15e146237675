import { clientDisconnected, overloaded } from '../errors/gateway-error.ts';
import { remove } from '../lib/remove.ts';
import { Line } from './line.ts';
import { Shares } from './shares.ts';

/** Urgent entries of a caller go before its others, but after this many in a row one of the others is next. */
const MAX_URGENT_IN_A_ROW = 3;

/** Why nothing was given: the queue is full, the time to wait is over, or the signal was aborted. */
export type NoPlaceReason = 'full' | 'late' | 'aborted';

/** Errors are made once, because their stack takes longer than the rest of a rejection. */
const disconnected = clientDisconnected();
const noPlace = rejectionWith(overloaded());

/** The error for what does not enter: this one, unless its client disconnected. */
export function rejectionWith(error: Error): (reason: NoPlaceReason) => Error {
  return (reason) => (reason === 'aborted' ? disconnected : error);
}

type GateOptions = {
  /** How much can be held at the same time: places, or bytes. */
  limit: number;
  /** How long it may take to enter, in milliseconds. */
  maxWaitMs?: number;
  /** How many may wait. */
  maxWaiting?: number;
  /** The error for what does not enter, and holds nothing: `OVERLOADED` or `CLIENT_DISCONNECTED` if omitted. */
  rejection?: (reason: NoPlaceReason) => Error;
};

export type EnterOptions = {
  /** Goes before other entries of the caller. */
  isUrgent?: boolean;
  /** Waits without an end. */
  isPatient?: boolean;
  amount?: number;
  /** When the work began that needs it, in the time of `performance.now()`: what began first enters first. Now if omitted. */
  since?: number | undefined;
  /** Ends the waiting. */
  signal?: AbortSignal | undefined;
};

type Waiting = { readonly amount: number; readonly since: number; enter(): void };

/** What is held until a client acts: until it sends the rest of a body, or takes a response. */
export type Idle = {
  readonly caller: string;
  amount(): number;
  /** Whether the client takes too long. */
  isOverdue(): boolean;
  /** Gives everything back. */
  drop(): void;
};

/** What waits of one caller. */
type Lines = { urgent: Line<Waiting>; other: Line<Waiting>; urgentInARow: number };

/**
 * The one place where requests and calls wait for a place or memory. Callers take turns, the entries of
 * one caller keep their order but for urgent ones, and no caller holds or queues more than its share while that is
 * scarce. Every entry must be matched by `leave`.
 */
export class Gate {
  readonly #held: Shares;
  readonly #queued: Shares;
  readonly #maxWaitMs: number;
  readonly #rejection: (reason: NoPlaceReason) => Error;
  /** The callers that have something waiting. The first one is next. */
  readonly #lines = new Map<string, Lines>();
  /** The oldest first. An array, since a Set would keep requests from being collected early (docs/decisions/0011). */
  readonly #idle: Idle[] = [];
  #isMakingRoom = false;

  constructor(options: GateOptions) {
    const { limit, maxWaitMs = Infinity, maxWaiting = 10_000, rejection = noPlace } = options;
    this.#held = new Shares(limit);
    this.#queued = new Shares(maxWaiting);
    this.#maxWaitMs = maxWaitMs;
    this.#rejection = rejection;
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

  /** Whether there is neither a place for one more entry of a caller, not an urgent one, nor room for it to wait. */
  isFullFor(caller: string): boolean {
    return this.waiting > 0 && this.#isQueueFull(caller, false) && !this.#held.fits(caller, 1);
  }

  /** From now on, and until the returned function is called, this is dropped if others need it and it is overdue. */
  watch(idle: Idle): () => void {
    this.#idle.push(idle);
    return () => remove(this.#idle, idle);
  }

  /** Enters if nothing else of the caller waits, and there is a place or can be made. */
  tryEnter(caller: string, amount = 1): boolean {
    return !this.#lines.has(caller) && this.tryOvertake(caller, amount);
  }

  /** Enters before all that waits, if there is a place or can be made. Only for work in progress, which ends and leaves. */
  tryOvertake(caller: string, amount: number): boolean {
    const isRoomMade = this.#makeRoom(caller, amount);
    const fits = this.#held.fits(caller, amount);
    if (fits) this.#held.take(caller, amount);
    if (isRoomMade) this.#admit(); // More may have been dropped than it needs.
    return fits;
  }

  /** Books what is held already, whether there is a place or not. */
  take(caller: string, amount: number): void {
    this.#held.take(caller, amount);
  }

  /** Resolves when the caller has entered. Rejects with the error for the reason if it does not. */
  async enter(caller: string, options: EnterOptions = {}): Promise<void> {
    const { isUrgent = false, amount = 1, signal } = options;
    if (this.tryEnter(caller, amount)) return;
    if (signal?.aborted) throw this.#rejection('aborted');
    if (this.#isQueueFull(caller, isUrgent)) throw this.#rejection('full');
    const isBehindOthers = this.#lines.has(caller); // Then no room was made.
    const waiting = this.#wait(caller, { ...options, isUrgent, amount });
    if (isBehindOthers && this.#makeRoom(caller, amount)) this.#admit();
    await waiting;
  }

  /** Gives back what was entered with. */
  leave(caller: string, amount = 1): void {
    this.#held.give(caller, amount);
    if (this.waiting > 0 && !this.#isMakingRoom) this.#admit();
  }

  #wait(caller: string, options: EnterOptions & { amount: number }): Promise<void> {
    const { isUrgent, isPatient, amount, since = performance.now(), signal } = options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const lines = this.#lines.get(caller) ?? {
      urgent: new Line(),
      other: new Line(),
      urgentInARow: 0,
    };
    const line = isUrgent ? lines.urgent : lines.other;
    const end = (hasEntered: boolean) => {
      isWaiting = false;
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      line.delete(waiting, hasEntered);
      this.#queued.give(caller, 1);
      if (lines.urgent.size + lines.other.size === 0) this.#lines.delete(caller);
    };
    const fail = (reason: NoPlaceReason) => {
      end(false);
      reject(this.#rejection(reason));
      this.#admit(); // What was behind it may need less.
    };
    const abort = () => fail('aborted');
    let isWaiting = true;
    const late = () => {
      if (this.#makeRoom(caller, amount)) this.#admit(); // Something may be overdue by now.
      if (!isWaiting) return;
      line.shorten(this.#maxWaitMs);
      fail('late');
    };
    const waiting: Waiting = {
      amount,
      since,
      enter() {
        end(true);
        resolve();
      },
    };
    const isEndless = isPatient || this.#maxWaitMs === Infinity;
    const timer = isEndless ? undefined : setTimeout(late, this.#maxWaitMs);
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
      const line = lines && nextOf(lines);
      const next = line?.first;
      if (!lines || !next) return;
      lines.urgentInARow = line === lines.urgent ? lines.urgentInARow + 1 : 0;
      this.#lines.delete(caller); // Moves it to the end.
      this.#lines.set(caller, lines);
      this.#held.take(caller, next.amount);
      next.enter();
    }
  }

  /**
   * Drops what is overdue until there is room for a caller, if that is enough; a caller beyond its share gets only what is
   * its own. Returns whether it did.
   */
  #makeRoom(caller: string, amount: number): boolean {
    const lacking = this.#held.lacking(caller, amount);
    if (lacking <= 0 || this.#idle.length === 0) return false;
    const isInShare = this.#held.isInShare(caller, amount);
    const overdue = this.#idle.filter(
      (idle) => idle.amount() > 0 && (isInShare || idle.caller === caller) && idle.isOverdue(),
    );
    if (overdue.reduce((sum, idle) => sum + idle.amount(), 0) < lacking) return false;
    this.#isMakingRoom = true;
    for (const idle of overdue) {
      if (this.#held.fits(caller, amount)) break;
      remove(this.#idle, idle);
      idle.drop();
    }
    this.#isMakingRoom = false;
    return true;
  }

  /** Whether no more of a caller may wait. */
  #isQueueFull(caller: string, isUrgent: boolean): boolean {
    const line = this.#lines.get(caller)?.[isUrgent ? 'urgent' : 'other'];
    return !this.#queued.fits(caller, 1) || line?.isFull === true;
  }

  /** The first caller whose next entry fits. Few do not fit while something is free: those above their share. */
  #nextCaller(): string | undefined {
    for (const [caller, lines] of this.#lines) {
      if (this.#held.fits(caller, nextOf(lines).first?.amount ?? 0)) return caller;
    }
    return undefined;
  }
}

/** The line whose first entry is next. */
function nextOf({ urgent, other, urgentInARow }: Lines): Line<Waiting> {
  const [first, second] = urgentInARow < MAX_URGENT_IN_A_ROW ? [urgent, other] : [other, urgent];
  return first.size > 0 ? first : second;
}
