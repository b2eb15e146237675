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
type Size = z.infer<typeof sizeSchema>;
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
  readonly #clock: () => number;
  #keys = new Shares(0);
  #bytes = new Shares(0);
  readonly #batch = byIteration(async (work: readonly (() => unknown)[]) => this.#commit(work));
  readonly #closing = new AbortController();
  /** Whether the store's own entry is in the log of the file, and not yet in the file itself. */
  #needsCheckpoint = false;

  /** @throws StoreUnavailable with a message for the operator */
  constructor(options: SqliteStoreOptions) {
    this.#options = options;
    this.#file = openClaims(options.path, options.maxBytes);
    const { clock = () => performance.timeOrigin + performance.now() } = options;
    // The clock starts at the newest change, even if the wall clock was set back since.
    const offset = Math.max(0, this.#file.newestChange - clock());
    this.#clock = () => clock() + offset;
    this.exclusiveSince = this.#clock();
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
    const reading = await this.#run(() => {
      const entry = this.#find(key) ?? null;
      return { entry, now: this.#clock(), serverId: this.#file.id };
    });
    if (key === COMPLETENESS_KEY) this.#checkpoint();
    return reading;
  }

  swap(change: Change): Promise<SwapResult> {
    const { key, expected, next, caller, needsRoom, basis } = change;
    return this.#run(() => {
      if (this.#clock() > basis.validUntil) return 'basis';
      const found = this.#find(key);
      if ((found?.version ?? null) !== expected) return 'other';
      const size = {
        caller: caller ?? '',
        bytes: ROW_BYTES + (next ? Buffer.byteLength(next.text) : 0),
      };
      if (needsRoom) this.#checkRoom(size, found);
      this.#replace(found, change, size);
      return 'swapped';
    });
  }

  /** Writes a change to the database, and counts its size. */
  #replace(found: Size | undefined, { key, next, caller }: Change, size: Size): void {
    const { put, remove } = this.#file.statements;
    // The store's own entry never expires.
    const changedAt = caller === null ? Number.MAX_SAFE_INTEGER : this.#clock();
    if (next === null) remove.run(key);
    else put.run(key, size.caller, next.version, size.bytes, changedAt, next.text);
    if (found) this.#count(found, 'give');
    if (next) this.#count(size, 'take');
    this.#needsCheckpoint ||= caller === null;
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

  #find(key: string): z.infer<typeof rowSchema> | undefined {
    const row = this.#file.statements.find.get(key);
    const found = row && rowSchema.parse(row);
    if (!found || found.changed_at + this.#options.retentionMs > this.#clock()) return found;
    this.#file.statements.remove.run(key);
    this.#count(found, 'give');
    return undefined;
  }

  /** Throws `StoreUnavailable` if there is no room for an entry in place of `found`, or if its caller holds too much. */
  #checkRoom({ caller, bytes }: Size, found: Size | undefined): void {
    const [keys, more] = found ? [0, bytes - found.bytes] : [1, bytes];
    const { maxKeys, maxBytes } = this.#options;
    const isFull = () =>
      this.#keys.total + keys > maxKeys || this.#bytes.total + more > maxBytes * CLAIMABLE_PART;
    if (isFull()) this.#sweep();
    if (isFull()) throw new StoreUnavailable('full');
    const isInShare = this.#keys.fits(caller, keys) && this.#bytes.fits(caller, more);
    if (!isInShare) throw new StoreUnavailable('share');
  }

  /** Counts all keys for their callers, each of which leaves a quarter to others. */
  #measure(): void {
    this.#keys = new Shares(this.#options.maxKeys, 3);
    this.#bytes = new Shares(this.#options.maxBytes * CLAIMABLE_PART, 3);
    for (const row of this.#file.statements.sizes.all()) this.#count(sizeSchema.parse(row), 'take');
  }

  #count({ caller, bytes }: Size, action: 'take' | 'give'): void {
    if (caller === '') return; // An entry of the store itself.
    this.#keys[action](caller, 1);
    this.#bytes[action](caller, bytes);
  }

  /** Runs work in the transaction of this iteration of the event loop. */
  #run<Result>(work: () => Result): Promise<Result> {
    return this.#batch.load(work) as Promise<Result>;
  }

  #commit(work: readonly (() => unknown)[]): unknown[] {
    const { database } = this.#file;
    if (!database.isOpen) throw new StoreUnavailable('closed');
    try {
      if (this.#file.isMoved()) throw new StoreUnavailable('moved');
      database.exec('BEGIN IMMEDIATE');
      const results = work.map((one) => {
        try {
          return one();
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
  #sweep(): boolean {
    const expired = this.#clock() - this.#options.retentionMs;
    const deleted = this.#file.statements.sweep.all(SWEEP_ROWS, expired);
    for (const row of deleted) this.#count(sizeSchema.parse(row), 'give');
    return deleted.length > 0;
  }

  /** Sweeps each second, and again right after a sweep that found something. */
  async #sweepInSteps(): Promise<void> {
    const { signal } = this.#closing;
    for (let hasMore = false; !signal.aborted; await pause(hasMore ? 2 : 1000, signal)) {
      hasMore = await this.#run(() => this.#sweep()).catch(() => false);
    }
  }
}
