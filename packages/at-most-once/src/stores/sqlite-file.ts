import { chmodSync, existsSync, realpathSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { StoreUnavailable, type UnavailableReason } from '../store.ts';

const SCHEMA_VERSION = 2;
/** Marks the file as one of this gateway: `LGIK` in ASCII. */
const APPLICATION_ID = 0x4c47494b;

/**
 * The text is the last column, so that sizes are read without loading long outcomes. `file` has one row, from which a process
 * learns whether this is the file that the last process used (see `isSameFile`).
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
  CREATE TABLE file (inode INTEGER NOT NULL, closed_at REAL, created_at REAL) STRICT;
  INSERT INTO file VALUES (0, NULL, NULL);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};`;

const errorSchema = z.object({
  message: z.string(),
  errcode: z.number().optional(),
  syscall: z.string().optional(),
});

/** https://www.sqlite.org/rescode.html, primary codes. */
const reasons: Record<number, UnavailableReason> = {
  1: 'corrupt', // SQLITE_ERROR: a table is missing.
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
  corrupt: '; move the file away to start with an empty one; its claims are lost',
  locked:
    '; another process uses the file: give each gateway its own, or share a Redis or PostgreSQL',
};

/** The database of a SQLite store, which this process has locked. Its files are readable by their owner only. */
export class SqliteFile {
  readonly database: DatabaseSync;
  readonly statements: ReturnType<typeof prepareStatements>;
  /** Whether the file has every entry of the process that used it before. */
  readonly isContinued: boolean;
  readonly #path: string;
  readonly #inode: number;

  /**
   * A file that is not a store is left as it is.
   *
   * @param maxBytes the size that the database may grow to
   * @throws StoreUnavailable with a message for the operator
   */
  constructor(path: string, maxBytes: number) {
    let opened: DatabaseSync | undefined;
    try {
      // SQLite removes the log when it opens the file.
      const before = existsSync(path) ? stateOnDisk(path) : undefined;
      if (before === undefined) writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
      opened = new DatabaseSync(path);
      prepare(opened, path, maxBytes);
      this.isContinued = before !== undefined && isSameFile(opened, before);
      const { inode, createdAt } = stateOnDisk(path);
      // First the file itself says that it is open, and then its log says so. From then on, the log must not be missing.
      opened.prepare('UPDATE file SET inode = ?, closed_at = NULL').run(inode);
      opened.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      opened.prepare('UPDATE file SET inode = ?, created_at = ?').run(inode, createdAt);
      this.database = opened;
      this.statements = prepareStatements(opened);
      this.#path = path;
      this.#inode = inode;
    } catch (error) {
      opened?.close();
      throw cannotOpen(path, error);
    }
  }

  /** Why the database cannot be used. */
  get fault(): UnavailableReason | undefined {
    return this.database.isOpen ? this.#faultOfPath() : 'closed';
  }

  /** Another file, or none, is at the path, or nobody can look there. Another process could use the file that is there now. */
  #faultOfPath(): UnavailableReason | undefined {
    try {
      const found = statSync(this.#path, { throwIfNoEntry: false });
      return found?.ino === this.#inode ? undefined : 'moved';
    } catch {
      return 'not_writable';
    }
  }

  close(): void {
    if (!this.database.isOpen) return;
    // A whole second, which every file system can keep as the time of change. It is not before the creation of the file,
    // because macOS would then change the time of its creation.
    const closedAt = Math.ceil(Date.now() / 1000);
    const isNoted = !this.#faultOfPath() && noteEnd(this.database, closedAt);
    this.database.close();
    if (isNoted && !this.#faultOfPath()) utimesSync(this.#path, closedAt, closedAt);
  }
}

/**
 * Throws StoreUnavailable if another process has opened the database at this path. Changes nothing. SQLite cannot lock a file
 * exclusively that it has opened for reading. So it always fails here, before it looks at the log that a killed process may have left.
 */
export function checkNotInUse(path: string): void {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA application_id');
  } catch (error) {
    if (unavailable(error).reason === 'locked') throw cannotOpen(path, error);
  } finally {
    database.close();
  }
}

function cannotOpen(path: string, error: unknown): StoreUnavailable {
  const { reason, message } = unavailable(error);
  const text = `The idempotency store cannot open ${path}: ${message}${remedies[reason] ?? ''}`;
  return new StoreUnavailable(reason, text);
}

/** Translates an error of SQLite or of the file system. */
export function unavailable(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  const { errcode, syscall, message } = errorSchema.parse(error);
  // The upper bits of a code are details of the same failure.
  const reason = errcode === undefined ? undefined : reasons[errcode & 0xff];
  return new StoreUnavailable(
    reason ?? (syscall === undefined ? 'failed' : 'not_writable'),
    message,
  );
}

/** Notes that the file is closed, and returns whether this was possible. If not, the next process finds it as after a crash. */
function noteEnd(database: DatabaseSync, closedAt: number): boolean {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)'); // Makes room on a full disk.
    database.prepare('UPDATE file SET closed_at = ?').run(closedAt);
    return true;
  } catch {
    return false;
  }
}

