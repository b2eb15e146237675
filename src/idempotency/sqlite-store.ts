import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { BackgroundRetry } from './background-retry.ts';
import { openClaims, unavailable } from './sqlite-file.ts';
import {
  type Claim,
  type ClaimResult,
  type IdempotencyStore,
  type StoreLog,
  StoreUnavailable,
} from './store.ts';

/** The most expired claims that a timer tick deletes: few enough to take milliseconds, also with long outcomes. */
const SWEEP_ROWS = 20;
/** The most expired claims that a new claim deletes, so that deletion keeps up with any load. */
const SWEEP_ROWS_PER_CLAIM = 2;
/** The part of the size that claims may fill. The rest is for the outcomes of claims in flight. */
const CLAIMABLE_PART = 0.75;
const SWEEP_PAUSE_MS = 10;
/** The pause after a sweep that found nothing. A sweep with each claim would be a quarter of the claim's CPU. */
const SWEEP_INTERVAL_MS = 1000;

const rowSchema = z.object({
  owner: z.string(),
  fingerprint: z.string(),
  claimed_at: z.number(),
  lease_end: z.number(),
  outcome: z.string().nullable(),
});

export type SqliteStoreOptions = {
  /** A file path, or `:memory:`. */
  path: string;
  retentionMs: number;
  /** A claim of a new key is refused when this many keys are kept. */
  maxKeys: number;
  /** The size that the database may grow to. New keys are refused when three quarters of it are used. */
  maxBytes: number;
  /** The current time in milliseconds. The default does not follow changes of the wall clock. */
  clock?: () => number;
  /** Gets an error when an outcome or a release could not be written. */
  log?: StoreLog;
};

/**
 * Keeps claims in a SQLite database that this process alone uses. A claim is a synchronous insert, so it is
 * atomic without a transaction. A file survives the end of the process, not always a power loss: SQLite
 * writes the log to the disk at checkpoints only (synchronous=NORMAL).
 */
export class SqliteStore implements IdempotencyStore {
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #retentionMs: number;
  readonly #maxKeys: number;
  readonly #maxClaimableBytes: number;
  readonly #clock: () => number;
  readonly #clockOffset: number;
  readonly #retry: BackgroundRetry;
  #size: number;
  #nextSweep = 0;
  #iterationEnd: Promise<void> | undefined;
  #sweepTimer: NodeJS.Timeout;

