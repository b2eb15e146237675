import {
  chmod,
  copyFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as immediate } from 'node:timers/promises';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { startStack } from '../../../../test/support/stack.ts';
import { claimsOn } from '../../../../testkit/claims.ts';
import { closeAfterTest } from '../../../../testkit/cleanup.ts';
import { eventually } from '../../../../testkit/eventually.ts';
import { speedUp } from '../../../../testkit/fast-timeouts.ts';
import { write } from '../../../../testkit/graphql-operation.ts';
import { startProcess } from '../../../../testkit/process.ts';
import { success } from '../../../../testkit/service.ts';
import { RETENTION_MS, TestStore } from '../../../../testkit/store.ts';
import { temporaryFolder } from '../../../../testkit/temporary-folder.ts';

const QUARANTINE_MS = 60_000;
const MIB = 2 ** 20;
let directory: string;
let path: string;
let now: number;

beforeEach(async () => {
  directory = await temporaryFolder();
  path = join(directory, 'claims.db');
  now = Date.now();
  // Checks of completeness, and sweeps.
  speedUp('setInterval', 2000, 20);
  speedUp('setTimeout', 1000, 20);
});

function open(options: ConstructorParameters<typeof TestStore>[0] = {}) {
  const store = new TestStore({ path, clock: () => now, ...options });
  const claims = claimsOn(store, { quarantineMs: QUARANTINE_MS });
  closeAfterTest(claims.close);
  const keep = async (key: string, outcome: unknown, more = {}) => {
    await claims.claim(key, 'a', more);
    await claims.record(key, 'a', outcome, more);
  };
  return { ...claims, keep, usage: () => store.usage };
}

const openIn = (kind: string, options: { maxKeys?: number; maxBytes?: number } = {}) =>
  open(kind === 'memory' ? { ...options, path: undefined } : options);

/** Starts a process that holds claims in the file, and waits until it has them. */
async function startHolder() {
  const script = new URL('../support/hold-claims.ts', import.meta.url).pathname;
  const holder = startProcess([script, path]);
  await holder.line(/ready/);
  const kill = () => {
    holder.signal('SIGKILL');
    return holder.exited;
  };
  return { kill };
}