/** Checks the database, and creates the tables of an empty one. */
function prepare(database: DatabaseSync, path: string, maxBytes: number): void {
  // The first access locks the file until it is closed, and does not leave other files behind.
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  const application = readValue(database, 'PRAGMA application_id');
  const version = readValue(database, 'PRAGMA user_version');
  const isEmpty = readValue(database, 'SELECT count(*) FROM sqlite_schema') === 0;
  const isNew = isEmpty && application === 0 && version === 0;
  if (!isNew && application !== APPLICATION_ID) {
    throw new StoreUnavailable('failed', 'it belongs to another application; name another file');
  }
  if (!isNew && version !== SCHEMA_VERSION) {
    const fault = `another version of the gateway wrote it (schema ${version}, not ${SCHEMA_VERSION})`;
    throw new StoreUnavailable('corrupt', fault);
  }
  const fault = readValue(database, 'PRAGMA integrity_check');
  if (fault !== 'ok') throw new StoreUnavailable('corrupt', String(fault));
  // SQLite gives a new log the permissions of the database.
  for (const file of [path, `${path}-wal`]) if (existsSync(file)) chmodSync(file, 0o600);
  const maxPages = Math.floor(maxBytes / Number(readValue(database, 'PRAGMA page_size')));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    PRAGMA max_page_count = ${maxPages}; ${isNew ? `BEGIN; ${SCHEMA} COMMIT;` : ''}`);
  // Version 1.0.0 creates files without this index and this column, and can use those that have them.
  try {
    database.exec('CREATE INDEX IF NOT EXISTS record_age ON record (changed_at)');
  } catch (error) {
    // A disk that is nearly full has no room for it. Without it, expired keys are found more slowly.
    if (unavailable(error).reason !== 'full') throw error;
  }
  const column = "SELECT count(*) FROM pragma_table_info('file') WHERE name = 'created_at'";
  if (readValue(database, column) === 0)
    database.exec('ALTER TABLE file ADD COLUMN created_at REAL');
}

const SIZE = 'key, caller, bytes, changed_at AS changedAt';

function prepareStatements(database: DatabaseSync) {
  return {
    get: database.prepare(`SELECT ${SIZE}, version, text FROM record WHERE key = ?`),
    put: database.prepare(
      `INSERT INTO record (key, caller, version, bytes, changed_at, text) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET version = excluded.version, bytes = excluded.bytes, changed_at = excluded.changed_at, text = excluded.text`,
    ),
    delete: database.prepare('DELETE FROM record WHERE key = ?'),
    values: database.prepare(`SELECT ${SIZE} FROM record`),
    oldest: database.prepare(`SELECT ${SIZE} FROM record ORDER BY changed_at LIMIT ?`),
  };
}

type StateOnDisk = {
  inode: number;
  /** Null if the file system does not keep this time. */
  createdAt: number | null;
  changedAt: number;
  hasLog: boolean;
};

function stateOnDisk(path: string): StateOnDisk {
  const { ino: inode, mtimeMs: changedAt, birthtimeMs, ctimeMs } = statSync(path);
  // SQLite puts its log beside the file that a link leads to.
  const log = statSync(`${realpathSync(path)}-wal`, { throwIfNoEntry: false });
  // Where Node.js does not know the time of creation, it is 0, or the time of the last change of the file or its attributes.
  const createdAt = birthtimeMs > 0 && birthtimeMs < ctimeMs ? birthtimeMs : null;
  return { inode, createdAt, changedAt, hasLog: (log?.size ?? 0) > 0 };
}

/**
 * Whether the last process left the file like this. A process that closes the file notes the time in it, and sets the file's
 * time of change to the same. A copy has another number (inode), another time of change, or another time of creation: many
 * file systems give the number of a deleted file to the next one, and a copy may keep the time of change. A file that was not
 * closed has its newest changes in its log (`-wal`), which must be there.
 */
function isSameFile(database: DatabaseSync, before: StateOnDisk): boolean {
  const noted = database.prepare('SELECT inode, closed_at, created_at FROM file').get();
  if (noted?.inode !== before.inode) return false;
  const { closed_at: closedAt, created_at: createdAt } = noted;
  if (createdAt !== null && createdAt !== before.createdAt) return false;
  return typeof closedAt === 'number' ? before.changedAt === closedAt * 1000 : before.hasLog;
}

/** The first column of the first row. */
function readValue(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get() ?? {})[0];
}
