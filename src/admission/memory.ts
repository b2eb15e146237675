import { GatewayError, overloaded } from '../errors/gateway-error.ts';
import { remove } from '../lib/remove.ts';
import { type AdmissionKey, Gate, type Idle } from './gate.ts';

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
    super({ limit, maxWaitMs: 2000, rejection: noMemory });
  }
}

/** The client of a request that has a place in `places`, a gate with the `idle` of the memory. */
export type Client = Pick<Idle, 'isOverdue'> & { readonly places: Gate; disconnect(): void };

/**
 * What one request or call holds: the place of a request, its body, the lists of the service until the response exists,
 * and the response until the client has received it. `close` gives everything back. If others need it while the client is
 * overdue, the client is disconnected.
 */
export class Reservation implements Idle {
  readonly caller: AdmissionKey;
  readonly #memory: Gate;
  /** Undefined for a call to the service. */
  readonly #client: Client | undefined;
  /** All bytes that were asked for, including those that are waited for. */
  #bytes = 0;
  /** The bytes that the gate counts for this reservation. */
  #reserved = 0;
  /** The most bytes that were reserved at the same time. 0 if the place paid for all of them. */
  peakBytes = 0;
  #isClosed = false;

  constructor(memory: Gate, caller: AdmissionKey, client?: Client) {
    this.caller = caller;
    this.#memory = memory;
    this.#client = client;
    if (client) memory.idle.push(this);
  }

  /**
   * Reserves more bytes, which exist already, and waits for them if necessary, before new work of the caller. Returns
   * undefined if they are reserved at once. Rejects with `OPERATION_LIMIT_EXCEEDED` if one caller can never have so many,
   * and with `OVERLOADED` if they do not become free in time.
   */
  reserve(bytes: number, signal?: AbortSignal, isUrgent = true): Promise<void> | undefined {
    this.#bytes += bytes;
    if (this.#bytes <= INCLUDED_BYTES) return undefined;
    const amount = this.#amountOf(bytes);
    if (!this.#memory.tryEnter(this.caller, amount)) {
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
    if (this.#memory.tryEnter(this.caller, 0)) return undefined;
    return this.#memory.enter(this.caller, { amount: 0, signal });
  }

  /**
   * Reserves more bytes at once, before requests that wait, because work in progress frees memory when it ends. Returns
   * false if there are not enough, or if the request has ended: it may itself have been dropped to free them.
   */
  tryReserve(bytes: number): boolean {
    this.#bytes += bytes;
    if (this.#bytes > INCLUDED_BYTES) {
      const amount = this.#amountOf(bytes);
      if (!this.#memory.tryEnter(this.caller, amount, true)) {
        this.#bytes -= bytes;
        return false;
      }
      this.#entered(amount);
    }
    return !this.#isClosed;
  }

  /** Whether one caller can never have so many bytes more for this request. */
  neverFits(bytes: number): boolean {
    return this.#bytes + bytes > this.#memory.maxPerCaller;
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
    if (change > 0) this.#memory.take(this.caller, change);
    else this.#memory.leave(this.caller, -change);
  }

  holds(gate: Gate): boolean {
    return gate === this.#client?.places || this.#reserved > 0;
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
    this.#isClosed = true;
    if (this.#reserved > 0) this.#memory.leave(this.caller, this.#reserved);
    if (!this.#client) return;
    remove(this.#memory.idle, this);
    this.#client.places.leave(this.caller);
  }

  async #wait(bytes: number, amount: number, isUrgent: boolean, signal?: AbortSignal) {
    try {
      if (this.neverFits(0)) throw needsTooMuch;
      await this.#memory.enter(this.caller, { amount, isUrgent, signal });
    } catch (error) {
      this.#bytes -= bytes;
      throw error;
    }
    this.#entered(amount);
  }

  /** How much the gate must count for so many bytes more, which were just added, and exceed what the place pays for. */
  #amountOf(bytes: number): number {
    return this.#bytes - bytes > INCLUDED_BYTES ? bytes : this.#bytes;
  }

  #entered(amount: number): void {
    if (!this.#isClosed) this.#add(amount);
    else this.#memory.leave(this.caller, amount); // It waited longer than its request lasted.
  }

  #add(amount: number): void {
    this.#reserved += amount;
    this.peakBytes = Math.max(this.peakBytes, this.#reserved);
  }
}