function change(sql: string) {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

describe('a file that another process used', () => {
  test.each(['', ', behind a symbolic link'])('after kill -9, nothing is lost%s', async (link) => {
    if (link) {
      const file = path;
      path = join(directory, 'link.db');
      open().close();
      await rename(path, file);
      await symlink(file, path);
    }
    const holder = await startHolder();
    await holder.kill();
    now += 1;
    const claims = open();
    expect(await claims.find('recorded')).toBe('outcome');
    // Its sender cannot be there any more, because it had locked the file.
    expect(await claims.find('in flight')).toBe('orphaned');
    expect(await claims.find('released')).toBe('claimed');
    expect(claims.losses).toEqual([]);
  });

  test('a file in use is rejected with one clear error', async () => {
    const holder = await startHolder();
    const message = `The idempotency store cannot open ${path}: database is locked; another process uses the file: give each gateway its own, or share a Redis or PostgreSQL`;
    expect(() => open()).toThrow(expect.objectContaining({ reason: 'locked', message }));
    await holder.kill();
    expect(await open().find('recorded')).toBe('outcome');
  });

  test('keys and their age survive an orderly restart', async () => {
    const first = open();
    await first.keep('recorded', 'outcome');
    await first.close();
    now += 100_000;
    const second = open();
    expect(await second.find('recorded')).toBe('outcome');
    expect(await second.find('new', { ageMs: 60_000 })).toBe('claimed');
    expect(second.usage()?.keys).toBe(2);
    expect(second.losses).toEqual([]);
  });

  test('on a full disk, close ends all the same, and no record is lost', async () => {
    const first = open();
    await first.keep('recorded', 'outcome');
    const full = Object.assign(new Error('database or disk is full'), { errcode: 13 });
    const spy = jest.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(() => {
      throw full;
    });
    await first.close();
    spy.mockRestore();
    expect(await open().find('recorded')).toBe('outcome');
  });

  test('close waits for a record that has been started', async () => {
    const first = open();
    await first.claim('key', 'a');
    const recorded = first.record('key', 'a', 'outcome');
    await Promise.all([first.close(), recorded]);
    expect(await open().find('key')).toBe('outcome');
  });

  test('only the owner of the process can read the files', async () => {
    await open().close();
    await chmod(path, 0o644);
    await open().claim('key', 'a');
    for (const file of [path, `${path}-wal`]) expect((await stat(file)).mode & 0o777).toBe(0o600);
  });
});

describe('a file that lost records', () => {
  /** Repeats of a key whose record is lost: with an age it is never executed again, without one not yet. */
  async function expectLoss() {
    const claims = open();
    expect(await claims.find('key')).toBe('quarantine');
    expect(await claims.find('key', { ageMs: 1000 })).toBe('orphaned');
    expect(await claims.find('new', { ageMs: 0 })).toBe('quarantine');
    now += QUARANTINE_MS;
    await eventually(async () => expect(await claims.find('without age')).toBe('claimed'));
    expect(claims.losses).toHaveLength(1);
    await claims.close();
    expect(open().losses).toEqual([]);
  }

  test('restored without its log', async () => {
    const holder = await startHolder();
    await holder.kill();
    await rm(`${path}-wal`);
    await expectLoss();
  });

  test.each([
    ['in its place', (backup: string) => copyFile(backup, path)],
    ['by a rename', (backup: string) => rename(backup, path)],
  ])('restored from an older copy %s', async (_, restore) => {
    const first = open();
    await first.claim('older', 'a');
    await first.close();
    const backup = join(directory, 'backup');
    await copyFile(path, backup);
    const second = open();
    await second.claim('key', 'a');
    await second.close();
    await restore(backup);
    await expectLoss();
  });

  test('restored from a copy that has its number and its time of change', async () => {
    await open().close();
    await open().close(); // It is certain now when the file was created, because it has changed since.
    if (!(await stat(path)).birthtimeMs) return; // The file system does not keep this time.
    const backup = join(directory, 'backup');
    await cp(path, backup, { preserveTimestamps: true });
    const first = open();
    await first.claim('key', 'a');
    await first.close();
    const { ino } = await stat(path);
    await rm(path);
    await cp(backup, path, { preserveTimestamps: true });
    // Many file systems give the number of a deleted file to the next one. This one may not.
    const { ino: number, mtime } = await stat(path);
    if (number !== ino) change(`UPDATE file SET inode = ${number}`);
    await utimes(path, mtime, mtime);
    await expectLoss();
  });

  test('created by version 1.0.0, which did not note when the file was created, has lost nothing', async () => {
    const first = open();
    await first.claim('key', 'a');
    await first.close();
    const { mtime } = await stat(path);
    change('ALTER TABLE file DROP COLUMN created_at; DROP INDEX record_age');
    await utimes(path, mtime, mtime);
    const claims = open();
    expect(await claims.find('key')).toBe('in-flight');
    expect(claims.losses).toEqual([]);
  });

  test('moved away while in use: the first process stops, the second knows no older keys', async () => {
    const first = open();
    await first.claim('key', 'a');
    await rename(path, join(directory, 'moved'));
    expect(await first.find('new')).toBe('moved');
    expect(first.usage()).toBeUndefined();
    const second = open();
    expect(await second.find('key', { ageMs: 1000 })).toBe('orphaned');
  });

  test('whose folder cannot be looked into while in use: nothing is claimed, and the process goes on after that', async () => {
    path = join(await temporaryFolder(), 'folder', 'claims.db');
    const folder = dirname(path);
    await mkdir(folder);
    const store = open();
    await store.keep('key', 'outcome');
    await rename(folder, `${folder} moved`);
    await symlink(folder, folder); // ELOOP
    expect(await store.claim('new', 'a').catch(({ reason }) => reason)).toBe('not_writable');
    expect(store.usage()).toBeUndefined();
    await rm(folder);
    await rename(`${folder} moved`, folder);
    expect(await store.find('key')).toBe('outcome');
  });

  test('moved away and back while in use: the process goes on, and knows its keys', async () => {
    const store = open();
    await store.claim('key', 'a');
    await rename(path, join(directory, 'moved'));
    expect(await store.find('new')).toBe('moved');
    await rename(join(directory, 'moved'), path);
    expect(await store.find('key')).toBe('in-flight');
    expect(await store.find('new')).toBe('claimed');
  });
});

describe('a file that cannot be used', () => {
  test('a missing directory', () => {
    path = join(directory, 'missing', 'claims.db');
    const message = `The idempotency store cannot open ${path}: ENOENT: no such file or directory`;
    expect(() => open()).toThrow(message);
  });

  test('a directory', async () => {
    path = directory;
    expect(() => open()).toThrow(expect.objectContaining({ reason: 'not_writable' }));
    expect((await stat(directory)).mode & 0o111).not.toBe(0);
  });

  test.each(['text', 'not a database'.repeat(1000)])('no database: %.20s', async (text) => {
    await writeFile(path, text, { mode: 0o644 });
    const message = expect.stringContaining('file is not a database; move the file away');
    expect(() => open()).toThrow(expect.objectContaining({ reason: 'corrupt', message }));
    expect((await stat(path)).mode & 0o777).toBe(0o644);
  });

  test('a store of version 0.2.0, which that version can still use', async () => {
    change(`PRAGMA journal_mode = WAL; PRAGMA application_id = 0x4c47494b; PRAGMA user_version = 1;
      CREATE TABLE claim (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,
        fingerprint TEXT NOT NULL, claimed_at REAL NOT NULL, lease_end REAL NOT NULL, outcome TEXT) STRICT;
      INSERT INTO claim VALUES (1, 'key', 'owner', 'fingerprint', 1, 2, 'outcome')`);
    const before = await readFile(path);
    expect(() => open()).toThrow(
      `The idempotency store cannot open ${path}: another version of the gateway wrote it (schema 1, not 2); move the file away to start with an empty one; its claims are lost`,
    );
    expect(await readFile(path)).toEqual(before);
  });

  test.each([
    ['table', 'DROP TABLE record', 'table: main.record'],
    ['column', 'ALTER TABLE record DROP COLUMN version', 'column: version'],
  ])('a store without a %s', async (_, sql, what) => {
    await open().close();
    change(sql);
    expect(() => open()).toThrow(`no such ${what}; move the file away`);
  });

  test('a damaged file', async () => {
    const first = open();
    for (let index = 0; index < 200; index++) await first.claim(`key ${index}`, 'a');
    await first.close();
    const bytes = await readFile(path);
    bytes.write('kez', bytes.lastIndexOf('key 77'));
    await writeFile(path, bytes);
    expect(() => open()).toThrow(/move the file away to start with an empty one/);
  });

  test.each(['DELETE', 'WAL'])('a foreign %s database, which is left as it is', async (mode) => {
    change(`PRAGMA journal_mode = ${mode}`);
    change('CREATE TABLE invoice (id INTEGER); PRAGMA user_version = 1');
    await chmod(path, 0o644);
    const before = await readFile(path);
    expect(() => open()).toThrow(/it belongs to another application; name another file$/);
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(directory)).toEqual(['claims.db']);
    expect((await stat(path)).mode & 0o777).toBe(0o644);
  });
});

