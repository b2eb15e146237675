import { z } from 'zod';
import { pause } from '../poll.ts';
import { Shares } from '../shares.ts';
import {
  byIteration,
  type Change,
  COMPLETENESS_KEY,
  type IdempotencyStore,
  type Reading,
  StoreUnavailable,
  type SwapResult,
  type Usage,
} from '../store.ts';
import { type ClaimsFile, openClaims, unavailable } from './sqlite-file.ts';

/** The part of the size that new keys may fill. The rest is for the outcomes of claims in flight. */
const CLAIMABLE_PART = 0.75;
/** The most expired keys that a transaction deletes: few enough to take milliseconds, also with long outcomes. */
const SWEEP_ROWS = 20;
/** What a key takes besides its text: the row, its index, and free space in their pages. */
const ROW_BYTES = 512;

const sizeSchema = z.object({ caller: z.string(), bytes: z.number() });
/** Work in a transaction, at a time of the store. */
type Work<Result> = (now: number) => Result;
const entrySchema = z.object({ version: z.string(), text: z.string() });
const rowSchema = sizeSchema.extend({ ...entrySchema.shape, changed_at: z.number() });

export type SqliteStoreOptions = {
  /** A file path, or `:memory:`. */
  path: string;
  retentionMs: number;
  /** A new key is rejected when this many are kept. */
  maxKeys: number;
  /** The size that the database may grow to. New keys are rejected when three quarters of it are used. */
  maxBytes: number;
  /** The current time in milliseconds. The default does not follow changes of the wall clock. */
  clock?: () => number;
};

/**
 * Keeps keys in a SQLite database that this process alone uses. The changes of one iteration of the event loop are one
 * transaction, which is on the disk before any of them is confirmed. One caller can hold at most three quarters of the
 * room.
 */
export class SqliteStore implements IdempotencyStore {
  readonly exclusiveSince: number;
  readonly #file: ClaimsFile;
  readonly #options: SqliteStoreOptions;
  /** What is added to the clock, so that it starts at the newest change, even if the wall clock was set back since. */
  #clockOffset = 0;
  #keys = new Shares(0);
  #bytes = new Shares(0);
  readonly #batch = byIteration(async (work: readonly Work<unknown>[]) => this.#commit(work));
  readonly #closing = new AbortController();
  /** Whether the store's own entry is in the log of the file, and not yet in the file itself. */
  #needsCheckpoint = false;

  /** @throws StoreUnavailable with a message for the operator */
  constructor(options: SqliteStoreOptions) {
    this.#options = options;
    this.#file = openClaims(options.path, options.maxBytes);
    this.#clockOffset = Math.max(0, this.#file.newestChange - this.#now());
    this.exclusiveSince = this.#now();
    this.#measure();
    void this.#sweepInSteps();
  }

