import type { Change } from '../packages/at-most-once/src/store.ts';
import {
  SqliteStore,
  type SqliteStoreOptions,
} from '../packages/at-most-once/src/stores/sqlite-store.ts';
import { closeAfterTest } from './cleanup.ts';

export const RETENTION_MS = 3_600_000;
/** Limits of a SQLite store that no test reaches. */
export const SQLITE_LIMITS = { retentionMs: RETENTION_MS, maxKeys: 1000, maxBytes: 2 ** 30 };

/** The store of tests that need some store, whichever it is. It is in memory, unless a test gives it a path. */
export class TestStore extends SqliteStore {
  constructor(options: Partial<SqliteStoreOptions> = {}) {
    super({ path: ':memory:', ...SQLITE_LIMITS, ...options });
  }
}

/** Runs `intervene` before the store of a gateway in this process, which is a file or in memory, makes a change. */
export function beforeChange(isIt: (change: Change) => boolean, intervene: () => unknown): void {
  const { prototype } = SqliteStore;
  const { swap } = prototype;
  prototype.swap = async function (this: SqliteStore, change: Change) {
    if (isIt(change)) await intervene();
    return swap.call(this, change);
  };
  closeAfterTest(() => {
    prototype.swap = swap;
  });
}