describe.each(['file', 'memory'])('a full store in %s', (kind) => {
  const another = { caller: 'another' };

  test('rejects new keys, still replays, and takes keys again when one is released', async () => {
    const claims = openIn(kind, { maxKeys: 2 });
    await claims.keep('recorded', 'outcome');
    await claims.claim('in flight', 'a');
    expect(await claims.find('new')).toBe('full');
    expect(await claims.find('recorded')).toBe('outcome');
    expect(await claims.find('in flight')).toBe('in-flight');
    await claims.release('in flight', 'a');
    expect(await claims.find('new')).toBe('claimed');
  });

  test('books what further fields of a key take, and rejects them like new keys', async () => {
    const claims = openIn(kind, { maxBytes: 16 * MIB });
    for (const responseName of ['a', 'b']) {
      await claims.keep('key', 'x'.repeat(4 * MIB), { responseName });
    }
    const more = { responseName: 'c', fingerprint: 'x'.repeat(2 * MIB) };
    expect(await claims.find('key', more)).toBe('share');
    expect(await claims.find('other', another)).toBe('claimed');
  });

  test('keeps room for the outcomes of claims in flight', async () => {
    const claims = openIn(kind, { maxBytes: 8 * MIB });
    const inFlight = ['a', 'b'];
    for (const key of inFlight) await claims.claim(key, 'a');
    const fingerprint = 'x'.repeat(1.1 * MIB);
    for (const caller of 'cdefg') await claims.claim(caller, 'a', { caller, fingerprint });
    const others = { caller: 'b', fingerprint };
    expect(await claims.find('new', others)).toBe('full');
    for (const key of inFlight) await claims.record(key, 'a', 'x'.repeat(0.9 * MIB));
    expect(await claims.find('b')).toMatch(/^x{1000}/);
    now += RETENTION_MS;
    expect(await claims.find('long')).toBe('claimed');
  });

  test('leaves a quarter to others although the outcomes of claims in flight are long', async () => {
    const claims = openIn(kind, { maxBytes: 16 * MIB });
    const keys = Array.from({ length: 160 }, (_, index) => `key ${index}`);
    for (const key of keys) await claims.claim(key, 'a');
    // In JSON, each character takes six.
    for (const key of keys) await claims.record(key, 'a', '\u0001'.repeat(10_000));
    expect(await claims.find('new')).toBe('share');
    await claims.keep('key', 'y'.repeat(10_000), another);
    expect(await claims.find('key', another)).toBe('y'.repeat(10_000));
  });

  test('without room for an outcome, rejects the record and keeps the claim', async () => {
    const claims = openIn(kind, { maxBytes: 96 * 1024 });
    await claims.claim('key', 'a');
    const recording = claims.record('key', 'a', 'x'.repeat(200_000));
    await expect(recording).rejects.toMatchObject({ reason: 'full' });
    expect(await claims.find('key')).toBe('in-flight');
    await claims.record('key', 'a', 'short outcome');
    expect(await claims.find('key')).toBe('short outcome');
  });
});

