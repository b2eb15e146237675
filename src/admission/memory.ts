import { GatewayError, overloaded } from '../errors/gateway-error.ts';
import type { AdmissionKey } from './fair-shares.ts';
import { Gate, type Idle, rejectionWith } from './gate.ts';

/** What a request or a call to the service may hold without reserving it, in bytes. Its place pays for it. */
const INCLUDED_BYTES = 65_536;

const noMemory = overloaded('There is no memory for this request now.');
const needsTooMuch = new GatewayError(
  'OPERATION_LIMIT_EXCEEDED',
  'The operation needs more memory than one caller can have. Request fewer lists or entities, or fewer fields of them, at a time.',
);

/** The memory that requests may hold together, in bytes, shared out by caller. */
export class Memory extends Gate {
  constructor(limit: number) {
    super({ limit, maxWaitMs: 2000, rejection: rejectionWith(noMemory) });
  }

  /** Opens the reservation of one call of a caller, or of a request that has a place in `places`. */
  open(caller: AdmissionKey, places?: Gate): Reservation {
    return new Reservation(this, caller, places);
  }
}

/** A client that the gateway waits for. */
export type IdleClient = Pick<Idle, 'isOverdue'> & { disconnect(): void };

/**
 * What one request or call holds: the place of a request, its body, the lists of the service until the response exists,
 * and the response until the client has received it. `close` gives everything back.
 */
export class Reservation implements Idle {
  readonly caller: AdmissionKey;
  readonly #gate: Gate;
  readonly #places: Gate | undefined;
  /** All bytes that were asked for, including those that are waited for. */
  #bytes = 0;
  /** The bytes that the gate counts for this reservation, and the most that it counted. */
  #reserved = 0;
  #peak = 0;
  /** The client that it waits for. */
  #client: IdleClient | undefined;
  #isClosed = false;

  constructor(gate: Gate, caller: AdmissionKey, places?: Gate) {
    this.caller = caller;
    this.#gate = gate;
    this.#places = places;
  }

  /** The most bytes that were reserved at the same time. 0 if the place paid for all of them. */
  get peakBytes(): number {
    return this.#peak;
  }

  /**
   * Reserves more bytes, which exist already, and waits for them if necessary, before new work of the caller. Returns
   * undefined if they are reserved at once. Rejects with `OPERATION_LIMIT_EXCEEDED` if one caller can never have so many,
   * and with `OVERLOADED` if they do not become free in time.
   */
  reserve(bytes: number, signal?: AbortSignal, isUrgent = true): Promise<void> | undefined {
    const amount = this.#amountOf(bytes);
    this.#bytes += bytes;
    if (amount === 0) return undefined;
    if (!this.#gate.tryEnter(this.caller, amount)) {
      return this.#wait(bytes, amount, isUrgent, signal);
    }
    this.#entered(amount);
    return undefined;
  }

  /** Reserves what is missing to a total, as `reserve` does, but behind what waits: these bytes do not exist yet. */
  reserveTotal(bytes: number, signal?: AbortSignal): Promise<void> | undefined {
    return bytes > this.#bytes ? this.reserve(bytes - this.#bytes, signal, false) : undefined;
  }

  /**
   * Waits until the caller is within its fair share and has nothing queued, before work whose result may need more than is
   * reserved. Returns undefined if that is so now. Rejects as `reserve` does.
   */
  waitForShare(signal?: AbortSignal): Promise<void> | undefined {
    if (this.#gate.tryEnter(this.caller, 0)) return undefined;
    return this.#gate.enter(this.caller, { amount: 0, signal });
  }

  /**
   * Reserves more bytes at once, before requests that wait, because work in progress frees memory when it ends. Returns
   * false if there are not enough, or if the request has ended: it may itself have been dropped to free them.
   */
  tryReserve(bytes: number): boolean {
    const amount = this.#amountOf(bytes);
    if (amount > 0 && !this.#gate.tryOvertake(this.caller, amount)) return false;
    this.#bytes += bytes;
    if (amount > 0) this.#entered(amount);
    return !this.#isClosed;
  }

  /** Whether one caller can never have so many bytes more for this request. */
  neverFits(bytes: number): boolean {
    return this.#bytes + bytes > this.#gate.maxPerCaller;
  }

  /** Reserves what is missing to a total, as `tryReserve` does. */
  tryReserveTotal(bytes: number): boolean {
    return bytes <= this.#bytes || this.tryReserve(bytes - this.#bytes);
  }

  /** Changes the total to exactly so many bytes, for example to those of a response that exists already. */
  resize(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes = bytes;
    const change = (bytes > INCLUDED_BYTES ? bytes : 0) - this.#reserved;
    if (change === 0) return;
    this.#add(change);
    if (change > 0) this.#gate.take(this.caller, change);
    else this.#gate.leave(this.caller, -change);
  }

  /** From now on this memory is held only for a client. If others need it and the client is overdue, the client is disconnected. */
  waitForClient(client: IdleClient): void {
    if (this.#isClosed) return;
    if (!this.#client) {
      this.#gate.watch(this);
      this.#places?.watch(this);
    }
    this.#client = client;
  }

  holds(gate: Gate): boolean {
    return gate === this.#places || this.#reserved > 0;
  }

  isOverdue(): boolean {
    return this.#client?.isOverdue() ?? false;
  }

  drop(): void {
    this.close();
    this.#client?.disconnect();
  }

  /** Gives everything back, once. */
  close(): void {
    if (this.#isClosed) return;
    if (this.#client) {
      this.#gate.unwatch(this);
      this.#places?.unwatch(this);
    }
    this.resize(0);
    this.#isClosed = true;
    this.#places?.leave(this.caller);
  }

  async #wait(bytes: number, amount: number, isUrgent: boolean, signal?: AbortSignal) {
    try {
      if (this.neverFits(0)) throw needsTooMuch;
      await this.#gate.enter(this.caller, { amount, isUrgent, signal });
    } catch (error) {
      this.#bytes -= bytes;
      throw error;
    }
    this.#entered(amount);
  }

  /** How much the gate must count for so many bytes more. */
  #amountOf(bytes: number): number {
    const total = this.#bytes + bytes;
    if (total <= INCLUDED_BYTES) return 0;
    return this.#bytes > INCLUDED_BYTES ? bytes : total;
  }

  #entered(amount: number): void {
    if (!this.#isClosed) this.#add(amount);
    else this.#gate.leave(this.caller, amount); // It waited longer than its request lasted.
  }

  #add(amount: number): void {
    this.#reserved += amount;
    this.#peak = Math.max(this.#peak, this.#reserved);
  }
}
