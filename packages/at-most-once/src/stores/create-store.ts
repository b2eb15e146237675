import { resolve } from 'node:path';
import type { IdempotencyStore } from '../store.ts';
import { LocalStore } from './local-store.ts';

/** A file may grow to this size. A table is shared out as if it had this size. */
const MAX_DISK_BYTES = 8 * 1024 * 1024 * 1024;

export type StoreLimits = {
  /** For how long outcomes are kept, in milliseconds: at least an hour, a day by default. */
  retentionMs: number;
  /** How many keys `memory` or a file takes: 100,000 by default. */
  maxKeys: number;
  /** How many bytes `memory` takes: 64 MiB by default. */
  memoryBytes: number;
};

/** Opens the store that a setting of `openAtMostOnce` names. Those of servers connect in the background. */
export async function createStore(setting: string, limits: StoreLimits): Promise<IdempotencyStore> {
  // Each kind is loaded only if it is used, because that takes time and memory.
  const [scheme = '', name = ''] = setting.split(/:(.*)/s);
  if (scheme === 'memory') return new LocalStore({ ...limits, maxBytes: limits.memoryBytes });
  if (scheme === 'file') {
    const { SqliteTable } = await import('./sqlite-table.ts');
    // An absolute path, because SQLite interprets a relative one that begins with `file:` as a URI.
    const table = new SqliteTable(resolve(name), MAX_DISK_BYTES);
    return new LocalStore({ ...limits, maxBytes: MAX_DISK_BYTES }, table);
  }
  if (scheme.startsWith('redis')) {
    const { RedisStore } = await import('./redis-store.ts');
    return new RedisStore({ url: setting });
  }
  const { PostgresStore } = await import('./postgres-store.ts');
  return new PostgresStore({ url: setting, maxBytes: MAX_DISK_BYTES });
}