  constructor({
    path,
    retentionMs,
    maxKeys,
    maxBytes,
    clock = monotonicClock,
    log,
  }: SqliteStoreOptions) {
    this.#database = openClaims(path, maxBytes);
    this.#statements = prepareStatements(this.#database);
    this.#retentionMs = retentionMs;
    this.#maxKeys = maxKeys;
    this.#maxClaimableBytes = maxBytes * CLAIMABLE_PART;
    const { size, newest } = z
      .object({ size: z.number(), newest: z.number().nullable() })
      .parse(this.#statements.summary.get());
    this.#size = size;
    // The clock starts at the newest claim, even if the wall clock was set back since.
    this.#clock = clock;
    this.#clockOffset = Math.max(0, (newest ?? 0) - clock());
    this.#retry = new BackgroundRetry(log);
    this.#sweepTimer = this.#scheduleSweep(SWEEP_INTERVAL_MS);
  }

  /** The number of keys kept, expired ones included until they are deleted. */
  get size(): number {
    return this.#size;
  }

  async claim(claim: Claim): Promise<ClaimResult> {
    return this.#use(() => {
      const now = this.#now();
      const found = this.#statements.find.get(claim.key);
      if (found !== undefined) {
        const row = rowSchema.parse(found);
        if (row.claimed_at + this.#retentionMs > now) return stateOf(row, claim.owner, now);
        this.#statements.remove.run(claim.key);
        this.#size -= 1;
      }
      this.#sweep(SWEEP_ROWS_PER_CLAIM);
      if (this.#isFull()) throw new StoreUnavailable('full');
      const { key, owner, fingerprint, leaseMs } = claim;
      this.#statements.insert.run(key, owner, fingerprint, now, now + leaseMs);
      this.#size += 1;
      return { state: 'claimed' };
    });
  }

  async record(key: string, owner: string, outcome: string): Promise<void> {
    const record = () => this.#use(() => this.#statements.record.run(outcome, key, owner));
    await this.#retry.run(record, Buffer.byteLength(outcome));
  }

  async release(key: string, owner: string): Promise<void> {
    const release = () =>
      this.#use(() => {
        this.#size -= Number(this.#statements.release.run(key, owner).changes);
      });
    await this.#retry.run(release);
  }

  /** Tries pending background work one last time, then closes the database. */
  async close(): Promise<void> {
    clearTimeout(this.#sweepTimer);
    await this.#retry.close();
    // Work that has been started, such as recording the last outcome, ends first.
    await this.#iterationEnd;
    if (this.#database.isOpen) this.#database.close();
  }

  #now(): number {
    return this.#clock() + this.#clockOffset;
  }

  #isFull(): boolean {
    if (this.#size >= this.#maxKeys) return true;
    return Number(this.#statements.usedBytes.get()?.bytes) >= this.#maxClaimableBytes;
  }

  /**
   * Runs work after the events of this event-loop iteration, all of it in a row. This needs less CPU than one by
   * one, because SQLite's code and pages stay in the processor's caches.
   */
  async #use<Result>(work: () => Result): Promise<Result> {
    this.#iterationEnd ??= setImmediate().then(() => {
      this.#iterationEnd = undefined;
    });
    await this.#iterationEnd;
    if (!this.#database.isOpen) throw new StoreUnavailable('closed');
    try {
      return work();
    } catch (error) {
      throw error instanceof StoreUnavailable ? error : unavailable(error);
    }
  }

  /**
   * Deletes up to `limit` expired claims, and returns how many: at least one if there is any, except during a pause.
   * It covers a range of ids that begins with the oldest claim and may have gaps.
   */
  #sweep(limit: number): number {
    const now = this.#now();
    if (now < this.#nextSweep) return 0;
    const deleted = Number(this.#statements.sweep.run(limit, now - this.#retentionMs).changes);
    if (deleted === 0) this.#nextSweep = now + SWEEP_INTERVAL_MS;
    this.#size -= deleted;
    return deleted;
  }

  #scheduleSweep(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      let deleted = 0;
      try {
        deleted = this.#sweep(SWEEP_ROWS);
      } catch {
        // Ignored: the next claim reports the same error.
      }
      this.#sweepTimer = this.#scheduleSweep(deleted > 0 ? SWEEP_PAUSE_MS : SWEEP_INTERVAL_MS);
    }, delayMs).unref();
  }
}

function prepareStatements(
  database: DatabaseSync,
): Record<
  'find' | 'insert' | 'record' | 'release' | 'remove' | 'summary' | 'sweep' | 'usedBytes',
  StatementSync
> {
  return {
    find: database.prepare(
      'SELECT owner, fingerprint, claimed_at, lease_end, outcome FROM claim WHERE key = ?',
    ),
    insert: database.prepare(
      'INSERT INTO claim (key, owner, fingerprint, claimed_at, lease_end) VALUES (?, ?, ?, ?, ?)',
    ),
    record: database.prepare(
      'UPDATE claim SET outcome = ? WHERE key = ? AND owner = ? AND outcome IS NULL',
    ),
    release: database.prepare('DELETE FROM claim WHERE key = ? AND owner = ? AND outcome IS NULL'),
    remove: database.prepare('DELETE FROM claim WHERE key = ?'),
    summary: database.prepare('SELECT count(*) AS size, max(claimed_at) AS newest FROM claim'),
    sweep: database.prepare(
      'DELETE FROM claim WHERE id < (SELECT min(id) FROM claim) + ? AND claimed_at <= ?',
    ),
    usedBytes: database.prepare(
      `SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    ),
  };
}

function stateOf(row: z.infer<typeof rowSchema>, owner: string, now: number): ClaimResult {
  const { fingerprint, outcome } = row;
  if (outcome !== null) return { state: 'recorded', fingerprint, outcome };
  if (row.lease_end <= now) return { state: 'orphaned', fingerprint };
  if (row.owner === owner) return { state: 'claimed' };
  return { state: 'in-flight', fingerprint };
}

function monotonicClock(): number {
  return performance.timeOrigin + performance.now();
}
