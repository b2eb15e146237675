import { resolve } from 'node:path';
import { SqliteStore } from './sqlite-store.ts';
import { type IdempotencyStore, type StoreLog, StoreUnavailable } from './store.ts';

/** The database of a `memory` store may grow to this size, so that long outcomes cannot exhaust the process. */
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
const MAX_FILE_BYTES = 8 * 1024 * 1024 * 1024;

type StoreOptions = {
  retentionMs: number;
  /** Bounds `memory` and `file:` stores. */
  maxKeys: number;
  log: StoreLog;
};

/**
 * Opens the store that a setting names: `memory`, `file:PATH`, `redis://…` or `rediss://…`. A Redis store
 * connects in the background.
 *
 * @throws StoreUnavailable if a file cannot be used, Error if the setting is none of these
 */
export async function createStore(
  setting: string,
  { retentionMs, maxKeys, log }: StoreOptions,
): Promise<IdempotencyStore> {
  if (setting === 'memory') {
    return new SqliteStore({
      path: ':memory:',
      retentionMs,
      maxKeys,
      maxBytes: MAX_MEMORY_BYTES,
      log,
    });
  }
  if (setting.startsWith('file:')) {
    const name = setting.slice('file:'.length);
    if (name === '' || name === ':memory:') {
      throw new StoreUnavailable(
        'not_writable',
        'IDEMPOTENCY_STORE=file:PATH needs the path of a file',
      );
    }
    // An absolute path, because SQLite interprets a relative one that begins with `file:` as a URI.
    const path = resolve(name);
    return new SqliteStore({ path, retentionMs, maxKeys, maxBytes: MAX_FILE_BYTES, log });
  }
  if (/^rediss?:\/\//.test(setting)) {
    // Loading the client takes time and memory that the other stores do not need.
    const { RedisStore } = await import('./redis-store.ts');
    return new RedisStore({ url: setting, retentionMs, log });
  }
  throw new Error('The idempotency store must be memory, file:PATH, redis://… or rediss://…');
}
