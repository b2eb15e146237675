import { limitExceeded, overloaded } from '../errors/gateway-error.ts';
import { Gate, NoPlace } from './gate.ts';

/** What a request holds without being booked: its place among the requests in progress accounts for it. */
const INCLUDED_BYTES = 65_536;
/** How long memory may take to become free, in milliseconds. */
const MAX_WAIT_MS = 2000;
/** How long a client may take to read a response while others need its memory, in milliseconds. */
const UNREAD_MS = 1000;

/** A response that its client has not taken yet. */
type UnreadResponse = { caller: string; bytes: number; since: number; drop(): void };

/** The memory that requests hold, by caller. */
export class Account {
  /** The bytes that may be booked. */
  readonly limit: number;
  readonly #gate: Gate;
  /** The oldest first. */
  readonly #unread = new Set<UnreadResponse>();

  constructor(limitBytes: number) {
    this.limit = limitBytes;
    this.#gate = new Gate({ limit: limitBytes, maxWaitMs: MAX_WAIT_MS });
  }

  /** The bytes that are booked. */
  get bytes(): number {
    return this.#gate.held;
  }

  /** Starts to account for one request or call of a caller. */
  open(caller: string): Holding {
    return new Holding(this.#gate, this.#unread, caller);
  }
}

/**
 * What one request or call holds: its body, the lists of the service until the response exists, and the response
 * until the client has taken it. One `close` gives everything back.
 */
export class Holding {
  readonly caller: string;
  readonly #gate: Gate;
  readonly #unread: Set<UnreadResponse>;
  #bytes = 0;
  /** The part of the bytes that the account knows, and the part that waits for room. */
  #booked = 0;
  #waiting = 0;
  #response: UnreadResponse | undefined;
  #isClosed = false;

  constructor(gate: Gate, unread: Set<UnreadResponse>, caller: string) {
    this.caller = caller;
    this.#gate = gate;
    this.#unread = unread;
  }

  /**
   * Holds so many bytes more, and waits for them if need be. Throws `OPERATION_LIMIT_EXCEEDED` for more than one
   * caller can ever hold, and `OVERLOADED` if they do not become free in time.
   */
  async hold(bytes: number, signal?: AbortSignal): Promise<void> {
    const amount = this.#toBook(bytes);
    this.#bytes += bytes;
    this.#waiting += amount;
    try {
      if (amount > 0) await this.#enter(amount, signal);
      this.#booked += amount;
    } catch (error) {
      this.#bytes -= bytes;
      throw error;
    } finally {
      this.#waiting -= amount;
    }
    if (this.#isClosed) this.#giveBack(this.#booked); // It waited longer than its request lasted.
  }

  /**
   * Holds so many bytes more, before requests that wait, because what is in progress frees memory when it ends.
   * Returns false if there is no room.
   */
  tryHold(bytes: number): boolean {
    const amount = this.#toBook(bytes);
    if (amount > 0 && !this.#makeRoom(() => this.#gate.tryOvertake(this.caller, amount), amount)) {
      return false;
    }
    this.#bytes += bytes;
    this.#booked += amount;
    return true;
  }

  /** Holds exactly so many bytes from now on, such as those of a response that exists already. */
  become(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes = bytes;
    const change = (bytes > INCLUDED_BYTES ? bytes : 0) - this.#booked;
    this.#booked += change;
    if (change > 0) this.#gate.take(this.caller, change);
    else if (change < 0) this.#gate.leave(this.caller, -change);
  }

  /** The response is complete, and only it is held. `drop` ends its connection if others need the memory. */
  responseSent(drop: () => void): void {
    if (this.#booked === 0 || this.#isClosed) return;
    const since = performance.now();
    this.#response = { caller: this.caller, bytes: this.#booked, since, drop };
    this.#unread.add(this.#response);
  }

  /** Gives everything back. */
  close(): void {
    this.#isClosed = true;
    this.#giveBack(this.#booked);
    if (this.#response) this.#unread.delete(this.#response);
  }

  async #enter(amount: number, signal?: AbortSignal): Promise<void> {
    if (this.#makeRoom(() => this.#gate.tryEnter(this.caller, amount), amount)) return;
    if (this.#booked + this.#waiting > this.#gate.maxPerCaller) {
      throw limitExceeded('bytes of memory', Math.floor(this.#gate.maxPerCaller));
    }
    try {
      await this.#gate.enter(this.caller, { amount, signal });
    } catch (error) {
      if (error instanceof NoPlace) throw overloaded('There is no memory for this request now.');
      throw error;
    }
  }

  #giveBack(bytes: number): void {
    if (bytes <= 0) return;
    this.#booked -= bytes;
    this.#gate.leave(this.caller, bytes);
  }

  /** What to book for so many bytes more. */
  #toBook(bytes: number): number {
    const all = this.#bytes + bytes;
    return all > INCLUDED_BYTES ? Math.max(0, all - this.#booked - this.#waiting) : 0;
  }

  /** Tries to enter, and ends connections of clients that do not read their responses, if that is enough. */
  #makeRoom(tryEnter: () => boolean, amount: number): boolean {
    if (tryEnter()) return true;
    const lacking = this.#gate.lacking(this.caller, amount);
    if (lacking <= 0) return false; // It waits in line.
    const overdue = this.#overdue(amount);
    const bytes = overdue.reduce((sum, response) => sum + response.bytes, 0);
    if (bytes < lacking) return false;
    for (const response of overdue) {
      this.#unread.delete(response);
      response.drop();
      if (tryEnter()) return true;
    }
    return false;
  }

  /** The unread responses that may be dropped. A caller beyond its share only gets the memory of its own. */
  #overdue(amount: number): UnreadResponse[] {
    const overdueSince = performance.now() - UNREAD_MS;
    const isInShare = this.#gate.isInShare(this.caller, amount);
    return [...this.#unread].filter(
      ({ caller, since }) => since <= overdueSince && (isInShare || caller === this.caller),
    );
  }
}
