import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { Shares } from '../account/shares.ts';
import { Batch } from './batch.ts';
import { type ClaimsFile, openClaims, unavailable } from './sqlite-file.ts';
import {
  type Change,
  COMPLETENESS_KEY,
  type IdempotencyStore,
  type Reading,
  StoreUnavailable,
  type Usage,
} from './store.ts';

/** The most expired keys that a transaction deletes: few enough to take milliseconds, also with long outcomes. */
const SWEEP_ROWS = 20;
/** The part of the size that new keys may fill. The rest is for the outcomes of claims in flight. */
const CLAIMABLE_PART = 0.75;
const SWEEP_PAUSE_MS = 10;
/** The pause after a sweep that found nothing. A sweep in each transaction would be a quarter of a claim's CPU. */
const SWEEP_INTERVAL_MS = 1000;
/** What a key takes besides its text: the row and its index. */
const ROW_BYTES = 256;

const sizeSchema = z.object({ caller: z.string(), bytes: z.number() });
const rowSchema = sizeSchema.extend({
  version: z.string(),
  text: z.string(),
  changed_at: z.number(),
});

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
 * transaction, which is on the disk before any of them is confirmed. One caller gets a quarter of the room while that
 * is scarce.
 */
export class SqliteStore implements IdempotencyStore {
  readonly exclusiveSince: number;
  readonly #file: ClaimsFile;
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #options: Required<SqliteStoreOptions>;
  readonly #clockOffset: number;
  #keys = new Shares(0);
  #bytes = new Shares(0);
  readonly #batch = new Batch<() => unknown, unknown>((work) => this.#commit(work));
  /** What the database takes. Measured once in a transaction. */
  #usedBytes: number | undefined;
  #nextSweep = 0;
  #sweepTimer: NodeJS.Timeout;

  /** @throws StoreUnavailable with a message for the operator */
  constructor(options: SqliteStoreOptions) {
    this.#options = { clock: monotonicClock, ...options };
    this.#file = openClaims(options.path, options.maxBytes);
    this.#database = this.#file.database;
    this.#statements = prepareStatements(this.#database);
    // The clock starts at the newest change, even if the wall clock was set back since.
    const newest = Number(this.#statements.newest.get()?.value ?? 0);
    this.#clockOffset = Math.max(0, newest - this.#options.clock());
    this.exclusiveSince = this.#now();
    this.#measure();
    this.#sweepTimer = this.#scheduleSweep(SWEEP_INTERVAL_MS);
  }

  get usage(): Usage | undefined {
    if (!this.#database.isOpen || this.#file.isMoved()) return undefined;
    const { maxKeys, maxBytes } = this.#options;
    const keys = this.#keys.total;
    return { keys, maxKeys, bytes: this.#measureBytes(), maxBytes: maxBytes * CLAIMABLE_PART };
  }

  read(key: string): Promise<Reading> {
    return this.#run(() => {
      const row = this.#find(key);
      const entry = row && { version: row.version, text: row.text };
      return { entry: entry ?? null, now: this.#now(), serverId: this.#file.id };
    });
  }

  swap({ key, expected, next, caller, isClaim }: Change): Promise<boolean> {
    return this.#run(() => {
      const found = this.#find(key);
      if ((found?.version ?? null) !== expected) return false;
      const owner = caller ?? '';
      const bytes = ROW_BYTES + Buffer.byteLength(next?.text ?? '');
      if (isClaim) this.#checkRoom(owner, found ? 0 : 1, bytes - (found?.bytes ?? 0));
      if (next === null) this.#statements.remove.run(key);
      else this.#statements.put.run(key, owner, next.version, bytes, this.#now(), next.text);
      if (found) this.#giveBack(found);
      if (next) this.#take({ caller: owner, bytes });
      // The record since when the file is complete must not be lost with the log.
      if (caller === null) setImmediate(() => this.#file.checkpoint());
      return true;
    });
  }

  isContinuation(writtenOn: string, serverId: string): boolean {
    return writtenOn === serverId || this.#file.isContinued;
  }

  async close(): Promise<void> {
    clearTimeout(this.#sweepTimer);
    // What has been started, such as recording the last outcome, ends first: a read and the change that follows.
    for (let n = 0; n < 2; n++) await this.#run(() => {}).catch(() => {});
    this.#file.close();
  }

  #find(key: string): z.infer<typeof rowSchema> | undefined {
    const row = this.#statements.find.get(key);
    if (row === undefined) return undefined;
    const found = rowSchema.parse(row);
    const isExpired = found.changed_at + this.#options.retentionMs <= this.#now();
    if (!isExpired || key === COMPLETENESS_KEY) return found;
    this.#statements.remove.run(key);
    this.#giveBack(found);
    return undefined;
  }

  /** Throws `StoreUnavailable` if a caller may not take so much more. */
  #checkRoom(caller: string, keys: number, bytes: number): void {
    const { total } = this.#keys;
    this.#usedBytes ??= this.#measureBytes();
    const isFull = this.#usedBytes >= this.#options.maxBytes * CLAIMABLE_PART;
    if (isFull || total + keys > this.#options.maxKeys) throw new StoreUnavailable('full');
    if (!this.#keys.fits(caller, keys) || !this.#bytes.fits(caller, bytes)) {
      throw new StoreUnavailable('share');
    }
  }

  #now(): number {
    return this.#options.clock() + this.#clockOffset;
  }

