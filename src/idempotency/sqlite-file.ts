import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { StoreUnavailable, type UnavailableReason } from './store.ts';

const SCHEMA_VERSION = 1;

/**
 * A rowid grows with the time of the claim, so that the oldest claims are found without another index. The
 * outcome is the last column: what comes before it is read without loading a long outcome.
 */
const SCHEMA = `
  CREATE TABLE claim (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    claimed_at REAL NOT NULL,
    lease_end REAL NOT NULL,
    outcome TEXT
  ) STRICT;
  PRAGMA user_version = ${SCHEMA_VERSION};`;

const errorSchema = z.object({
  message: z.string(),
  code: z.string().optional(),
  errcode: z.number().optional(),
  syscall: z.string().optional(),
});

/** https://www.sqlite.org/rescode.html, primary codes. */
const reasons: Record<number, UnavailableReason> = {
  5: 'locked', // SQLITE_BUSY
  7: 'out_of_memory', // SQLITE_NOMEM
  8: 'not_writable', // SQLITE_READONLY
  10: 'not_writable', // SQLITE_IOERR
  11: 'corrupt', // SQLITE_CORRUPT
  13: 'full', // SQLITE_FULL
  14: 'not_writable', // SQLITE_CANTOPEN
  26: 'corrupt', // SQLITE_NOTADB
};

const remedies: Partial<Record<UnavailableReason, string>> = {
  corrupt: 'move the file away to start with an empty one; its claims are lost',
  locked: 'another process uses the file: give each gateway its own, or share a Redis',
};

/**
 * Opens the database of a SQLite store and locks it for this process. A new file is readable by its owner only.
 *
 * @param path a file path, or `:memory:`
 * @param maxBytes the size that the database may grow to
 * @throws StoreUnavailable with a message for the operator
 */
export function openClaims(path: string, maxBytes: number): DatabaseSync {
  try {
    if (path !== ':memory:') restrictToOwner(path);
    return prepareDatabase(new DatabaseSync(path), maxBytes);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    const { reason } = unavailable(error);
    const { message } = errorSchema.parse(error);
    const remedy = remedies[reason] === undefined ? '' : `; ${remedies[reason]}`;
    throw new StoreUnavailable(
      reason,
      `The idempotency store cannot open ${path}: ${message}${remedy}`,
    );
  }
}

/** Translates an error of SQLite or of the file system. */
export function unavailable(error: unknown): StoreUnavailable {
  const { errcode, syscall } = errorSchema.parse(error);
  // The upper bits of a code are details of the same failure.
  if (errcode !== undefined) return new StoreUnavailable(reasons[errcode & 0xff] ?? 'failed');
  return new StoreUnavailable(syscall === undefined ? 'failed' : 'not_writable');
}

/** SQLite gives its other files the permissions of the database. */
function restrictToOwner(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (errorSchema.parse(error).code !== 'EEXIST') throw error;
    if (statSync(path).isFile()) chmodSync(path, 0o600);
  }
}

function prepareDatabase(database: DatabaseSync, maxBytes: number): DatabaseSync {
  try {
    // EXCLUSIVE comes first: it makes the first access lock the file until it is closed.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    const version = numberOf(database, 'SELECT user_version AS value FROM pragma_user_version');
    const tables = numberOf(database, 'SELECT count(*) AS value FROM sqlite_schema');
    const isNew = version === 0 && tables === 0;
    if (!isNew && version !== SCHEMA_VERSION) {
      throw new StoreUnavailable(
        'corrupt',
        `The idempotency store cannot use ${database.location()}: it is not a store of this version (schema ${version}, expected ${SCHEMA_VERSION})`,
      );
    }
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = NORMAL');
    const pageSize = numberOf(database, 'SELECT page_size AS value FROM pragma_page_size');
    database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / pageSize)}`);
    if (isNew) database.exec(`BEGIN; ${SCHEMA} COMMIT;`);
    // The owners of these claims belonged to a previous process.
    database.exec('UPDATE claim SET lease_end = 0 WHERE outcome IS NULL');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function numberOf(database: DatabaseSync, sql: string): number {
  return Number(database.prepare(sql).get()?.value);
}
