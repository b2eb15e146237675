import { pause } from '../poll.ts';
import { Shares } from '../shares.ts';
import {
  type Change,
  type Entry,
  type IdempotencyStore,
  type Reading,
  StoreUnavailable,
  type SwapResult,
  type UnavailableReason,
  type Usage,
} from '../store.ts';

/** The part of the size that new keys may fill. The rest is for the outcomes of claims in flight. */
const CLAIMABLE_PART = 0.75;
/** The most expired keys that are removed at once: few enough to take milliseconds, also with long outcomes. */
const SWEEP_ROWS = 20;
/** What a key takes besides its text: in memory, or in a file with its index and free space in the pages. */
const ROW_BYTES = 512;

/**
 * What the row of a key takes, whose share it is, and when it changed, in milliseconds. The caller of the store's own entry is an
 * empty text.
 */
export type Size = { key: string; caller: string; bytes: number; changedAt: number };

export type Row = Entry & Size;

/** Rows by key, for one process. Methods throw `StoreUnavailable`. */
export type Table = Pick<Map<string, Row>, 'get' | 'delete'> & {
  /** Adds a row, or replaces one. Either is the newest one then. */
  put(row: Row): void;
  values(): Iterable<Size>;
  /** The rows that have not changed for the longest time. */
  oldest(count: number): Size[];
  /** Runs work on the rows, and returns its result when its changes are durable. Fails if they are not: then they are undone. */
  run<Result>(work: () => Result): Result | Promise<Result>;
  /** Called when the changes of several works were undone. */
  onUndo?: () => void;
  /** Whether the table has every entry of the process that used it before. */
  readonly isContinued?: boolean;
  /** Why the table cannot be used now. */
  readonly fault: UnavailableReason | undefined;
  close(): void;
};

/** Keeps rows in the memory of the process. */
class MemoryTable extends Map<string, Row> implements Table {
  fault: Table['fault'];

  put(row: Row): void {
    this.delete(row.key);
    this.set(row.key, row);
  }

  oldest(count: number): Size[] {
    return this.values().take(count).toArray();
  }

  run<Result>(work: () => Result): Result {
    if (this.fault) throw new StoreUnavailable(this.fault);
    return work();
  }

  close(): void {
    this.fault = 'closed';
    this.clear();
  }
}

export type LocalStoreOptions = {
  retentionMs: number;
  /** A new key is rejected when this many are kept. */
  maxKeys: number;
  /** The size that the table may grow to. New keys are rejected when three quarters of it are used. */
  maxBytes: number;
  /** The current time in milliseconds. The default does not follow changes of the wall clock. */
  clock?: () => number;
};

/**
 * Keeps keys in a table that this process alone uses: in memory, if none is given. One caller can hold at most three quarters of
 * the room.
 */
export class LocalStore implements IdempotencyStore {
  readonly exclusiveSince: number;
  readonly #id = crypto.randomUUID();
  readonly #table: Table;
  readonly #options: LocalStoreOptions;
  /** What is added to the clock, so that it starts at the newest change, even if the wall clock was set back since. */
  #clockOffset = 0;
  #keys = new Shares(0);
  #bytes = new Shares(0);
  readonly #closing = new AbortController();

  constructor(options: LocalStoreOptions, table: Table = new MemoryTable()) {
    this.#table = table;
    this.#options = options;
    table.onUndo = () => this.#measure();
    this.#clockOffset = Math.max(0, this.#measure() - this.#now());
    this.exclusiveSince = this.#now();
    void this.#sweepInSteps();
  }

  get usage(): Usage | undefined {
    if (this.#table.fault) return undefined;
    const { maxKeys, maxBytes } = this.#options;
    const [keys, bytes] = [this.#keys.total, this.#bytes.total];
    return { keys, maxKeys, bytes, maxBytes: maxBytes * CLAIMABLE_PART };
  }

  read(key: string): Reading | Promise<Reading> {
    return this.#table.run(() => {
      const now = this.#now();
      return { entry: this.#find(key, now) ?? null, now, serverId: this.#id };
    });
  }

  swap(change: Change): SwapResult | Promise<SwapResult> {
    return this.#table.run(() => this.#swap(change, this.#now()));
  }

  #swap({ key, expected, next, caller, needsRoom, basis }: Change, now: number): SwapResult {
    if (now > basis.validUntil) return 'basis';
    const found = this.#find(key, now);
    if ((found?.version ?? null) !== expected) return 'other';
    const holder = found?.caller ?? caller ?? '';
    const bytes = next ? ROW_BYTES + bytesOf(next.text) : 0;
    const moreKeys = Number(next !== null) - Number(found !== undefined);
    const moreBytes = bytes - (found?.bytes ?? 0);
    if (needsRoom) this.#checkRoom(holder, moreKeys, moreBytes, now);
    if (moreBytes > 0 && this.#bytes.total + moreBytes > this.#options.maxBytes) {
      throw new StoreUnavailable('full');
    }
    // The store's own entry never expires.
    const changedAt = caller === null ? Number.MAX_SAFE_INTEGER : now;
    if (next === null) this.#table.delete(key);
    else this.#table.put({ ...next, key, caller: holder, bytes, changedAt });
    this.#count(holder, moreKeys, moreBytes);
    return 'swapped';
  }