test('a transaction that cannot be committed changes nothing, and the next one is independent of it', async () => {
  const claims = open();
  await claims.claim('first', 'a');
  const { exec } = DatabaseSync.prototype;
  const spy = jest.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
    this: DatabaseSync,
    sql,
  ) {
    if (sql === 'COMMIT') throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
    Reflect.apply(exec, this, [sql]);
  });
  expect(await claims.find('second')).toBe('not_writable');
  spy.mockRestore();
  expect(claims.usage()).toMatchObject({ keys: 1 });
  expect(await claims.find('second')).toBe('claimed');
});

test.each(['done', 'Überwiesen: 20 €'])(
  'a key in memory takes no more than it counts for: %s',
  async (outcome) => {
    const script = new URL('../support/memory-of-keys.ts', import.meta.url).pathname;
    const [line] = await startProcess([script, outcome]).line(/{.*}/);
    const { taken, counted } = JSON.parse(line);
    expect(taken).toBeLessThan(counted);
    expect(taken).toBeGreaterThan(counted / 2);
  },
);

describe.each(['file', 'memory'])('expiry in %s', (kind) => {
  // If it paused for a second after each few, this would take minutes.
  test('deletes thousands of expired keys without further calls, and no others', async () => {
    const claims = openIn(kind, { maxKeys: 10_000 });
    const keys = Array.from({ length: 5000 }, (_, index) => `old ${index}`);
    await Promise.all(keys.map((key) => claims.claim(key, 'a')));
    await Promise.all(keys.slice(30, 90).map((key) => claims.release(key, 'a')));
    now += RETENTION_MS / 2;
    await claims.claim('young', 'a');
    now += RETENTION_MS / 2;
    await eventually(async () => expect(claims.usage()?.keys).toBe(1));
    expect(await claims.find('young')).toBe('orphaned');
  });

  test('a transaction deletes only a few expired keys, so that none takes long', async () => {
    const claims = openIn(kind);
    for (let index = 0; index < 30; index++) await claims.claim(`old ${index}`, 'a');
    now += RETENTION_MS;
    while (claims.usage()?.keys === 30) await new Promise(setImmediate);
    expect(claims.usage()?.keys).toBeGreaterThanOrEqual(10);
  });
});

