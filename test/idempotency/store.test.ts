import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test as jestTest } from '@jest/globals';
import { RedisStore } from '../../src/idempotency/redis-store.ts';
import { SqliteStore } from '../../src/idempotency/sqlite-store.ts';
import type { ClaimResult, IdempotencyStore } from '../../src/idempotency/store.ts';
import { isRedisInstalled, startRedis, whenUsable } from '../support/redis.ts';

const LEASE_MS = 60_000;
const RETENTION_MS = 3_600_000;

/** Opens stores of one kind, and waits for their time to pass. */
type Backend = {
  open(retentionMs: number): Promise<IdempotencyStore>;
  /** Another store over the same data, where there can be one. */
  openAnother(retentionMs: number): Promise<IdempotencyStore | undefined>;
  /** Lets a lease or retention of this length end. */
  pass(ms: number): Promise<void>;
};

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function sqlite(place: () => Promise<string>): () => Promise<Backend> {
  return async () => {
    let now = Date.now();
    const path = await place();
    return {
      async open(retentionMs) {
        const store = new SqliteStore({
          path,
          retentionMs,
          maxKeys: 1000,
          maxBytes: 2 ** 30,
          clock: () => now,
        });
        cleanups.push(() => store.close());
        return store;
      },
      async openAnother() {
        return undefined;
      },
      async pass(ms) {
        now += ms;
      },
    };
  };
}

async function temporaryFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'idempotency-'));
  cleanups.push(() => rm(directory, { recursive: true }));
  return join(directory, 'claims.db');
}

async function redis(): Promise<Backend> {
  const server = await startRedis();
  cleanups.push(() => server.stop());
  const open = async (retentionMs: number) => {
    const log = { warn() {}, error() {} };
    const store = new RedisStore({ url: server.url, retentionMs, log });
    cleanups.push(() => store.close());
    await whenUsable(store);
    return store;
  };
  return { open, openAnother: open, pass: (ms) => sleep(ms + 5) };
}

const backends = [
  { name: 'memory', start: sqlite(async () => ':memory:') },
  { name: 'file', start: sqlite(temporaryFile) },
  { name: 'redis', start: redis },
];

