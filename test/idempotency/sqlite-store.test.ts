import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createStore } from '../../src/idempotency/create-store.ts';
import { SqliteStore, type SqliteStoreOptions } from '../../src/idempotency/sqlite-store.ts';
import { whenState } from '../support/redis.ts';

const RETENTION_MS = 3_600_000;
const MIB = 2 ** 20;
const cleanups: (() => unknown)[] = [];
let directory: string;
let path: string;
let now: number;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'idempotency-'));
  path = join(directory, 'claims.db');
  now = Date.now();
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await rm(directory, { recursive: true });
});

function open(options: Partial<SqliteStoreOptions> = {}): SqliteStore {
  const store = new SqliteStore({
    path,
    retentionMs: RETENTION_MS,
    maxKeys: 1000,
    maxBytes: 2 ** 30,
    clock: () => now,
    ...options,
  });
  cleanups.push(() => store.close());
  return store;
}

function claimOf(key: string, owner = 'owner') {
  return { key, owner, fingerprint: 'fingerprint', leaseMs: 60_000 };
}

/** Starts a process that holds claims in the file, and waits until it has them. */
async function startHolder() {
  const script = new URL('../support/hold-claims.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  cleanups.push(() => child.kill('SIGKILL') && exited);
  await once(child.stdout, 'data');
  return {
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

describe('a file that another process used', () => {
  test('after kill -9, outcomes replay and claims in flight are orphaned at once', async () => {
    const holder = await startHolder();
    await holder.kill();
    const store = open({ clock: Date.now });
    expect(await store.claim(claimOf('recorded'))).toMatchObject({ outcome: 'outcome' });
    expect(await store.claim(claimOf('in flight'))).toMatchObject({ state: 'orphaned' });
    expect(await store.claim(claimOf('released'))).toEqual({ state: 'claimed' });
  });

  test('a file in use is rejected with one clear error', async () => {
    const holder = await startHolder();
    expect(() => open()).toThrow(
      expect.objectContaining({
        reason: 'locked',
        message: `The idempotency store cannot open ${path}: database is locked; another process uses the file: give each gateway its own, or share a Redis`,
      }),
    );
    await holder.kill();
    expect(await open().claim(claimOf('recorded'))).toMatchObject({ outcome: 'outcome' });
  });

  test('claims survive an orderly restart', async () => {
    const first = open();
    await first.claim(claimOf('recorded'));
    await first.record('recorded', 'owner', 'outcome');
    await first.claim(claimOf('in flight'));
    await first.close();
    const second = open();
    expect(second.size).toBe(2);
    expect(await second.claim(claimOf('recorded'))).toMatchObject({ outcome: 'outcome' });
    expect(await second.claim(claimOf('in flight'))).toMatchObject({ state: 'orphaned' });
  });

  test('close waits for a record that has been started', async () => {
    const first = open();
    await first.claim(claimOf('key'));
    const recorded = first.record('key', 'owner', 'outcome');
    await first.close();
    await recorded;
    expect(await open().claim(claimOf('key'))).toMatchObject({ outcome: 'outcome' });
  });

  test('only the owner of the process can read the files', async () => {
    await open().close();
    await chmod(path, 0o644);
    await open().claim(claimOf('key'));
    for (const file of [path, `${path}-wal`]) expect((await stat(file)).mode & 0o777).toBe(0o600);
  });
});

describe('a file that cannot be used', () => {
  test('a missing directory', () => {
    path = join(directory, 'missing', 'claims.db');
    expect(() => open()).toThrow(
      `The idempotency store cannot open ${path}: the folder does not exist`,
    );
  });

  test('a directory', async () => {
    path = directory;
    expect(() => open()).toThrow(expect.objectContaining({ reason: 'not_writable' }));
    expect((await stat(directory)).mode & 0o111).not.toBe(0);
  });

  test('a file that is no database', async () => {
    await writeFile(path, 'not a database'.repeat(1000));
    expect(() => open()).toThrow(
      expect.objectContaining({
        reason: 'corrupt',
        message: expect.stringContaining('file is not a database; move the file away'),
      }),
    );
  });

  test('a store of another version, and one without its table', async () => {
    await open().close();
    const change = (sql: string) => {
      const database = new DatabaseSync(path);
      database.exec(sql);
      database.close();
    };
    change('PRAGMA user_version = 2');
    expect(() => open()).toThrow(/schema version 2, not 1; move the file away/);
    change('PRAGMA user_version = 1; DROP TABLE claim');
    expect(() => open()).toThrow(/its table is damaged; move the file away/);
  });

  test.each(['DELETE', 'WAL'])('a foreign %s database, which is left as it is', async (mode) => {
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA journal_mode = ${mode}`);
    database.exec('CREATE TABLE invoice (id INTEGER); PRAGMA user_version = 1');
    database.close();
    await chmod(path, 0o644);
    const before = await readFile(path);
    expect(() => open()).toThrow(/it belongs to another application; name another file$/);
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(directory)).toEqual(['claims.db']);
    expect((await stat(path)).mode & 0o777).toBe(0o644);
  });

  test('a text file, which is left as it is', async () => {
    await writeFile(path, 'text', { mode: 0o644 });
    expect(() => open()).toThrow(expect.objectContaining({ reason: 'corrupt' }));
    expect((await stat(path)).mode & 0o777).toBe(0o644);
  });
});

describe('a full store', () => {
  test('refuses new keys, still replays, and takes keys again when one is released', async () => {
    const store = open({ maxKeys: 2 });
    await store.claim(claimOf('recorded'));
    await store.record('recorded', 'owner', 'outcome');
    await store.claim(claimOf('in flight'));
    await expect(store.claim(claimOf('new'))).rejects.toMatchObject({ reason: 'full' });
    expect(await store.claim(claimOf('recorded', 'repeat'))).toMatchObject({ outcome: 'outcome' });
    expect(await store.claim(claimOf('in flight', 'repeat'))).toMatchObject({ state: 'in-flight' });
    await store.release('in flight', 'owner');
    expect(await store.claim(claimOf('new'))).toEqual({ state: 'claimed' });
  });

  test('counts the keys of a file when it is opened', async () => {
    const first = open();
    for (const key of ['a', 'b']) await first.claim(claimOf(key));
    await first.close();
    const second = open({ maxKeys: 2 });
    await expect(second.claim(claimOf('new'))).rejects.toMatchObject({ reason: 'full' });
  });

  test('keeps room for the outcomes of claims in flight', async () => {
    const store = open({ path: ':memory:', maxBytes: 8 * MIB });
    const inFlight = ['a', 'b'];
    for (const key of inFlight) await store.claim(claimOf(key));
    await store.claim(claimOf('long'));
    await store.record('long', 'owner', 'x'.repeat(6 * MIB));
    await expect(store.claim(claimOf('new'))).rejects.toMatchObject({ reason: 'full' });
    for (const key of inFlight) await store.record(key, 'owner', 'x'.repeat(0.9 * MIB));
    expect(await store.claim(claimOf('b', 'repeat'))).toMatchObject({ state: 'recorded' });
    now += RETENTION_MS;
    expect(await store.claim(claimOf('long'))).toEqual({ state: 'claimed' });
  });

  test('without room for an outcome, rejects the record and keeps the claim', async () => {
    const store = open({ maxBytes: 64 * 1024 });
    await store.claim(claimOf('key'));
    const outcome = 'x'.repeat(100_000);
    await expect(store.record('key', 'owner', outcome)).rejects.toMatchObject({ reason: 'full' });
    expect(await store.claim(claimOf('key', 'repeat'))).toMatchObject({ state: 'in-flight' });
    await store.record('key', 'owner', 'short outcome');
    expect(await store.claim(claimOf('key', 'repeat'))).toMatchObject({ outcome: 'short outcome' });
  });
});

describe('a write that failed', () => {
  async function openFull() {
    const store = open({ maxBytes: 8 * MIB });
    await store.claim(claimOf('old'));
    await store.record('old', 'owner', 'x'.repeat(4 * MIB));
    now += RETENTION_MS / 2;
    await store.claim(claimOf('key'));
    return store;
  }

  test('is repeated, so that an outcome is recorded when there is room again', async () => {
    const store = await openFull();
    const outcome = 'x'.repeat(5 * MIB);
    await expect(store.record('key', 'owner', outcome)).rejects.toMatchObject({ reason: 'full' });
    now += RETENTION_MS / 2;
    expect(await whenState(store, 'key', 'recorded')).toMatchObject({ state: 'recorded' });
  });

  test('is tried again when the store is closed', async () => {
    const first = await openFull();
    const outcome = 'x'.repeat(5 * MIB);
    await expect(first.record('key', 'owner', outcome)).rejects.toMatchObject({ reason: 'full' });
    now += RETENTION_MS / 2;
    await first.claim(claimOf('old'));
    await first.close();
    expect(await open().claim(claimOf('key', 'repeat'))).toMatchObject({ state: 'recorded' });
  });
});

describe('expiry', () => {
  test('deletes expired claims without further calls, and no others', async () => {
    const store = open();
    for (let index = 0; index < 120; index++) await store.claim(claimOf(`old ${index}`));
    for (let index = 30; index < 90; index++) await store.release(`old ${index}`, 'owner');
    now += RETENTION_MS / 2;
    await store.claim(claimOf('young'));
    now += RETENTION_MS / 2;
    while (store.size > 1) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await store.claim(claimOf('young', 'repeat'))).toMatchObject({ state: 'orphaned' });
  });

  test('a new claim deletes only a few expired ones, so that none takes long', async () => {
    const store = open();
    for (let index = 0; index < 10; index++) await store.claim(claimOf(`old ${index}`));
    now += RETENTION_MS;
    await store.claim(claimOf('new'));
    expect(store.size).toBe(9);
  });

  test('makes room in a full store', async () => {
    const store = open({ maxKeys: 1 });
    await store.claim(claimOf('old'));
    now += RETENTION_MS;
    expect(await store.claim(claimOf('new'))).toEqual({ state: 'claimed' });
  });

  test('does not end early or late when the wall clock was set back before a restart', async () => {
    const first = open();
    await first.claim(claimOf('recorded'));
    await first.record('recorded', 'owner', 'outcome');
    await first.close();
    now -= 10 * RETENTION_MS;
    const second = open();
    await second.claim(claimOf('new'));
    now += 60_000;
    expect(await second.claim(claimOf('new', 'repeat'))).toMatchObject({ state: 'orphaned' });
    expect(await second.claim(claimOf('recorded'))).toMatchObject({ outcome: 'outcome' });
    now += RETENTION_MS;
    expect(await second.claim(claimOf('recorded'))).toEqual({ state: 'claimed' });
  });
});

describe('createStore', () => {
  const options = { retentionMs: RETENTION_MS, maxKeys: 10, log: { warn() {}, error() {} } };

  test.each(['memory', 'file'])('opens a %s store', async (kind) => {
    const setting = kind === 'file' ? `file:${path}` : kind;
    const store = await createStore(setting, options);
    cleanups.push(() => store.close());
    expect(await store.claim(claimOf('key'))).toEqual({ state: 'claimed' });
  });

  test.each(['file:', 'file::memory:'])('rejects %s, which names no file', async (setting) => {
    await expect(createStore(setting, options)).rejects.toMatchObject({
      name: 'StoreUnavailable',
      message: 'IDEMPOTENCY_STORE=file:PATH needs the path of a file',
    });
  });

  test('rejects another setting', async () => {
    const opening = createStore('mysql://host', options);
    await expect(opening).rejects.toThrow('must be memory');
  });
});