  get usage(): Usage | undefined {
    if (!this.#file.database.isOpen || this.#file.isMoved()) return undefined;
    const { maxKeys, maxBytes } = this.#options;
    const [keys, bytes] = [this.#keys.total, this.#bytes.total];
    return { keys, maxKeys, bytes, maxBytes: maxBytes * CLAIMABLE_PART };
  }

  async read(key: string): Promise<Reading> {
    const reading = await this.#run((now) => {
      const entry = this.#find(key, now) ?? null;
      return { entry, now, serverId: this.#file.id };
    });
    if (key === COMPLETENESS_KEY) this.#checkpoint();
    return reading;
  }

  swap({ key, expected, next, caller, needsRoom, basis }: Change): Promise<SwapResult> {
    return this.#run((now) => {
      if (now > basis.validUntil) return 'basis';
      const found = this.#find(key, now);
      if ((found?.version ?? null) !== expected) return 'other';
      const holder = found?.caller ?? caller ?? '';
      const bytes = next ? ROW_BYTES + Buffer.byteLength(next.text) : 0;
      const moreKeys = Number(next !== null) - Number(found !== undefined);
      const moreBytes = bytes - (found?.bytes ?? 0);
      if (needsRoom) this.#checkRoom(holder, moreKeys, moreBytes, now);
      const { put, remove } = this.#file.statements;
      // The store's own entry never expires.
      const changedAt = caller === null ? Number.MAX_SAFE_INTEGER : now;
      if (next === null) remove.run(key);
      else put.run(key, holder, next.version, bytes, changedAt, next.text);
      this.#count(holder, moreKeys, moreBytes);
      this.#needsCheckpoint ||= caller === null;
      return 'swapped';
    });
  }

  isContinuation(): boolean {
    return this.#file.isContinued;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // Work that has begun ends first, such as recording the last outcome: two reads, and the change that follows.
    for (let n = 0; n < 3; n++) await this.#run(() => {}).catch(() => {});
    this.#file.close();
  }

  /** Writes the entry of completeness to the file itself, so that it is not lost with the log. If this fails, the next check tries again. */
  #checkpoint(): void {
    if (!this.#needsCheckpoint) return;
    try {
      this.#file.checkpoint();
      this.#needsCheckpoint = false;
    } catch (error) {
      throw unavailable(error);
    }
  }

  #find(key: string, now: number): z.infer<typeof rowSchema> | undefined {
    const row = this.#file.statements.find.get(key);
    const found = row && rowSchema.parse(row);
    if (!found || found.changed_at + this.#options.retentionMs > now) return found;
    this.#file.statements.remove.run(key);
    this.#count(found.caller, -1, -found.bytes);
    return undefined;
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

  /** Counts all keys for their callers, each of which leaves a quarter to others. */
  #measure(): void {
    this.#keys = new Shares(this.#options.maxKeys, 3);
    this.#bytes = new Shares(this.#options.maxBytes * CLAIMABLE_PART, 3);
    this.#countRows(this.#file.statements.sizes.all(), 1);
  }

  /** Counts the keys and bytes of rows, or takes them off with the sign -1. */
  #countRows(rows: readonly unknown[], sign: 1 | -1): void {
    for (const row of rows) {
      const { caller, bytes } = sizeSchema.parse(row);
      this.#count(caller, sign, sign * bytes);
    }
  }

  /** Counts so many more keys and bytes for a caller, or less if they are negative. */
  #count(caller: string, keys: number, bytes: number): void {
    if (caller === '') return; // An entry of the store itself.
    this.#keys.add(caller, keys);
    this.#bytes.add(caller, bytes);
  }

  /** The time of the store. */
  #now(): number {
    const now = this.#options.clock?.() ?? performance.timeOrigin + performance.now();
    return now + this.#clockOffset;
  }

  /** Runs work in the transaction of this iteration of the event loop. */
  #run<Result>(work: Work<Result>): Promise<Result> {
    return this.#batch.load(work) as Promise<Result>;
  }

  #commit(work: readonly Work<unknown>[]): unknown[] {
    const { database } = this.#file;
    if (!database.isOpen) throw new StoreUnavailable('closed');
    try {
      if (this.#file.isMoved()) throw new StoreUnavailable('moved');
      database.exec('BEGIN IMMEDIATE');
      const now = this.#now();
      const results = work.map((one) => {
        try {
          return one(now);
        } catch (error) {
          if (!database.isTransaction) throw error;
          return unavailable(error);
        }
      });
      database.exec('COMMIT');
      return results;
    } catch (error) {
      this.#rollBack();
      throw unavailable(error);
    }
  }

  #rollBack(): void {
    const { database } = this.#file;
    try {
      if (database.isTransaction) database.exec('ROLLBACK');
      this.#measure();
    } catch {
      // The next use reports the same error.
    }
  }

  /** Deletes a few expired keys. Returns whether there were any. */
  #sweep(now: number): boolean {
    const expired = now - this.#options.retentionMs;
    const deleted = this.#file.statements.sweep.all(SWEEP_ROWS, expired);
    this.#countRows(deleted, -1);
    return deleted.length > 0;
  }

  /** Sweeps each second, and again right after a sweep that found something. */
  async #sweepInSteps(): Promise<void> {
    const { signal } = this.#closing;
    for (let hasMore = false; !signal.aborted; await pause(hasMore ? 2 : 1000, signal)) {
      hasMore = await this.#run((now) => this.#sweep(now)).catch(() => false);
    }
  }
}
