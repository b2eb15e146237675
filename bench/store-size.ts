import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Claims } from '../packages/at-most-once/src/claims.ts';
import { Completeness } from '../packages/at-most-once/src/completeness.ts';
import { StoreUnavailable } from '../packages/at-most-once/src/store.ts';
import { createStore } from '../packages/at-most-once/src/stores/create-store.ts';
import { stop } from './children.ts';
import { isRedisInstalled, prepareStore, redisMemory, type StoreName } from './stores.ts';

/** `npm run bench:store-size` prints how much a key with a typical outcome takes in each store. */
const KEYS = 100_000;
/** Written before the first reading, so that fixed costs do not count. */
const FIRST_KEYS = 10_000;

const response = { invoiceId: '4711', message: 'Workflow restarted', status: 0 };
const outcome = { operation: 'restartWorkflow2', response };
const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-store-size-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const print = (text: string) => process.stdout.write(`${text}\n`);

const { length } = JSON.stringify(outcome);
print(`Bytes per key, from the growth by ${KEYS} keys with an outcome of ${length} bytes`);
await measure('memory', 'resident memory of the process', () => {
  globalThis.gc?.();
  return process.memoryUsage.rss();
});
await measure('file', 'size of the database and its log', (url) => {
  const path = url.replace('file:', '');
  return statSync(path).size + statSync(`${path}-wal`).size;
});
if (isRedisInstalled()) {
  await measure('redis', 'used_memory', (url) => redisMemory(Number(new URL(url).port)));
} else {
  print('redis: left out, because redis-server is not installed');
}

/** Fills a store. `read` gets its setting and returns the bytes in use. */
async function measure(
  name: StoreName,
  what: string,
  read: (setting: string) => number | Promise<number>,
): Promise<void> {
  const { setting, redis } = await prepareStore(name, folder);
  const options = { retentionMs: 86_400_000, quarantineMs: 0, maxKeys: 1e9, memoryBytes: 2 ** 40 };
  const store = await createStore(setting, options);
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const completeness = new Completeness({ ...options, store, log, watch: (use) => use });
  const claims = new Claims(store, completeness, 1, () => false);
  await whenConnected(claims);
  await fill(claims, FIRST_KEYS);
  const before = await read(setting);
  await fill(claims, KEYS);
  const bytes = ((await read(setting)) - before) / KEYS;
  print(`${name}: ${bytes.toFixed(0)} (${what})`);
  completeness.close();
  await store.close();
  if (redis) await stop(redis);
}

async function fill(claims: Claims, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const owner = crypto.randomUUID();
    const key = digest(owner);
    const operation = 'restartWorkflow2' as const;
    const names = { caller: digest('caller'), responseName: 'workflowAction', operation };
    const times = { leaseMs: 15_000, ageMs: 0, receivedAt: performance.now() };
    const claim = { key, owner, fingerprint: digest(key), ...names, ...times };
    await claims.claim(claim);
    await claims.record(claim, outcome);
  }
}

/** A store in Redis connects in the background. */
async function whenConnected(claims: Claims): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      return await fill(claims, 1);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await sleep(50);
    }
  }
  throw new Error('The store cannot be used');
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
