import { claimsOn } from '../../../../testkit/claims.ts';
import { TestStore } from '../../../../testkit/store.ts';

/** A process of its own that holds claims in the file of its first argument until it is killed. */
const path = process.argv[2] ?? '';
const claims = claimsOn(new TestStore({ path }));
for (const key of ['in flight', 'recorded', 'released']) await claims.claim(key, 'child');
await claims.record('recorded', 'child', 'outcome');
await claims.release('released', 'child');
process.stdout.write('ready\n');
setInterval(() => {}, 60_000);
