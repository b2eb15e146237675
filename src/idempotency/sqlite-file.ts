import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { StoreUnavailable, type UnavailableReason } from './store.ts';

const SCHEMA_VERSION = 2;
/** Marks the file as one of this gateway: `LGIK` in ASCII. */
const APPLICATION_ID = 0x4c47494b;

/** Differences of this many milliseconds between clock and file system do not matter. */
const CLOCK_TOLERANCE_MS = 10_000;

/**
 * An id grows with the time of the change, so that the oldest keys are found without another index. The text is the
 * last column: what comes before it is read without loading a long outcome. `file` has one row, from which a
 * process learns whether it has the very file that the last one used (see `isSameFile`).
 */
const SCHEMA = `
  CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    caller TEXT NOT NULL,
    version TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    changed_at REAL NOT NULL,
    text TEXT NOT NULL
  ) STRICT;
  CREATE TABLE file (inode INTEGER NOT NULL, closed_at REAL) STRICT;
  INSERT INTO file VALUES (0, NULL);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};`;
const COLUMNS = 'id,key,caller,version,bytes,changed_at,text,inode,closed_at';

const errorSchema = z.object({
  message: z.string(),
  code: z.string().optional(),
  errcode: z.number().optional(),
  syscall: z.string().optional(),
});

/** https://www.sqlite.org/rescode.html, primary codes. */
const reasons: Record<number, UnavailableReason> = {
  5: 'locked', // SQLITE_BUSY
  7: 'full', // SQLITE_NOMEM
  8: 'not_writable', // SQLITE_READONLY
  10: 'not_writable', // SQLITE_IOERR
  11: 'corrupt', // SQLITE_CORRUPT
  13: 'full', // SQLITE_FULL
  14: 'not_writable', // SQLITE_CANTOPEN
  26: 'corrupt', // SQLITE_NOTADB
};

const remedies: Partial<Record<UnavailableReason, string>> = {
  corrupt: 'move the file away to start with an empty one; its claims are lost',
  locked:
    'another process uses the file: give each gateway its own, or share a Redis or PostgreSQL',
};

const fileErrors: Record<string, string> = {
  ENOENT: 'the folder does not exist',
  ENOTDIR: 'a part of the path is not a folder',
  EACCES: 'permission denied',
};

/** An open database of claims. */
export type ClaimsFile = {
  database: DatabaseSync;
  /** Random for each process that opens the file. */
  id: string;
  /** Whether the file has every record of the process that used it before. */
  isContinued: boolean;
  /** Whether another file, or none, is at the path now: another process could use that one. */
  isMoved(): boolean;
  /** Writes the changes in the log to the file itself. */
  checkpoint(): void;
  close(): void;
};

/**
 * Opens the database of a SQLite store and locks it for this process. Its files are readable by their owner only.
 * A file that is not a store is left as it is.
 *
 * @param path a file path, or `:memory:`
 * @param maxBytes the size that the database may grow to
 * @throws StoreUnavailable with a message for the operator
 */
export function openClaims(path: string, maxBytes: number): ClaimsFile {
  try {
    const before = stateOnDisk(path); // SQLite removes the log when it opens the file.
    if (path !== ':memory:') prepareFile(path);
    const database = prepareDatabase(openExclusively(path), maxBytes);
    const isContinued = before !== undefined && isSameFile(database, before);
    const inode = stateOnDisk(path)?.inode ?? 0;
    const isMoved = () => inode !== 0 && stateOnDisk(path)?.inode !== inode;
    noteOpening(database, inode);
    const checkpoint = () => {
      if (database.isOpen) database.exec('PRAGMA wal_checkpoint');
    };
    const close = () => {
      if (!database.isOpen) return;
      if (!isMoved()) database.prepare('UPDATE file SET closed_at = ?').run(Date.now());
      database.close();
    };
    return { database, id: randomUUID(), isContinued, isMoved, checkpoint, close };
  } catch (error) {
    const { reason } = unavailable(error);
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
  if (error instanceof StoreUnavailable) return error;
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
  const tables = readValue(database, 'SELECT count(*) FROM sqlite_schema');
  const application = readValue(database, 'PRAGMA application_id');
  const version = readValue(database, 'PRAGMA user_version');
  if (tables === 0 && application === 0 && version === 0) return true;
  if (application !== APPLICATION_ID) {
    throw new StoreUnavailable('corrupt', 'it belongs to another application; name another file');
  }
  if (version !== SCHEMA_VERSION) {
    const detail = `it has schema version ${version}, not ${SCHEMA_VERSION}; ${remedies.corrupt}`;
    throw new StoreUnavailable('corrupt', detail);
  }
  const columns = `SELECT group_concat(name) FROM (
    SELECT name FROM pragma_table_info('record') UNION ALL SELECT name FROM pragma_table_info('file'))`;
  if (readValue(database, columns) !== COLUMNS) {
    throw new StoreUnavailable('corrupt', `its table is damaged; ${remedies.corrupt}`);
  }
  return false;
}

function prepareDatabase(database: DatabaseSync, maxBytes: number): DatabaseSync {
  try {
    const isEmpty = checkSchema(database);
    const fault = readValue(database, 'PRAGMA integrity_check');
    if (fault !== 'ok') throw new StoreUnavailable('corrupt', `${fault}; ${remedies.corrupt}`);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = FULL');
    const pageSize = Number(readValue(database, 'PRAGMA page_size'));
    database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / pageSize)}`);
    if (isEmpty) database.exec(`BEGIN; ${SCHEMA} COMMIT;`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

type StateOnDisk = { inode: number; changedAt: number; hasLog: boolean };

function stateOnDisk(path: string): StateOnDisk | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  return file && { inode: file.ino, changedAt: file.mtimeMs, hasLog: (log?.size ?? 0) > 0 };
}

/**
 * Whether the last process left the file like this. A copy is another file, or was changed later than it was closed.
 * A file that was not closed has its newest changes in its log (`-wal`).
 */
function isSameFile(database: DatabaseSync, { inode, changedAt, hasLog }: StateOnDisk): boolean {
  if (readValue(database, 'SELECT inode FROM file') !== inode) return false;
  const closedAt = readValue(database, 'SELECT closed_at FROM file');
  if (typeof closedAt !== 'number') return hasLog;
  return Math.abs(changedAt - closedAt) < CLOCK_TOLERANCE_MS;
}

/** Writes to the file itself that it is open, and then to its log, which from then on must not be missing. */
function noteOpening(database: DatabaseSync, inode: number): void {
  database.prepare('UPDATE file SET inode = ?, closed_at = NULL').run(inode);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.prepare('UPDATE file SET inode = ?').run(inode);
}

/** The first column of the first row. */
function readValue(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get() ?? {})[0];
}
