import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createStore } from '../../src/idempotency/create-store.ts';
import { RedisStore } from '../../src/idempotency/redis-store.ts';
import { freePort } from '../support/port.ts';
import {
  eventually,
  isRedisInstalled,
  startProxy,
  startRedis,
  whenState,
  whenUsable,
} from '../support/redis.ts';

const RETENTION_MS = 3_600_000;
const cleanups: (() => unknown)[] = [];
let logs: { level: string; details: object; message: string }[];

beforeEach(() => {
  logs = [];
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const log = {
  warn: (details: object, message: string) => logs.push({ level: 'warn', details, message }),
  error: (details: object, message: string) => logs.push({ level: 'error', details, message }),
};

async function start(...options: Parameters<typeof startRedis>) {
  const server = await startRedis(...options);
  cleanups.push(() => server.stop());
  return server;
}

async function proxyTo(port: number) {
  const proxy = await startProxy(port);
  cleanups.push(() => proxy.stop());
  return proxy;
}

function open(url: string): RedisStore {
  const store = new RedisStore({ url, retentionMs: RETENTION_MS, log });
  cleanups.push(() => store.close());
  return store;
}

async function openUsable(url: string): Promise<RedisStore> {
  const store = open(url);
  await whenUsable(store);
  return store;
}

function claimOf(key: string, owner = 'owner') {
  return { key, owner, fingerprint: 'fingerprint', leaseMs: 60_000 };
}

/** Waits until claims of new keys fail for a reason. */
async function whenRefused(store: RedisStore, reason: string): Promise<void> {
  await eventually(() =>
    expect(store.claim(claimOf(crypto.randomUUID()))).rejects.toMatchObject({ reason }),
  );
}

if (!isRedisInstalled) {
  process.stderr.write('The Redis tests are skipped: redis-server is not installed.\n');
}

const describeRedis = isRedisInstalled ? describe : describe.skip;

test('an invalid URL is rejected without repeating it', async () => {
  const options = { retentionMs: RETENTION_MS, maxKeys: 10, log };
  const error = await createStore('redis://user:secret@host:port', options).catch((error) => error);
  expect(error).toMatchObject({ message: expect.stringContaining('not a valid redis://') });
  expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain('secret');
});

describeRedis('the connection', () => {
  test('an unreachable server rejects claims at once, and is used when it appears', async () => {
    const port = await freePort();
    const store = open(`redis://127.0.0.1:${port}`);
    const unreachable = { name: 'StoreUnavailable', reason: 'unreachable' };
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject(unreachable);
    await eventually(async () => expect(logs).toHaveLength(1));
    await start({ port });
    expect(await eventually(() => store.claim(claimOf('key')))).toEqual({ state: 'claimed' });
    expect(logs).toEqual([
      {
        level: 'error',
        details: { reason: 'unreachable' },
        message: 'No connection to Redis: ECONNREFUSED',
      },
      { level: 'warn', details: {}, message: 'Connected to Redis again' },
    ]);
  });

  test('a server that stops responding causes a timeout, and no key is left claimed', async () => {
    const server = await start();
    const store = await openUsable(server.url);
    server.signal('SIGSTOP');
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject({ reason: 'timeout' });
    await expect(store.claim(claimOf('other', 'another'))).rejects.toMatchObject({
      reason: 'timeout',
    });
    server.signal('SIGCONT');
    expect(await whenState(store, 'key', 'claimed')).toEqual({ state: 'claimed' });
    expect(await store.claim(claimOf('other'))).toEqual({ state: 'claimed' });
  });

  test('a key whose claim lost its reply is free again', async () => {
    const server = await start();
    const proxy = await proxyTo(server.port);
    const store = await openUsable(proxy.url);
    proxy.loseReplies();
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject({ reason: 'unreachable' });
    const another = await openUsable(server.url);
    expect(await another.claim(claimOf('key', 'another'))).toMatchObject({ state: 'in-flight' });
    proxy.forward();
    await whenUsable(store);
    expect(await whenState(another, 'key', 'claimed')).toEqual({ state: 'claimed' });
  });

  test('a claim that arrives after its own release does not take the key', async () => {
    const store = await openUsable((await start()).url);
    await store.release('key', 'late');
    await expect(store.claim(claimOf('key', 'late'))).rejects.toMatchObject({
      reason: 'unreachable',
    });
    expect(await store.claim(claimOf('key', 'another'))).toEqual({ state: 'claimed' });
    await store.record('key', 'another', 'outcome');
    expect(await store.claim(claimOf('key', 'late'))).toMatchObject({ outcome: 'outcome' });
  });

  test('no late claim takes the key, however many owners have released it', async () => {
    const store = await openUsable((await start()).url);
    const owners = ['late', 'later'];
    for (const owner of owners) await store.release('key', owner);
    await store.claim(claimOf('key', 'another'));
    await store.release('key', 'last');
    await store.release('key', 'another');
    for (const owner of [...owners, 'last']) {
      const claiming = store.claim(claimOf('key', owner));
      await expect(claiming).rejects.toMatchObject({ reason: 'unreachable' });
    }
  });

  test('an outcome that could not be recorded is recorded when the server is back', async () => {
    const server = await start();
    const proxy = await proxyTo(server.port);
    const store = await openUsable(proxy.url);
    await store.claim(claimOf('key'));
    await store.claim(claimOf('other'));
    proxy.refuse();
    const unreachable = { reason: 'unreachable' };
    await expect(store.record('key', 'owner', 'outcome')).rejects.toMatchObject(unreachable);
    await expect(store.release('other', 'owner')).rejects.toMatchObject(unreachable);
    proxy.forward();
    expect(await whenState(store, 'key', 'recorded')).toMatchObject({ outcome: 'outcome' });
    expect(await whenState(store, 'other', 'claimed')).toEqual({ state: 'claimed' });
  });

  test('after an outage, a claim without an outcome is not orphaned at once', async () => {
    const server = await start();
    const proxy = await proxyTo(server.port);
    const store = await openUsable(proxy.url);
    await store.claim({ ...claimOf('key'), leaseMs: 0 });
    const steady = await openUsable(server.url);
    expect(await steady.claim(claimOf('key', 'repeat'))).toMatchObject({ state: 'orphaned' });
    proxy.refuse();
    await whenRefused(store, 'unreachable');
    proxy.forward();
    await whenUsable(store);
    expect(await store.claim(claimOf('key', 'repeat'))).toMatchObject({ state: 'in-flight' });
  });

  test('closing writes what is pending', async () => {
    const server = await start();
    const store = await openUsable(server.url);
    await store.claim(claimOf('key'));
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    await expect(store.record('key', 'owner', 'outcome')).rejects.toMatchObject({
      reason: 'out_of_memory',
    });
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    await store.close();
    const another = await openUsable(server.url);
    expect(await another.claim(claimOf('key', 'repeat'))).toMatchObject({ outcome: 'outcome' });
  });

  test('an unresponsive server does not keep the store from closing', async () => {
    const server = await start();
    const store = open(server.url);
    server.signal('SIGSTOP');
    await store.close();
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject({ reason: 'closed' });
  });

  test('scripts are loaded again after the server has forgotten them', async () => {
    const server = await start();
    const store = await openUsable(server.url);
    await server.command('SCRIPT', 'FLUSH');
    expect(await store.claim(claimOf('key'))).toEqual({ state: 'claimed' });
  });
});

describeRedis('the URL', () => {
  test('its user, password and database number are used', async () => {
    const server = await start({ args: ['--user', 'gateway', 'on', '>secret/1', '~*', '+@all'] });
    const url = `redis://gateway:secret%2F1@127.0.0.1:${server.port}/5`;
    const store = await createStore(url, { retentionMs: RETENTION_MS, maxKeys: 10, log });
    cleanups.push(() => store.close());
    await whenUsable(store);
    await store.claim(claimOf('key'));
    expect(await server.command('INFO', 'keyspace')).toMatch(/db5:keys=4/);
  });

  test('a wrong password is reported without the password', async () => {
    const server = await start({ args: ['--requirepass', 'right'] });
    await whenRefused(open(`redis://:wrong-secret@127.0.0.1:${server.port}`), 'unauthorized');
    await whenRefused(open(`redis://127.0.0.1:${server.port}`), 'unauthorized');
    expect(logs).toContainEqual(
      expect.objectContaining({ level: 'error', details: { reason: 'unauthorized' } }),
    );
    expect(JSON.stringify(logs)).not.toMatch(/secret|127\.0\.0\.1/);
  });

  test('a server without TLS cannot be used with rediss://', async () => {
    const server = await start();
    await whenRefused(open(`rediss://127.0.0.1:${server.port}`), 'unreachable');
  });
});

describeRedis('a server that cannot keep claims', () => {
  test('without memory it refuses new keys, and still replays', async () => {
    const server = await start();
    const store = await openUsable(server.url);
    await store.claim(claimOf('recorded'));
    await store.record('recorded', 'owner', 'outcome');
    await store.claim(claimOf('in flight'));
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    const full = { reason: 'out_of_memory' };
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject(full);
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject(full);
    await expect(store.record('in flight', 'owner', 'late')).rejects.toMatchObject(full);
    expect(await store.claim(claimOf('recorded'))).toMatchObject({ outcome: 'outcome' });
    expect(logs.map(({ details }) => details)).toEqual([full]);
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    expect(await store.claim(claimOf('key'))).toEqual({ state: 'claimed' });
    expect(await whenState(store, 'in flight', 'recorded')).toMatchObject({ outcome: 'late' });
  });

  test.each([
    ['HSET', 'owner', 'another', 'leaseEnd', '0'],
    ['HSET', 'outcome', 'outcome'],
    ['SET', 'text'],
  ])('a claim that another program wrote is corrupt: %s %s', async (command, ...args) => {
    const server = await start();
    const store = await openUsable(server.url);
    await server.command(command, '{ledger-gateway}:claim:key', ...args);
    const refused = { name: 'StoreUnavailable', reason: 'corrupt' };
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject(refused);
  });

  test('an eviction policy is refused until it is corrected', async () => {
    const policy = ['--maxmemory', '1gb', '--maxmemory-policy', 'volatile-lru'];
    const server = await start({ args: policy });
    const store = open(server.url);
    await whenRefused(store, 'evicting');
    expect(logs).toEqual([
      {
        level: 'error',
        details: { reason: 'evicting' },
        message:
          'Redis would evict idempotency keys: set its maxmemory-policy to noeviction (it is volatile-lru)',
      },
    ]);
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await whenUsable(store);
  });

  test('a replica is refused until it becomes the master, with all claims', async () => {
    const server = await start();
    const store = await openUsable(server.url);
    await store.claim(claimOf('key'));
    await server.command('REPLICAOF', '127.0.0.1', String(await freePort()));
    await whenRefused(store, 'read_only');
    await server.command('REPLICAOF', 'NO', 'ONE');
    await whenUsable(store);
    expect(await store.claim(claimOf('key', 'repeat'))).toMatchObject({ state: 'in-flight' });
  });
});

describeRedis('lost claims', () => {
  test('a server that restarted empty is refused until this process restarts', async () => {
    const server = await start();
    const store = await openUsable(server.url);
    await store.claim(claimOf('key'));
    await server.stop();
    await start({ port: server.port });
    await whenRefused(store, 'data_lost');
    await whenRefused(store, 'data_lost');
    const lost = logs.filter(({ details }) => JSON.stringify(details).includes('data_lost'));
    expect(lost).toEqual([
      {
        level: 'error',
        details: { reason: 'data_lost' },
        message: expect.stringContaining('refused until this process is restarted'),
      },
    ]);
    const restarted = await openUsable(server.url);
    expect(await restarted.claim(claimOf('key'))).toEqual({ state: 'claimed' });
    await whenRefused(store, 'data_lost');
  });

  test('a flushed database is noticed by the very next claim', async () => {
    const server = await start();
    const store = await openUsable(server.url);
    await server.command('FLUSHALL');
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject({ reason: 'data_lost' });
  });

  test('a server that restarted from an old snapshot is refused by every process', async () => {
    const server = await start({ args: ['--enable-debug-command', 'yes'] });
    const store = await openUsable(server.url);
    const idle = await openUsable(server.url);
    await server.command('SAVE');
    await store.claim(claimOf('after the snapshot'));
    await server.command('DEBUG', 'RELOAD', 'NOSAVE');
    await whenRefused(store, 'data_lost');
    await whenRefused(idle, 'data_lost');
  });

  test('claims of other processes do not hide a loss from the process that reconnects last', async () => {
    const server = await start({ args: ['--enable-debug-command', 'yes'] });
    const proxy = await proxyTo(server.port);
    const store = await openUsable(proxy.url);
    const another = await openUsable(server.url);
    await server.command('SAVE');
    await store.claim(claimOf('after the snapshot'));
    proxy.refuse();
    await server.command('DEBUG', 'RELOAD', 'NOSAVE');
    for (const key of ['a', 'b', 'c']) await another.claim(claimOf(key));
    proxy.forward();
    await whenRefused(store, 'data_lost');
    await whenRefused(another, 'data_lost');
  });

  test('a claim whose reply was lost is no loss', async () => {
    const server = await start();
    const proxy = await proxyTo(server.port);
    const store = await openUsable(proxy.url);
    proxy.loseReplies();
    await expect(store.claim(claimOf('key'))).rejects.toMatchObject({ reason: 'unreachable' });
    proxy.forward();
    await whenUsable(store);
  });
});

describeRedis('an idle process', () => {
  test('notices lost claims', async () => {
    const server = await start();
    await openUsable(server.url);
    await server.command('FLUSHALL');
    await eventually(async () =>
      expect(logs).toMatchObject([{ level: 'error', details: { reason: 'data_lost' } }]),
    );
  });

  test('notices a dead connection', async () => {
    const server = await start();
    await openUsable(server.url);
    server.signal('SIGSTOP');
    await eventually(async () =>
      expect(logs).toMatchObject([{ level: 'error', details: { reason: 'timeout' } }]),
    );
    server.signal('SIGCONT');
  });

  test('notices a new eviction policy', async () => {
    const server = await start();
    const store = await openUsable(server.url);
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru', 'maxmemory', '1gb');
    await whenRefused(store, 'evicting');
    expect(logs).toMatchObject([{ message: expect.stringContaining('it is allkeys-lru') }]);
  });
});
