import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { StoreUnavailable, type UnavailableReason } from './store.ts';

const SCHEMA_VERSION = 1;
/** Marks the file as one of this gateway: `LGIK` in ASCII. */
const APPLICATION_ID = 0x4c47494b;

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
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};`;
const COLUMNS = 'id,key,owner,fingerprint,claimed_at,lease_end,outcome';

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

const fileErrors: Record<string, string> = {
  ENOENT: 'the folder does not exist',
  ENOTDIR: 'a part of the path is not a folder',
  EACCES: 'permission denied',
};

/**
 * Opens the database of a SQLite store and locks it for this process. Its files are readable by their owner only.
 * A file that is not a store is left as it is.
 *
 * @param path a file path, or `:memory:`
 * @param maxBytes the size that the database may grow to
 * @throws StoreUnavailable with a message for the operator
 */
export function openClaims(path: string, maxBytes: number): DatabaseSync {
  try {
    if (path !== ':memory:') prepareFile(path);
    return prepareDatabase(openExclusively(path), maxBytes);
  } catch (error) {
    const { reason } = error instanceof StoreUnavailable ? error : unavailable(error);
    throw new StoreUnavailable(
      reason,
      `The idempotency store cannot open ${path}: ${explain(error, reason)}`,
    );
  }
}

function explain(error: unknown, reason: UnavailableReason): string {
  const { message, code } = errorSchema.parse(error);
  if (error instanceof StoreUnavailable) return message;
  const remedy = remedies[reason] === undefined ? '' : `; ${remedies[reason]}`;
  return `${(code !== undefined && fileErrors[code]) || message}${remedy}`;
}

/** Translates an error of SQLite or of the file system. */
export function unavailable(error: unknown): StoreUnavailable {
  const { errcode, syscall } = errorSchema.parse(error);
  // The upper bits of a code are details of the same failure.
  if (errcode !== undefined) return new StoreUnavailable(reasons[errcode & 0xff] ?? 'failed');
  return new StoreUnavailable(syscall === undefined ? 'failed' : 'not_writable');
}

/** Creates a file that is missing. An existing one is checked first, because it may have been named by mistake. */
function prepareFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (errorSchema.parse(error).code !== 'EEXIST') throw error;
    const database = openExclusively(path);
    try {
      checkSchema(database);
    } finally {
      database.close();
    }
    // SQLite gives its other files the permissions of the database.
    if (statSync(path).isFile()) chmodSync(path, 0o600);
  }
}

/** The first access locks the file until it is closed, and does not leave other files behind. */
function openExclusively(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  return database;
}

/**
 * Returns whether the database is empty.
 *
 * @throws StoreUnavailable if it is neither empty nor a store of this version
 */
function checkSchema(database: DatabaseSync): boolean {
  const tables = readValue(database, 'SELECT count(*) AS value FROM sqlite_schema');
  const application = readValue(
    database,
    'SELECT application_id AS value FROM pragma_application_id',
  );
  const version = readValue(database, 'SELECT user_version AS value FROM pragma_user_version');
  if (tables === 0 && application === 0 && version === 0) return true;
  if (application !== APPLICATION_ID) {
    throw new StoreUnavailable('corrupt', 'it belongs to another application; name another file');
  }
  if (version !== SCHEMA_VERSION) {
    const detail = `it has schema version ${version}, not ${SCHEMA_VERSION}; ${remedies.corrupt}`;
    throw new StoreUnavailable('corrupt', detail);
  }
  const columns = "SELECT group_concat(name) AS value FROM pragma_table_info('claim')";
  if (readValue(database, columns) !== COLUMNS) {
    throw new StoreUnavailable('corrupt', `its table is damaged; ${remedies.corrupt}`);
  }
  return false;
}

function prepareDatabase(database: DatabaseSync, maxBytes: number): DatabaseSync {
  try {
    const isEmpty = checkSchema(database);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = NORMAL');
    const pageSize = Number(readValue(database, 'SELECT page_size AS value FROM pragma_page_size'));
    database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / pageSize)}`);
    if (isEmpty) database.exec(`BEGIN; ${SCHEMA} COMMIT;`);
    // The owners of these claims belonged to a previous process.
    database.exec('UPDATE claim SET lease_end = 0 WHERE outcome IS NULL');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function readValue(database: DatabaseSync, sql: string): unknown {
  return database.prepare(sql).get()?.value;
}