test('a full store leaves a quarter of the keys to other callers, also after a restart', async () => {
  const first = open({ maxKeys: 100 });
  for (let index = 0; index < 75; index++) await first.claim(`key ${index}`, 'a');
  await first.close();
  const claims = open({ maxKeys: 100 });
  expect(await claims.find('new')).toBe('share');
  for (let index = 0; index < 19; index++)
    await claims.claim(`other ${index}`, 'b', { caller: 'another' });
  expect(await claims.find('new', { caller: 'another' })).toBe('share');
  expect(await claims.find('new', { caller: 'third' })).toBe('claimed');
  expect(claims.usage()).toMatchObject({ keys: 95, maxKeys: 100 });
});

test('the retention does not end early or late when the wall clock was set back before a restart', async () => {
  const first = open();
  await first.keep('recorded', 'outcome');
  await first.close();
  now -= 10 * RETENTION_MS;
  const second = open();
  await second.claim('new', 'a');
  now += 61_000;
  expect(await second.find('new')).toBe('orphaned');
  expect(await second.find('recorded')).toBe('outcome');
  now += RETENTION_MS;
  expect(await second.find('recorded')).toBe('claimed');
});

test('a checkpoint that fails is logged and tried again, and until then nothing is claimed', async () => {
  const { exec } = DatabaseSync.prototype;
  let isFailing = true;
  const spy = jest.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
    this: DatabaseSync,
    sql,
  ) {
    if (sql === 'PRAGMA wal_checkpoint' && isFailing) {
      throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
    }
    return exec.call(this, sql);
  });
  closeAfterTest(() => spy.mockRestore());
  const { service, gateway } = await startStack(success, { IDEMPOTENCY_STORE: `file:${path}` });
  const { errors } = await gateway.graphql(write, {}, { 'idempotency-key': 'a' });
  expect(errors).toMatchObject([{ extensions: { code: 'IDEMPOTENCY_UNAVAILABLE' } }]);
  expect(service.received).toEqual([]);
  await gateway.logLine({ level: 50, reason: 'not_writable', msg: 'disk I/O error' });
  isFailing = false;
  const { data } = await gateway.graphql(write, {}, { 'idempotency-key': 'a' });
  expect(data.result.__typename).toBe('WorkflowActionCompleted');
});

test('a store that nobody uses does not use the database on each iteration of the event loop', async () => {
  const exec = jest.spyOn(DatabaseSync.prototype, 'exec');
  closeAfterTest(() => exec.mockRestore());
  const store = new TestStore({ path });
  closeAfterTest(() => store.close());
  for (let n = 0; n < 200; n++) await immediate();
  const transactions = exec.mock.calls.filter(([sql]) => sql.startsWith('BEGIN'));
  expect(transactions.length).toBeLessThan(10);
});

test('claims that follow each other within a millisecond are one transaction', async () => {
  const claims = open();
  await claims.claim('first', 'a');
  const exec = jest.spyOn(DatabaseSync.prototype, 'exec');
  closeAfterTest(() => exec.mockRestore());
  const all: Promise<unknown>[] = [];
  for (let n = 0; n < 100; n++) {
    all.push(claims.claim(`key ${n}`, 'a'));
    await immediate();
  }
  await Promise.all(all);
  const transactions = exec.mock.calls.filter(([sql]) => sql.startsWith('BEGIN'));
  expect(transactions.length).toBeLessThan(50);
});
