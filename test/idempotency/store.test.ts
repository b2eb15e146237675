import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test as jestTest } from '@jest/globals';
import { PostgresStore } from '../../src/idempotency/postgres-store.ts';
import { RedisStore } from '../../src/idempotency/redis-store.ts';
import { SqliteStore } from '../../src/idempotency/sqlite-store.ts';
import type { IdempotencyStore } from '../../src/idempotency/store.ts';
import { claimsOn, RETENTION_MS } from '../support/claims.ts';
import { eventually } from '../support/eventually.ts';
import { isPostgresInstalled, startPostgres } from '../support/postgres.ts';
import { isRedisInstalled, startRedis } from '../support/redis.ts';

/** Opens stores of one kind, and waits for their time to pass. */
type Backend = {
  open(retentionMs?: number): IdempotencyStore;
  /** Whether two stores can share the data. */
  isShared: boolean;
  pass(ms: number): Promise<void>;
};

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function sqlite(place: () => Promise<string>): () => Promise<Backend> {
  return async () => {
    let now = Date.now();
    const path = await place();
    const limits = { maxKeys: 1000, maxBytes: 2 ** 30 };
    return {
      open: (retentionMs = RETENTION_MS) =>
        new SqliteStore({ path, retentionMs, ...limits, clock: () => now }),
      isShared: false,
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

/** Starts a server for all tests, which each of them finds empty. */
function serverOf<Server extends { url: string; stop(): Promise<void> }>(
  startServer: () => Promise<Server>,
  empty: (server: Server) => Promise<unknown>,
  open: (url: string, retentionMs: number) => IdempotencyStore,
): () => Promise<Backend> {
  let server: Promise<Server> | undefined;
  afterAll(async () => (await server)?.stop());
  return async () => {
    server ??= startServer();
    const started = await server;
    await empty(started);
    return {
      open: (retentionMs = RETENTION_MS) => open(started.url, retentionMs),
      isShared: true,
      pass: (ms) => sleep(ms + 5),
    };
  };
}

const redis = serverOf(
  startRedis,
  (server) => server.command('FLUSHALL'),
  (url, retentionMs) => new RedisStore({ url, retentionMs }),
);

const postgres = serverOf(
  startPostgres,
  (server) => server.query('DROP TABLE IF EXISTS ledger_gateway_record'),
  (url, retentionMs) => new PostgresStore({ url, retentionMs, maxBytes: Infinity }),
);

const backends = [
  { name: 'memory', isInstalled: true, start: sqlite(async () => ':memory:') },
  { name: 'file', isInstalled: true, start: sqlite(temporaryFile) },
  { name: 'redis', isInstalled: isRedisInstalled, start: redis },
  { name: 'postgres', isInstalled: isPostgresInstalled, start: postgres },
];

describe.each(backends)('$name', ({ name, isInstalled, start }) => {
  const test = isInstalled ? jestTest : jestTest.skip;
  if (!isInstalled)
    process.stderr.write(`The tests of ${name} are skipped: no server installed.\n`);

  async function openClaims(backend: Backend, retentionMs?: number) {
    const claims = claimsOn(backend.open(retentionMs));
    cleanups.push(claims.close);
    await eventually(() => claims.claim(randomUUID(), 'probe'));
    return claims;
  }

  test('a key is claimed once, and its outcome is final', async () => {
    const claims = await openClaims(await start());
    expect(await claims.claim('key', 'a')).toMatchObject({ state: 'claimed' });
    const inFlight = { state: 'in-flight' };
    expect(await claims.claim('key', 'b')).toEqual(inFlight);
    await claims.record('key', 'b', 'not the owner');
    await claims.release('key', 'b');
    expect(await claims.claim('key', 'b')).toEqual(inFlight);
    await claims.record('key', 'a', 'outcome');
    await claims.record('key', 'a', 'another outcome');
    await claims.release('key', 'a');
    expect(await claims.claim('key', 'b')).toMatchObject({ state: 'recorded', outcome: 'outcome' });
  });

  test('a released key is free again, and response names do not share a claim', async () => {
    const claims = await openClaims(await start());
    await claims.claim('key', 'a');
    expect(await claims.claim('key', 'b', { responseName: 'other' })).toMatchObject({
      state: 'claimed',
    });
    await claims.release('key', 'a');
    expect(await claims.claim('key', 'c')).toMatchObject({ state: 'claimed' });
  });

  test('after its lease a claim is orphaned: it is never freed, and can only gain its outcome', async () => {
    const backend = await start();
    const claims = await openClaims(backend);
    for (const key of ['reported', 'not reported']) await claims.claim(key, 'a', { leaseMs: 40 });
    await backend.pass(1000);
    expect(await claims.claim('reported', 'b')).toMatchObject({ state: 'orphaned', isNew: true });
    for (const key of ['reported', 'not reported']) {
      await claims.release(key, 'a');
      expect(await claims.claim(key, 'c')).toMatchObject({ state: 'orphaned' });
      await claims.record(key, 'a', 'outcome');
      expect(await claims.claim(key, 'c')).toMatchObject({ outcome: 'outcome' });
    }
  });

  test('a key is free again when the retention ends, which counts from its last change', async () => {
    const backend = await start();
    const claims = await openClaims(backend, 1800);
    await claims.claim('key', 'a', { leaseMs: 40 });
    await backend.pass(1200);
    await claims.record('key', 'a', 'outcome');
    await backend.pass(1200);
    expect(await claims.claim('key', 'b')).toMatchObject({ outcome: 'outcome' });
    await backend.pass(1800);
    expect(await claims.claim('key', 'b')).toMatchObject({ state: 'claimed' });
  });

  test('exactly one of many concurrent claims succeeds', async () => {
    const backend = await start();
    const all = [await openClaims(backend)];
    if (backend.isShared) all.push(await openClaims(backend));
    const claims = Array.from({ length: 20 }, () =>
      all.map((one) => one.claim('key', randomUUID())),
    );
    const states = (await Promise.all(claims.flat())).map(({ state }) => state);
    expect(states.filter((state) => state === 'claimed')).toHaveLength(1);
    expect(states.filter((state) => state === 'in-flight')).toHaveLength(states.length - 1);
  });

  test('an outcome of 1 MiB returns unchanged', async () => {
    const claims = await openClaims(await start());
    const outcome = JSON.stringify('é"\u0000'.repeat(150_000));
    await claims.claim('key', 'a');
    await claims.record('key', 'a', outcome);
    const result = await claims.claim('key', 'b');
    expect(result.state === 'recorded' && result.outcome === outcome).toBe(true);
  });

  test('a key that is older than the records is orphaned, and may gain its outcome', async () => {
    const claims = await openClaims(await start());
    const forgotten = { state: 'orphaned', isNew: true };
    expect(await claims.claim('key', 'b', { ageMs: 60_000 })).toMatchObject(forgotten);
    expect(await claims.claim('key', 'b')).toMatchObject({ state: 'orphaned', isNew: false });
    expect(await claims.claim('old', 'b', { ageMs: RETENTION_MS })).toMatchObject(forgotten);
    expect(await claims.claim('new', 'b', { ageMs: 0 })).toMatchObject({ state: 'claimed' });
    await claims.record('key', 'a', 'of the lost claim');
    expect(await claims.claim('key', 'b')).toMatchObject({ outcome: 'of the lost claim' });
  });

  test('a key has at most as many fields as one mutation, and the others still replay', async () => {
    const claims = await openClaims(await start());
    for (const responseName of ['a', 'b', 'c']) await claims.claim('key', 'a', { responseName });
    await expect(claims.claim('key', 'a', { responseName: 'd' })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    });
    expect(await claims.claim('key', 'b', { responseName: 'c' })).toMatchObject({
      state: 'in-flight',
    });
  });

  test('settling closes a key for everything that has no record', async () => {
    const backend = await start();
    const claims = await openClaims(backend);
    await claims.claim('key', 'a', { responseName: 'recorded' });
    await claims.record('key', 'a', 'x'); // Another response name: no effect.
    await claims.claim('key', 'b', { responseName: 'in flight' });
    expect(await claims.settle('key', 0)).toMatchObject({
      writes: expect.arrayContaining([
        expect.objectContaining({ responseName: 'in flight', state: 'in-flight' }),
      ]),
      isComplete: true,
    });
    const settled = { code: 'IDEMPOTENCY_KEY_SETTLED' };
    await expect(claims.claim('key', 'c', { responseName: 'new' })).rejects.toMatchObject(settled);
    expect(await claims.claim('key', 'c', { responseName: 'in flight' })).toMatchObject({
      state: 'in-flight',
    });
    expect(await claims.settle('unused', 0)).toEqual({ writes: [], isComplete: true });
    await expect(claims.claim('unused', 'c')).rejects.toMatchObject(settled);
    expect((await claims.settle('unused')).isComplete).toBe(false);
    expect((await claims.settle('unused', 60_000)).isComplete).toBe(false);
  });

  test('a claim and a settlement at the same time agree', async () => {
    const backend = await start();
    const all = [
      await openClaims(backend),
      await openClaims(backend.isShared ? backend : await start()),
    ];
    const [one = all[0], other = one] = backend.isShared ? all : [all[0], all[0]];
    for (let round = 0; round < 20; round++) {
      const [claimed, settled] = await Promise.all([
        one?.claim(`key ${round}`, 'a').catch(() => ({ state: 'settled' })),
        other?.settle(`key ${round}`, 0),
      ]);
      const seen = settled?.writes.length === 1 ? 'claimed' : 'settled';
      expect(claimed?.state).toBe(seen);
    }
  });

  test('a closed store rejects every call, and may be closed again', async () => {
    const claims = await openClaims(await start());
    await claims.close();
    await claims.close();
    const closed = { name: 'StoreUnavailable', reason: 'closed' };
    await expect(claims.claim('key', 'a')).rejects.toMatchObject(closed);
    await expect(claims.record('key', 'a', 'outcome')).rejects.toMatchObject(closed);
    await expect(claims.settle('key')).rejects.toMatchObject(closed);
  });
});
