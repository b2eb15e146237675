import { GatewayError, overloaded } from '../errors/gateway-error.ts';
import { Gate, type Idle, rejectionWith } from './gate.ts';

/** What a request or a call to the service may hold without a reservation: its place pays for it. */
const INCLUDED_BYTES = 65_536;

const noMemory = overloaded('There is no memory for this request now.');
const needsTooMuch = new GatewayError(
  'OPERATION_LIMIT_EXCEEDED',
  'The operation needs more memory than one caller can have. Request fewer lists or entities, or fewer fields of them, at a time.',
);

/** The memory that requests hold, by caller, in bytes. */
export class Memory extends Gate {
  constructor(limit: number) {
    super({ limit, maxWaitMs: 2000, rejection: rejectionWith(noMemory) });
  }

  /** Opens the reservation of one call of a caller, or of a request that has a place in `places`. */
  open(caller: string, places?: Gate): Reservation {
    return new Reservation(this, caller, places);
  }
}

/** A client that the gateway waits for. */
export type IdleClient = Pick<Idle, 'isOverdue'> & { disconnect(): void };

/**
 * What one request or call holds: the place of a request, its body, the lists of the service until the response exists,
 * and the response until the client has taken it. One `close` gives everything back.
 */
export class Reservation {
  readonly caller: string;
  readonly #gate: Gate;
  readonly #places: Gate | undefined;
  /** What is held or waits for room, and what is booked of it. */
  #bytes = 0;
  #booked = 0;
  #peak = 0;
  #unwatch: (() => void)[] = [];
  #isClosed = false;

  constructor(gate: Gate, caller: string, places?: Gate) {
    this.caller = caller;
    this.#gate = gate;
    this.#places = places;
  }

  /** The most bytes that were reserved at the same time. 0 if the place paid for all of them. */
  get peakBytes(): number {
    return this.#peak;
  }

  /**
   * Holds so many bytes more, and waits for them if need be, before other requests of the caller: they exist already.
   * Rejects with `OPERATION_LIMIT_EXCEEDED` for more than one caller can ever hold, and `OVERLOADED` if they do not become
   * free in time. Undefined if they are held at once.
   */
  reserve(bytes: number, signal?: AbortSignal, isUrgent = true): Promise<void> | undefined {
    const amount = toBook(this.#bytes + bytes) - toBook(this.#bytes);
    this.#bytes += bytes;
    if (amount > 0 && !this.#gate.tryEnter(this.caller, amount)) {
      return this.#book(bytes, amount, isUrgent, signal);
    }
    this.#entered(amount);
    return undefined;
  }

  /** Holds so many bytes in all, as `reserve` does, but after what waits: they do not exist yet. */
  reserveTotal(bytes: number, signal?: AbortSignal): Promise<void> | undefined {
    return bytes > this.#bytes ? this.reserve(bytes - this.#bytes, signal, false) : undefined;
  }

  /**
   * Resolves when its caller holds no more than its share, and nothing of it waits, so that work may begin whose result takes
   * more than is booked. Rejects as `reserve` does. Undefined if that is so now.
   */
  waitForShare(signal?: AbortSignal): Promise<void> | undefined {
    if (this.#gate.tryEnter(this.caller, 0)) return undefined;
    return this.#gate.enter(this.caller, { amount: 0, signal });
  }

  /**
   * Holds so many bytes more, before requests that wait, because what is in progress frees memory when it ends.
   * Returns false if there is no room, or the request has ended: it may itself be dropped to make room.
   */
  tryReserve(bytes: number): boolean {
    const amount = toBook(this.#bytes + bytes) - toBook(this.#bytes);
    if (amount > 0 && !this.#gate.tryOvertake(this.caller, amount)) return false;
    this.#bytes += bytes;
    this.#entered(amount);
    return !this.#isClosed;
  }

  /** Does the same until so many bytes are held in all. */
  tryReserveTotal(bytes: number): boolean {
    return bytes <= this.#bytes || this.tryReserve(bytes - this.#bytes);
  }

  /** Holds exactly so many bytes from now on, such as those of a response that exists already. */
  resize(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes = bytes;
    const change = toBook(bytes) - this.#booked;
    this.#booked += change;
    this.#peak = Math.max(this.#peak, this.#booked);
    if (change > 0) this.#gate.take(this.caller, change);
    else if (change < 0) this.#gate.leave(this.caller, -change);
  }

  /** All that is held from now on waits for the client. If it takes too long, and others need it, it is disconnected. */
  waitForClient({ isOverdue, disconnect }: IdleClient): void {
    if (this.#isClosed) return;
    const drop = () => {
      this.close();
      disconnect();
    };
    const idle = { caller: this.caller, isOverdue, drop };
    for (const unwatch of this.#unwatch) unwatch();
    this.#unwatch = [this.#gate.watch({ ...idle, amount: () => this.#booked })];
    if (this.#places) this.#unwatch.push(this.#places.watch({ ...idle, amount: () => 1 }));
  }

  /** Gives everything back, once. */
  close(): void {
    if (this.#isClosed) return;
    for (const unwatch of this.#unwatch) unwatch();
    this.resize(0);
    this.#isClosed = true;
    this.#places?.leave(this.caller);
  }

  async #book(bytes: number, amount: number, isUrgent: boolean, signal?: AbortSignal) {
    try {
      if (this.#bytes > this.#gate.maxPerCaller) throw needsTooMuch;
      await this.#gate.enter(this.caller, { amount, isUrgent, signal });
    } catch (error) {
      this.#bytes -= bytes;
      throw error;
    }
    this.#entered(amount);
  }

  #entered(amount: number): void {
    if (!this.#isClosed) {
      this.#booked += amount;
      this.#peak = Math.max(this.#peak, this.#booked);
    } else if (amount > 0) this.#gate.leave(this.caller, amount); // It waited longer than its request lasted.
  }
}

/** What to book if so many bytes are held. */
function toBook(bytes: number): number {
  return bytes > INCLUDED_BYTES ? bytes : 0;
}
