import { SqliteStore } from '../../src/idempotency/sqlite-store.ts';
import { claimsOn, RETENTION_MS } from './claims.ts';

/** A process of its own that holds claims in the file of its first argument until it is killed. */
const path = process.argv[2] ?? '';
const limits = { retentionMs: RETENTION_MS, maxKeys: 1000, maxBytes: 2 ** 30 };
const claims = claimsOn(new SqliteStore({ path, ...limits }));
for (const key of ['in flight', 'recorded', 'released']) await claims.claim(key, 'child');
await claims.record('recorded', 'child', 'outcome');
await claims.release('released', 'child');
process.stdout.write('ready');
setInterval(() => {}, 60_000);
