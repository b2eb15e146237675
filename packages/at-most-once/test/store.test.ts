import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, describe, expect, test as jestTest } from '@jest/globals';
import { claimsOn } from '../../../testkit/claims.ts';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { eventually } from '../../../testkit/eventually.ts';
import { isPostgresInstalled, startPostgres } from '../../../testkit/postgres.ts';
import { isRedisInstalled, startRedis } from '../../../testkit/redis.ts';
import { RETENTION_MS, TestStore } from '../../../testkit/store.ts';
import { temporaryFolder } from '../../../testkit/temporary-folder.ts';
import { type Change, COMPLETENESS_KEY, type IdempotencyStore, ReplyLost } from '../src/store.ts';
import { createStore } from '../src/stores/create-store.ts';
import { PostgresStore } from '../src/stores/postgres-store.ts';
import { RedisStore } from '../src/stores/redis-store.ts';

/** Opens stores of one kind. */
type Backend = {
  open(): IdempotencyStore;
  /** Whether two stores can share the data. */
  isShared: boolean;
  /** Makes all records so much older. */
  pass(ms: number): unknown;
};

function local(place: () => Promise<string | undefined>): () => Promise<Backend> {
  return async () => {
    let now = Date.now();
    const path = await place();
    return {
      open: () => new TestStore({ path, clock: () => now }),
      isShared: false,
      pass: (ms) => {
        now += ms;
      },
    };
  };
}

/** Starts a server for all tests. `backendOf` empties it for each of them. */
function serverOf<Server>(
  isInstalled: boolean,
  startServer: () => Promise<Server>,
  backendOf: (server: Server) => Promise<Backend>,
): () => Promise<Backend> {
  let server: Server;
  beforeAll(async () => {
    if (isInstalled) server = await startServer();
  });
  return () => backendOf(server);
}

const expireSooner = `for _, key in ipairs(redis.call('KEYS', '*:key:*')) do
  redis.call('PEXPIRE', key, redis.call('PTTL', key) - ARGV[1]) end`;
const redis = serverOf(isRedisInstalled, startRedis, async ({ url, command }) => {
  await command('FLUSHALL');
  return {
    open: () => new RedisStore({ url }),
    isShared: true,
    pass: (ms) => command('EVAL', expireSooner, '0', String(ms)),
  };
});

const table = 'ledger_gateway_record';
const postgres = serverOf(isPostgresInstalled, startPostgres, async ({ url, query }) => {
  await query(`DROP TABLE IF EXISTS ${table}`);
  return {
    open: () => new PostgresStore({ url, maxBytes: Infinity }),
    isShared: true,
    pass: (ms) => query(`UPDATE ${table} SET expires_at = expires_at - interval '${ms} ms'`),
  };
});

const backends = [
  { name: 'memory', isInstalled: true, start: local(async () => undefined) },
  {
    name: 'file',
    isInstalled: true,
    start: local(async () => join(await temporaryFolder(), 'claims.db')),
  },
  { name: 'redis', isInstalled: isRedisInstalled, start: redis },
  { name: 'postgres', isInstalled: isPostgresInstalled, start: postgres },
];

jestTest('a URL that cannot be used is rejected without repeating it', async () => {
  const options = { retentionMs: RETENTION_MS, maxKeys: 10, memoryBytes: 2 ** 30 };
  const url = 'redis://user:secret@host:port';
  const error = await createStore(url, options).catch((error) => error);
  expect(error).toMatchObject({ message: expect.stringContaining('not a valid redis://') });
  expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain('secret');
});

