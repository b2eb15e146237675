import {
  type Change,
  COMPLETENESS_KEY,
  type Entry,
  type IdempotencyStore,
  type Reading,
  ReplyLost,
  StoreUnavailable,
  type SwapResult,
} from '../../src/store.ts';
import type { Random } from './random.ts';
import { time } from './virtual-time.ts';

/** The wall clock of a server minus the virtual time, at the start. */
const CLOCK_START = 1_700_000_000_000;
/** A gateway waits no longer for a reply. */
const TIMEOUT_MS = 1000;
/** A change may take effect as long after its gateway has given up: longer than a record may be kept. */
const LATE_MS = 160_000;

type Row = { entry: Entry; expiresAt: number };
type Rows = ReadonlyMap<string, Row>;

/** The process at the other end of a connection. */
export type Client = {
  readonly isAlive: boolean;
  /** Runs this as soon as the process is awake, unless it ends before. */
  whenAwake(run: () => void): void;
};

/**
 * A store as its interface describes it, whose messages are late, change their order, and are lost, and which can lose
 * its newest records. What it cannot do is to lose records without a trace: then its server has another id or another
 * history, or its own record is missing.
 */
export class ModelStore {
  /** The shares of exchanges that are lost, on either way, and that take long. */
  lostShare = 0;
  slowShare = 0;
  isReachable = true;
  /** Until then, it processes nothing. */
  hangsUntil = 0;
  readonly #random: Random;
  readonly #onWrite: (text: string) => void;
  #rows: Rows = new Map();
  /** What it held after each change, the oldest first. */
  #states: Rows[] = [this.#rows];
  #clockOffset = CLOCK_START;
  #server = 1;
  /** Servers with a number below may have had records that later ones lack. */
  #firstComplete = 1;
  #history = 1;

  /** @param onWrite is called with each text that is written, or an empty one for a key that is freed */
  constructor(random: Random, onWrite: (text: string) => void) {
    this.#random = random;
    this.#onWrite = onWrite;
  }

  /** A connection of a process. */
  connect(client: Client): IdempotencyStore {
    return {
      read: (key) => this.#exchange(client, () => this.#read(key), StoreUnavailable),
      swap: (change) => this.#exchange(client, () => this.#swap(change), ReplyLost),
      isContinuation: (writtenOn) => Number(writtenOn) >= this.#firstComplete,
      usage: undefined,
      close: async () => {},
    };
  }

  /** Another server takes over, or the same one restarts, without the newest changes. */
  loseChanges(): void {
    this.#replaceServer(this.#random.pick(this.#states.slice(-10)));
    if (this.#server % 2 === 0) this.#firstComplete = this.#server;
    else this.#history = this.#server;
  }

  /** Another server takes over that has every change. */
  failOver(): void {
    this.#replaceServer(this.#rows);
  }

  /** Somebody deletes all records. */
  empty(): void {
    this.#rows = new Map();
    this.#states = [this.#rows];
  }

  setClockBack(ms: number): void {
    this.#clockOffset -= ms;
  }

  get #now(): number {
    return time.now + this.#clockOffset;
  }

  #replaceServer(rows: Rows): void {
    this.#rows = rows;
    this.#states = [rows];
    this.#server += 1;
  }

  #read(key: string): Reading {
    const [serverId, history] = [String(this.#server), String(this.#history)];
    return { entry: this.#find(key), now: this.#now, serverId, history };
  }

  #find(key: string): Entry | null {
    const row = this.#rows.get(key);
    return row && row.expiresAt > this.#now ? row.entry : null;
  }

  #swap({ key, expected, next, caller, basis }: Change): SwapResult {
    const own = this.#find(COMPLETENESS_KEY);
    const isBasis = basis.generation === null || basis.generation === own?.version;
    if (this.#now > basis.validUntil) return 'basis';
    if (basis.serverId !== String(this.#server) || !isBasis) return 'basis';
    if ((this.#find(key)?.version ?? null) !== expected) return 'other';
    const rows = new Map(this.#rows);
    const expiresAt = caller === null ? Infinity : this.#now + basis.retentionMs;
    if (next === null) rows.delete(key);
    else rows.set(key, { entry: next, expiresAt });
    this.#onWrite(next?.text ?? '');
    this.#rows = rows;
    this.#states.push(rows);
    return 'swapped';
  }

  /** Sends a message to the server, and the result back. `Lost` is the error where nobody knows what the server did. */
  #exchange<Result>(
    client: Client,
    process: () => Result,
    Lost: typeof StoreUnavailable,
  ): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const server = this.#server;
    const fail = (error: StoreUnavailable) => client.whenAwake(() => reject(error));
    client.whenAwake(() => {
      time.after(TIMEOUT_MS, () => fail(new Lost('timeout')));
      this.#deliver(() => {
        if (!this.isReachable) return fail(new StoreUnavailable('unreachable'));
        if (server !== this.#server) return fail(new Lost('unreachable'));
        const result = process();
        this.#deliver(() => {
          if (server === this.#server) client.whenAwake(() => resolve(result));
          else fail(new Lost('unreachable'));
        });
      });
    });
    return promise;
  }

  /** Brings a message to its end, unless it is lost: then the gateway waits until its timeout. */
  #deliver(arrive: () => void): void {
    const random = this.#random;
    if (random.chance(this.lostShare)) return;
    const isSlow = random.chance(this.slowShare);
    const maxMs = isSlow ? random.pick([TIMEOUT_MS / 2, 3 * TIMEOUT_MS, LATE_MS]) : 10;
    const at = Math.max(time.now + random.between(0, maxMs), this.hangsUntil);
    time.after(at - time.now, arrive);
  }
}
