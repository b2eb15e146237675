import { SqliteStore } from '../../src/idempotency/sqlite-store.ts';

/** A process of its own that holds claims in the file of its first argument until it is killed. */
const store = new SqliteStore({
  path: process.argv[2] ?? '',
  retentionMs: 3_600_000,
  maxKeys: 1000,
  maxBytes: 2 ** 30,
});
for (const key of ['in flight', 'recorded', 'released']) {
  await store.claim({ key, owner: 'child', fingerprint: 'fingerprint', leaseMs: 3_600_000 });
}
await store.record('recorded', 'child', 'outcome');
await store.release('released', 'child');
process.stdout.write('ready');
setInterval(() => {}, 60_000);
