import { join } from 'node:path';
import { claimsOn } from './claims.ts';
import { RETENTION_MS, TestStore } from './store.ts';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * The setting IDEMPOTENCY_STORE of a file whose records are complete since half an hour ago: repeats are then judged as
 * they are by a gateway that has run for long.
 */
export async function agedStore(): Promise<string> {
  const path = join(await temporaryFolder(), 'keys.db');
  const clock = () => Date.now() - RETENTION_MS / 2;
  const retentionMs = 86_400_000;
  const store = new TestStore({ path, retentionMs, clock });
  const claims = claimsOn(store, { retentionMs });
  await claims.settle('key');
  await claims.close();
  return `file:${path}`;
}
