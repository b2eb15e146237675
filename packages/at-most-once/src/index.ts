import { AtMostOnce, type Options } from './at-most-once.ts';
import { createStore, type StoreLimits } from './stores/create-store.ts';

export type { AtMostOnce, Write } from './at-most-once.ts';
export type { WriteState } from './claims.ts';
export type { Intent } from './intent.ts';
export { KeyRejected } from './key-rejected.ts';
export type { Limiter } from './limiter.ts';
export { StoreUnavailable } from './store.ts';

type Settings = Options & StoreLimits;

const defaults: Omit<Settings, 'timeoutMs'> = {
  retentionMs: 86_400_000,
  quarantineMs: 120_000,
  maxWritesPerKey: 1,
  closeMs: 10_000,
  maxKeys: 100_000,
  memoryBytes: 2 ** 26,
};

/**
 * Opens a store, and returns what executes writes at most once with it.
 *
 * @param store `memory`, `file:PATH`, or the URL of a Redis or PostgreSQL server: `redis://…`, `rediss://…`, `postgres://…`
 * @throws StoreUnavailable if a file cannot be used, Error if a URL cannot be used
 */
export async function openAtMostOnce(
  store: string,
  settings: Pick<Settings, 'timeoutMs'> & Partial<Settings>,
): Promise<AtMostOnce> {
  const options = { ...defaults, ...settings };
  return new AtMostOnce(await createStore(store, options), options);
}
