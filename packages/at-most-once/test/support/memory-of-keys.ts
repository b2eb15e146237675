import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { claimsOn } from '../../../../testkit/claims.ts';
import { TestStore } from '../../../../testkit/store.ts';

/** Prints how many bytes 20,000 keys in memory count for, with the outcome of the first argument, and how many they take. */
const [outcome] = process.argv.slice(2);
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const taken = () => {
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

const store = new TestStore({ maxKeys: 1e6 });
const claims = claimsOn(store);
const fill = async (start: number, count: number) => {
  for (let n = start; n < start + count; n++) {
    const hashOf = (what: string) => hash('sha256', `${what} ${n}`, 'base64url');
    const intent = { caller: hashOf('caller'), fingerprint: hashOf('fingerprint'), ageMs: 0 };
    const owner = crypto.randomUUID();
    await claims.claim(hashOf('key'), owner, intent);
    await claims.record(hashOf('key'), owner, outcome, intent);
  }
};
await fill(0, 1000);
const before = { counted: store.usage?.bytes ?? 0, taken: taken() };
await fill(1000, 20_000);
const counted = (store.usage?.bytes ?? 0) - before.counted;
process.stdout.write(`${JSON.stringify({ counted, taken: taken() - before.taken })}\n`);
process.exit();
