import type { Change } from '../packages/at-most-once/src/store.ts';
import {
  LocalStore,
  type LocalStoreOptions,
} from '../packages/at-most-once/src/stores/local-store.ts';
import { SqliteTable } from '../packages/at-most-once/src/stores/sqlite-table.ts';
import { closeAfterTest } from './cleanup.ts';

export const RETENTION_MS = 3_600_000;
const MAX_BYTES = 2 ** 30;

/** The store of tests that need some store, whichever it is. It is in memory, unless a test gives it a path. No test reaches its limits. */
export class TestStore extends LocalStore {
  constructor({
    path,
    ...options
  }: Partial<LocalStoreOptions> & { path?: string | undefined } = {}) {
    const { maxBytes = MAX_BYTES } = options;
    const table = path === undefined ? undefined : new SqliteTable(path, maxBytes);
    super({ retentionMs: RETENTION_MS, maxKeys: 1000, maxBytes, ...options }, table);
  }
}

/** Runs `intervene` before the store of a gateway in this process, which is a file or in memory, makes a change. */
export function beforeChange(isIt: (change: Change) => boolean, intervene: () => unknown): void {
  const { prototype } = LocalStore;
  const { swap } = prototype;
  prototype.swap = async function (this: LocalStore, change: Change) {
    if (isIt(change)) await intervene();
    return swap.call(this, change);
  };
  closeAfterTest(() => {
    prototype.swap = swap;
  });
}