describe.each(backends)('$name', ({ name, isInstalled, start }) => {
  const test = isInstalled ? jestTest : jestTest.skip;
  if (!isInstalled)
    process.stderr.write(`The tests of ${name} are skipped: no server installed.\n`);

  async function openOn(backend: Backend) {
    const claims = claimsOn(backend.open());
    closeAfterTest(claims.close);
    await eventually(() => claims.claim(randomUUID(), 'probe'));
    return claims;
  }

  const openClaims = async () => openOn(await start());

  /** Opens two stores with the same data, if there can be two. */
  async function openTwo() {
    const backend = await start();
    const claims = await openOn(backend);
    return [claims, backend.isShared ? await openOn(backend) : claims] as const;
  }

  test('a key is claimed once, and its outcome is final', async () => {
    const { claim, find, record, release } = await openClaims();
    expect(await claim('key', 'a')).toMatchObject({ state: 'claimed' });
    expect(await find('key')).toBe('in-flight');
    await record('key', 'b', 'not the owner');
    await release('key', 'b');
    expect(await find('key')).toBe('in-flight');
    await record('key', 'a', 'outcome');
    await record('key', 'a', 'another outcome');
    await release('key', 'a');
    expect(await find('key')).toBe('outcome');
  });

  test('a released key is free again, and response names do not share a claim', async () => {
    const { claim, find, release } = await openClaims();
    await claim('key', 'a');
    expect(await find('key', { responseName: 'other' })).toBe('claimed');
    await release('key', 'a');
    expect(await find('key')).toBe('claimed');
  });

  test('after its lease a claim is orphaned, and can only gain its outcome', async () => {
    const { claim, find, record } = await openClaims();
    for (const key of ['reported', 'not reported']) await claim(key, 'a', { leaseMs: -60_000 });
    expect(await claim('reported', 'b')).toMatchObject({ state: 'orphaned', isNew: true });
    for (const key of ['reported', 'not reported']) {
      expect(await find(key)).toBe('orphaned');
      await record(key, 'a', 'outcome');
      expect(await find(key)).toBe('outcome');
    }
  });

  test('a key is free again when the retention ends, which counts from its last change', async () => {
    const backend = await start();
    const { claim, find, record, settle } = await openOn(backend);
    for (const key of ['key', 'unfinished']) await claim(key, 'a');
    await backend.pass(0.7 * RETENTION_MS);
    await record('key', 'a', 'outcome');
    await backend.pass(0.7 * RETENTION_MS);
    expect(await find('key')).toBe('outcome');
    await backend.pass(RETENTION_MS);
    expect(await find('key')).toBe('claimed');
    expect(await settle('unfinished')).toMatchObject({ writes: [] });
  });

  test('exactly one of many concurrent claims succeeds', async () => {
    const both = await openTwo();
    const finding = Array.from({ length: 40 }, (_, n) => both[n % 2 === 0 ? 0 : 1].find('key'));
    const states = await Promise.all(finding);
    expect(states.toSorted()).toEqual(['claimed', ...Array(39).fill('in-flight')]);
  });

  test('an outcome of 1 MiB returns unchanged', async () => {
    const { claim, find, record } = await openClaims();
    const outcome = JSON.stringify('é"\u0000'.repeat(150_000));
    await claim('key', 'a');
    await record('key', 'a', outcome);
    expect((await find('key')) === outcome).toBe(true);
  });

  test.each(['before', 'after'])(
    'a claim that arrives at the store after its release is not made, although another one of the key, made %s that, was freed',
    async (order) => {
      const claims = await openOn(await start());
      const { swap } = claims.store;
      const late = Promise.withResolvers<Change>();
      claims.store.swap = (change) => {
        late.resolve(change);
        return Promise.reject(new ReplyLost('timeout'));
      };
      await expect(claims.claim('key', 'a', { ageMs: 0 })).rejects.toThrow(ReplyLost);
      claims.store.swap = swap;
      if (order === 'after') await claims.release('key', 'a');
      await claims.claim('key', 'b', { ageMs: 0 });
      if (order === 'before') await claims.release('key', 'a');
      await claims.release('key', 'b');
      expect(await claims.store.swap(await late.promise)).toBe('other');
      expect(await claims.find('key')).toBe('claimed');
    },
  );

  test.each([
    ['a key', 'key', 'caller'],
    ['the record of completeness', COMPLETENESS_KEY, null],
  ])('a change of %s is made only as long as its basis is valid', async (_, key, caller) => {
    const { store } = await openClaims();
    const { now, serverId, history, entry } = await store.read(COMPLETENESS_KEY);
    const generation = caller === null ? null : (entry?.version ?? null);
    const expected = (await store.read(key)).entry?.version ?? null;
    const next = { version: 'next', text: '{}' };
    const change = { key, expected, next, caller, needsRoom: false };
    const basis = { serverId, history, generation, retentionMs: RETENTION_MS };
    const swap = (validUntil: number) => store.swap({ ...change, basis: { ...basis, validUntil } });
    expect(await swap(now - 1)).toBe('basis');
    expect((await store.read(key)).entry?.version ?? null).toBe(expected);
    expect(await swap(now + 30_000)).toBe('swapped');
  });

  test('a key that is older than the records is orphaned, and gains an outcome, as a lost claim does', async () => {
    const { claim, find, record } = await openClaims();
    const isNew = { state: 'orphaned', isNew: true };
    expect(await claim('key', 'b', { ageMs: 60_000 })).toMatchObject(isNew);
    expect(await claim('key', 'b')).toMatchObject({ state: 'orphaned', isNew: false });
    expect(await claim('old', 'b', { ageMs: RETENTION_MS })).toMatchObject(isNew);
    expect(await find('new', { ageMs: 0 })).toBe('claimed');
    for (const key of ['key', 'unknown']) {
      await record(key, 'a', 'of the lost claim');
      expect(await find(key)).toBe('of the lost claim');
    }
  });

  test('settling closes a key for everything that has no record', async () => {
    const { claim, find, settle } = await openClaims();
    await claim('key', 'a', { responseName: 'sent' });
    expect(await settle('key', 0)).toEqual({
      writes: [{ responseName: 'sent', state: 'in-flight' }],
      isComplete: true,
    });
    expect(await find('key', { responseName: 'new' })).toBe('settled');
    expect(await find('key', { responseName: 'sent' })).toBe('in-flight');
    expect(await settle('unused', 0)).toEqual({ writes: [], isComplete: true });
    expect(await find('unused')).toBe('settled');
    for (const ageMs of [undefined, 60_000]) {
      expect(await settle('unused', ageMs)).toMatchObject({ isComplete: false });
    }
  });

  test('settling is not complete while a request from before the records may be on its way', async () => {
    const { settle } = await openClaims();
    const expected = { writes: [], isComplete: false };
    expect(await settle('key', 0, performance.now())).toEqual(expected);
  });

  test('a key that was settled without certainty is not said to be unexecuted', async () => {
    const { find, settle } = await openClaims();
    expect(await settle('key', 60_000)).toEqual({ writes: [], isComplete: false });
    expect(await find('key', { ageMs: 60_000 })).toBe('orphaned');
    expect(await find('key', { ageMs: 0, responseName: 'other' })).toBe('orphaned');
  });

  test('hundreds of settlements of one key agree', async () => {
    const { find, settle } = await openClaims();
    await find('key');
    const settling = Array.from({ length: 300 }, () => settle('key', 0));
    const expected = { writes: [{ responseName: 'result', state: 'in-flight' }], isComplete: true };
    expect(await Promise.all(settling)).toEqual(Array(300).fill(expected));
  });

  test('a claim and a settlement at the same time agree', async () => {
    const [one, other] = await openTwo();
    for (let round = 0; round < 20; round++) {
      const key = `key ${round}`;
      const [found, settled] = await Promise.all([one.find(key), other.settle(key, 0)]);
      expect(found).toBe(settled.writes.length === 1 ? 'claimed' : 'settled');
    }
  });

  test('a closed store rejects every call, and may be closed again', async () => {
    const claims = await openClaims();
    await claims.close();
    await claims.close();
    const closed = { name: 'StoreUnavailable', reason: 'closed' };
    await expect(claims.claim('key', 'a')).rejects.toMatchObject(closed);
    await expect(claims.record('key', 'a', 'outcome')).rejects.toMatchObject(closed);
    await expect(claims.settle('key')).rejects.toMatchObject(closed);
  });
});