  #measureBytes(): number {
    return Number(this.#statements.usedBytes.get()?.bytes);
  }

  /** Measures what each caller holds. */
  #measure(): void {
    const { maxKeys, maxBytes } = this.#options;
    this.#keys = new Shares(maxKeys);
    this.#bytes = new Shares(maxBytes * CLAIMABLE_PART);
    for (const row of this.#statements.sizes.all()) this.#take(sizeSchema.parse(row));
  }

  #take({ caller, bytes }: z.infer<typeof sizeSchema>): void {
    if (caller === '') return; // A record of the store itself.
    this.#keys.take(caller, 1);
    this.#bytes.take(caller, bytes);
  }

  #giveBack({ caller, bytes }: z.infer<typeof sizeSchema>): void {
    if (caller === '') return;
    this.#keys.give(caller, 1);
    this.#bytes.give(caller, bytes);
  }

  /** Runs work in the transaction of this iteration of the event loop. */
  #run<Result>(work: () => Result): Promise<Result> {
    return this.#batch.run(work) as Promise<Result>;
  }

  #commit(work: (() => unknown)[]): unknown[] {
    try {
      if (!this.#database.isOpen) throw new StoreUnavailable('closed');
      if (this.#file.isMoved()) {
        const message = `The idempotency store ${this.#options.path} was moved away while in use`;
        throw new StoreUnavailable('moved', message);
      }
      this.#database.exec('BEGIN IMMEDIATE');
      this.#sweep();
      this.#usedBytes = undefined;
      const results = work.map((one) => {
        try {
          return one();
        } catch (error) {
          if (!this.#database.isTransaction) throw error;
          return unavailable(error);
        }
      });
      this.#database.exec('COMMIT');
      return results;
    } catch (error) {
      this.#rollBack();
      throw unavailable(error);
    }
  }

  #rollBack(): void {
    if (!this.#database.isOpen) return;
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      this.#measure();
    } catch {
      // The next use reports the same error.
    }
  }

  /**
   * Deletes a few expired keys: at least one if there is any, except during a pause. It covers a range of ids that
   * begins with the oldest change and may have gaps.
   */
  #sweep(): void {
    const now = this.#now();
    if (now < this.#nextSweep) return;
    const deleted = this.#statements.sweep.all(SWEEP_ROWS, now - this.#options.retentionMs);
    for (const row of deleted) this.#giveBack(sizeSchema.parse(row));
    if (deleted.length === 0) this.#nextSweep = now + SWEEP_INTERVAL_MS;
  }

  /** Sweeps also without other work. */
  #scheduleSweep(delayMs: number): NodeJS.Timeout {
    return setTimeout(async () => {
      await this.#run(() => {}).catch(() => {});
      if (!this.#database.isOpen) return;
      const isDone = this.#now() < this.#nextSweep;
      this.#sweepTimer = this.#scheduleSweep(isDone ? SWEEP_INTERVAL_MS : SWEEP_PAUSE_MS);
    }, delayMs).unref();
  }
}

function prepareStatements(database: DatabaseSync) {
  const isOwn = `key = '${COMPLETENESS_KEY}'`;
  return {
    find: database.prepare(
      'SELECT caller, bytes, version, text, changed_at FROM record WHERE key = ?',
    ),
    // A replaced row gets a new id.
    put: database.prepare(
      'REPLACE INTO record (key, caller, version, bytes, changed_at, text) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    remove: database.prepare('DELETE FROM record WHERE key = ?'),
    newest: database.prepare('SELECT max(changed_at) AS value FROM record'),
    sizes: database.prepare('SELECT caller, bytes FROM record'),
    sweep: database.prepare(
      `DELETE FROM record WHERE id < (SELECT min(id) FROM record WHERE NOT ${isOwn}) + ?
        AND changed_at <= ? AND NOT ${isOwn} RETURNING caller, bytes`,
    ),
    usedBytes: database.prepare(
      `SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    ),
  };
}

function monotonicClock(): number {
  return performance.timeOrigin + performance.now();
}