  isContinuation(): boolean {
    return this.#table.isContinued ?? false;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // Work that has begun ends first, such as recording the last outcome: two reads, and the change that follows.
    for (let n = 0; n < 3; n++) await this.#tryToRun(() => {});
    this.#table.close();
  }

  #find(key: string, now: number): Row | undefined {
    const found = this.#table.get(key);
    if (!found || !this.#isExpired(found, now)) return found;
    this.#delete(found);
    return undefined;
  }

  #isExpired({ changedAt }: Size, now: number): boolean {
    return changedAt + this.#options.retentionMs <= now;
  }

  #delete({ key, caller, bytes }: Size): void {
    this.#table.delete(key);
    this.#count(caller, -1, -bytes);
  }

  /** Throws `StoreUnavailable` if there is no room for so many more keys and bytes, or if the caller would hold too much. */
  #checkRoom(caller: string, keys: number, bytes: number, now: number): void {
    const { maxKeys, maxBytes } = this.#options;
    const isFull = () =>
      this.#keys.total + keys > maxKeys || this.#bytes.total + bytes > maxBytes * CLAIMABLE_PART;
    if (isFull()) {
      this.#sweep(now);
      if (isFull()) throw new StoreUnavailable('full');
    }
    const isInShare = this.#keys.fits(caller, keys) && this.#bytes.fits(caller, bytes);
    if (!isInShare) throw new StoreUnavailable('share');
  }

  /** Counts all keys for their callers, each of which leaves a quarter to others. Returns the time of the newest change. */
  #measure(): number {
    const keys = new Shares(this.#options.maxKeys, 3);
    const total = new Shares(this.#options.maxBytes * CLAIMABLE_PART, 3);
    let newest = 0;
    for (const { caller, bytes, changedAt } of this.#table.values()) {
      if (caller === '') continue;
      keys.add(caller, 1);
      total.add(caller, bytes);
      newest = Math.max(newest, changedAt);
    }
    [this.#keys, this.#bytes] = [keys, total];
    return newest;
  }

  /** Counts so many more keys and bytes for a caller, or less if they are negative. */
  #count(caller: string, keys: number, bytes: number): void {
    if (caller === '') return;
    this.#keys.add(caller, keys);
    this.#bytes.add(caller, bytes);
  }

  /** The time of the store. */
  #now(): number {
    const now = this.#options.clock?.() ?? performance.timeOrigin + performance.now();
    return now + this.#clockOffset;
  }

  /** Removes a few expired keys. Returns whether there were any. */
  #sweep(now: number): boolean {
    const oldest = this.#table.oldest(SWEEP_ROWS);
    const expired = oldest.filter((row) => this.#isExpired(row, now));
    for (const row of expired) this.#delete(row);
    return expired.length > 0;
  }

  /** Sweeps each second, and again right after a sweep that found something. */
  async #sweepInSteps(): Promise<void> {
    const { signal } = this.#closing;
    for (let hasMore = false; !signal.aborted; await pause(hasMore ? 2 : 1000, signal)) {
      hasMore = (await this.#tryToRun(() => this.#sweep(this.#now()))) ?? false;
    }
  }

  /** Runs work. Undefined if the table cannot be used: the next use reports the same error. */
  async #tryToRun<Result>(work: () => Result): Promise<Result | undefined> {
    try {
      return await this.#table.run(work);
    } catch {
      return undefined;
    }
  }
}

/** The most bytes that a text takes: in memory, one for each character, or two if not all are ASCII; in a file, those of UTF-8. */
function bytesOf(text: string): number {
  const bytes = Buffer.byteLength(text);
  return bytes === text.length ? bytes : Math.max(bytes, text.length * 2);
}