describe.each(backends)('$name', ({ name, start }) => {
  const test = name === 'redis' && !isRedisInstalled ? jestTest.skip : jestTest;

  test('a free key is claimed', async () => {
    const store = await (await start()).open(RETENTION_MS);
    expect(await store.claim(claimOf('key', 'first'))).toEqual({ state: 'claimed' });
    expect(await store.claim(claimOf('other key', 'second'))).toEqual({ state: 'claimed' });
  });

  test('a repeat finds the claim in flight, with the fingerprint of the first', async () => {
    const store = await (await start()).open(RETENTION_MS);
    await store.claim(claimOf('key', 'first', { fingerprint: 'of the first' }));
    expect(await store.claim(claimOf('key', 'second'))).toEqual({
      state: 'in-flight',
      fingerprint: 'of the first',
    });
  });

  test('the same owner may claim again', async () => {
    const store = await (await start()).open(RETENTION_MS);
    await store.claim(claimOf('key', 'first'));
    expect(await store.claim(claimOf('key', 'first'))).toEqual({ state: 'claimed' });
  });

  test('a recorded outcome is replayed to everyone, the owner included', async () => {
    const store = await (await start()).open(RETENTION_MS);
    await store.claim(claimOf('key', 'first'));
    await store.record('key', 'first', '{"a":1}');
    const recorded = { state: 'recorded', fingerprint: 'fingerprint', outcome: '{"a":1}' };
    expect(await store.claim(claimOf('key', 'second'))).toEqual(recorded);
    expect(await store.claim(claimOf('key', 'first'))).toEqual(recorded);
  });

  test('a recorded outcome is final: no record or release changes it', async () => {
    const store = await (await start()).open(RETENTION_MS);
    await store.claim(claimOf('key', 'first'));
    await store.record('key', 'first', 'outcome');
    await store.record('key', 'first', 'another outcome');
    await store.release('key', 'first');
    expect(await store.claim(claimOf('key', 'second'))).toMatchObject({ outcome: 'outcome' });
  });

  test('a released key is free again', async () => {
    const store = await (await start()).open(RETENTION_MS);
    await store.claim(claimOf('key', 'first'));
    await store.release('key', 'first');
    expect(await store.claim(claimOf('key', 'second'))).toEqual({ state: 'claimed' });
  });

  test('an owner that does not hold the key can neither record nor release it', async () => {
    const store = await (await start()).open(RETENTION_MS);
    await store.claim(claimOf('key', 'first'));
    await store.record('key', 'second', 'outcome');
    await store.release('key', 'second');
    expect(await store.claim(claimOf('key', 'second'))).toMatchObject({ state: 'in-flight' });
  });

  test('recording or releasing a free key does nothing', async () => {
    const store = await (await start()).open(RETENTION_MS);
    await store.record('key', 'first', 'outcome');
    await store.release('key', 'first');
    expect(await store.claim(claimOf('key', 'second'))).toEqual({ state: 'claimed' });
  });

  test('a claim is orphaned when its lease ends, for its owner too', async () => {
    const backend = await start();
    const store = await backend.open(RETENTION_MS);
    await store.claim(claimOf('key', 'first', { leaseMs: 40 }));
    await backend.pass(40);
    const orphaned = { state: 'orphaned', fingerprint: 'fingerprint' };
    expect(await store.claim(claimOf('key', 'second'))).toEqual(orphaned);
    expect(await store.claim(claimOf('key', 'first'))).toEqual(orphaned);
  });

  test('an outcome recorded after the lease replaces the orphaned state', async () => {
    const backend = await start();
    const store = await backend.open(RETENTION_MS);
    await store.claim(claimOf('key', 'first', { leaseMs: 40 }));
    await backend.pass(40);
    await store.record('key', 'first', 'outcome');
    expect(await store.claim(claimOf('key', 'second'))).toMatchObject({ outcome: 'outcome' });
  });

  test('an owner may release its key after the lease', async () => {
    const backend = await start();
    const store = await backend.open(RETENTION_MS);
    await store.claim(claimOf('key', 'first', { leaseMs: 40 }));
    await backend.pass(40);
    await store.release('key', 'first');
    expect(await store.claim(claimOf('key', 'second'))).toEqual({ state: 'claimed' });
  });

  test('a key is free again when the retention ends', async () => {
    const backend = await start();
    const store = await backend.open(80);
    await store.claim(claimOf('recorded', 'first', { leaseMs: 40 }));
    await store.record('recorded', 'first', 'outcome');
    await store.claim(claimOf('orphaned', 'first', { leaseMs: 40 }));
    await backend.pass(80);
    expect(await store.claim(claimOf('recorded', 'second'))).toEqual({ state: 'claimed' });
    expect(await store.claim(claimOf('orphaned', 'second'))).toEqual({ state: 'claimed' });
  });

  test('an outcome of 1 MiB returns unchanged', async () => {
    const store = await (await start()).open(RETENTION_MS);
    const outcome = JSON.stringify('é"\u0000'.repeat(150_000));
    await store.claim(claimOf('key', 'first'));
    await store.record('key', 'first', outcome);
    const result = await store.claim(claimOf('key', 'second'));
    expect(result.state === 'recorded' && result.outcome === outcome).toBe(true);
  });

  test('exactly one of many concurrent claims succeeds', async () => {
    const backend = await start();
    const stores = [await backend.open(RETENTION_MS)];
    stores.push(...[(await backend.openAnother(RETENTION_MS)) ?? []].flat());
    const claims: Promise<ClaimResult>[] = [];
    for (let index = 0; index < 20; index++) {
      for (const store of stores) claims.push(store.claim(claimOf('key', randomUUID())));
    }
    const states = (await Promise.all(claims)).map(({ state }) => state);
    expect(states.filter((state) => state === 'claimed')).toHaveLength(1);
    expect(states.filter((state) => state === 'in-flight')).toHaveLength(claims.length - 1);
  });

  test('a closed store rejects every call, and may be closed again', async () => {
    const store = await (await start()).open(RETENTION_MS);
    await store.close();
    await store.close();
    const closed = { name: 'StoreUnavailable', reason: 'closed' };
    await expect(store.claim(claimOf('key', 'first'))).rejects.toMatchObject(closed);
    await expect(store.record('key', 'first', 'outcome')).rejects.toMatchObject(closed);
    await expect(store.release('key', 'first')).rejects.toMatchObject(closed);
  });
});

function claimOf(
  key: string,
  owner: string,
  { fingerprint = 'fingerprint', leaseMs = LEASE_MS } = {},
) {
  return { key, owner, fingerprint, leaseMs };
}
