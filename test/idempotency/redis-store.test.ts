import { afterEach, describe, expect, test } from '@jest/globals';
import { createStore } from '../../src/idempotency/create-store.ts';
import { RedisStore } from '../../src/idempotency/redis-store.ts';
import { claimsOn, RETENTION_MS } from '../support/claims.ts';
import { eventually } from '../support/eventually.ts';
import { speedUp } from '../support/fast-timeouts.ts';
import { freePort } from '../support/port.ts';
import { isRedisInstalled, startProxy, startRedis } from '../support/redis.ts';

const MIB = 2 ** 20;
const cleanups: (() => unknown)[] = [];

/** Makes stores check their server every 50 ms. */
const checkOften = () => speedUp('setInterval', 2000, 50);

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

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

function open(url: string, quarantineMs = 0) {
  const store = new RedisStore({ url, retentionMs: RETENTION_MS });
  const claims = claimsOn(store, { quarantineMs });
  cleanups.push(claims.close);
  const probe = (more = {}) => claims.claim(crypto.randomUUID(), 'probe', { ageMs: 0, ...more });
  return {
    ...claims,
    usage: () => store.usage,
    probe,
    whenUsable: () => eventually(() => probe()),
    /** Waits until claims of new keys fail for a reason. */
    whenRejected: (reason: string) =>
      eventually(() => expect(probe()).rejects.toMatchObject({ reason })),
    whenState: (key: string, state: string) =>
      eventually(async () =>
        expect(await claims.claim(key, crypto.randomUUID())).toMatchObject({ state }),
      ),
  };
}

async function openUsable(url: string, quarantineMs = 0) {
  const claims = open(url, quarantineMs);
  await claims.whenUsable();
  return claims;
}

if (!isRedisInstalled) {
  process.stderr.write('The Redis tests are skipped: redis-server is not installed.\n');
}
const describeRedis = isRedisInstalled ? describe : describe.skip;

test('an invalid URL is rejected without repeating it', async () => {
  const options = { retentionMs: RETENTION_MS, maxKeys: 10, memoryBytes: 2 ** 30 };
  const error = await createStore('redis://user:secret@host:port', options).catch((error) => error);
  expect(error).toMatchObject({ message: expect.stringContaining('not a valid redis://') });
  expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain('secret');
});

describeRedis('the connection', () => {
  test('an unreachable server rejects claims at once, and is used when it appears', async () => {
    const port = await freePort();
    const claims = open(`redis://127.0.0.1:${port}`);
    const connecting = { name: 'StoreUnavailable', reason: 'connecting' };
    await expect(claims.claim('key', 'a')).rejects.toMatchObject(connecting);
    await claims.whenRejected('unreachable');
    expect(claims.usage()).toBeUndefined();
    await start({ port });
    expect(await claims.whenUsable()).toMatchObject({ state: 'claimed' });
    expect(claims.usage()).toMatchObject({ keys: expect.any(Number), maxBytes: Infinity });
  });

  test('a server that stops responding causes a timeout', async () => {
    const server = await start();
    const claims = await openUsable(server.url);
    server.signal('SIGSTOP');
    await expect(claims.claim('key', 'a')).rejects.toMatchObject({ reason: 'timeout' });
    server.signal('SIGCONT');
    await claims.whenUsable();
  });

  test('a claim whose reply was lost is released by its owner', async () => {
    const server = await start();
    const proxy = await proxyTo(server.port);
    const claims = await openUsable(proxy.url);
    proxy.loseReplies();
    await expect(claims.claim('key', 'a')).rejects.toMatchObject({ name: 'ReplyLost' });
    const other = await openUsable(server.url);
    expect(await other.claim('key', 'b')).toMatchObject({ state: 'in-flight' });
    proxy.forward();
    await eventually(() => claims.release('key', 'a'));
    expect(await other.claim('key', 'b')).toMatchObject({ state: 'claimed' });
  });

  test('a wrong password, a missing one, and TLS without a server for it', async () => {
    const { port } = await start({ args: ['--requirepass', 'right'] });
    await open(`redis://:wrong@127.0.0.1:${port}`).whenRejected('unauthorized');
    await open(`redis://127.0.0.1:${port}`).whenRejected('unauthorized');
    await open(`rediss://127.0.0.1:${port}`).whenRejected('unreachable');
    await open(`redis://:right@127.0.0.1:${port}`).whenUsable();
  });
});

describeRedis('a server that cannot keep claims', () => {
  test('without memory it rejects new keys, but records outcomes, replays and releases', async () => {
    const server = await start();
    const claims = await openUsable(server.url);
    for (const key of ['recorded', 'in flight', 'refused']) await claims.claim(key, 'a');
    await claims.record('recorded', 'a', 'outcome');
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    await expect(claims.claim('new', 'b')).rejects.toMatchObject({ reason: 'full' });
    await claims.record('in flight', 'a', 'late');
    await claims.release('refused', 'a');
    expect(await claims.claim('recorded', 'b')).toMatchObject({ outcome: 'outcome' });
    expect(await claims.claim('in flight', 'b')).toMatchObject({ outcome: 'late' });
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    expect(await claims.claim('refused', 'b')).toMatchObject({ state: 'claimed' });
  });

  test('when memory is scarce, a caller keeps a quarter of it, until its keys are freed', async () => {
    checkOften();
    const server = await start();
    const claims = await openUsable(server.url);
    await claims.claim('large', 'a');
    await claims.record('large', 'a', 'x'.repeat(MIB));
    await eventually(async () => {
      // Buffers of the large request count for a moment.
      const used = /^used_memory:(\d+)/m.exec(String(await server.command('INFO', 'memory')))?.[1];
      await server.command('CONFIG', 'SET', 'maxmemory', String(Math.floor(Number(used) * 1.25)));
      await expect(claims.probe()).rejects.toMatchObject({ reason: 'share' });
    });
    expect(await claims.probe({ caller: 'another' })).toMatchObject({ state: 'claimed' });
    expect(await claims.claim('large', 'b')).toMatchObject({ state: 'recorded' });
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    await claims.whenUsable();
  });

  test('the outcomes of one moment leave memory to others', async () => {
    const server = await start();
    const used = /^used_memory:(\d+)/m.exec(String(await server.command('INFO', 'memory')))?.[1];
    await server.command('CONFIG', 'SET', 'maxmemory', String(Number(used) + 12 * MIB));
    const claims = await openUsable(server.url);
    const keys = Array.from({ length: 20 }, (_, index) => `key ${index}`);
    for (const key of keys) await claims.claim(key, 'a');
    const long = 'x'.repeat(MIB / 2);
    // On a slow machine the replies to some of them come too late.
    const record = (key: string) => eventually(() => claims.record(key, 'a', long));
    await Promise.all(keys.map(record));
    const others = { caller: 'another' };
    expect(await claims.claim('other', 'b', others)).toMatchObject({ state: 'claimed' });
    await claims.record('other', 'b', long, others);
    const found = await claims.claim('other', 'b', others);
    expect(found).toMatchObject({ outcome: long });
  });

  test('what a caller holds is booked until it is freed or expires', async () => {
    const server = await start();
    const claims = await openUsable(server.url);
    const held = async () => {
      const parts = await server.command('HVALS', '{ledger-gateway}:caller:another');
      return (Array.isArray(parts) ? parts : []).reduce((sum, part) => sum + Number(part), 0);
    };
    const another = { caller: 'another' };
    await claims.claim('first', 'a', another);
    await claims.claim('second', 'a', another);
    const both = await held();
    await claims.record('first', 'a', 'x'.repeat(1000), another);
    expect((await held()) - both).toBeGreaterThan(1000);
    expect((await held()) - both).toBeLessThan(1100);
    await claims.release('second', 'a', another);
    expect((await held()) - both / 2).toBeLessThan(1100);
    await server.command('HSET', '{ledger-gateway}:caller:another', '1000', '77');
    await claims.claim('third', 'a', another);
    expect(await server.command('HEXISTS', '{ledger-gateway}:caller:another', '1000')).toBe(0);
  });

  test.each([
    ['HSET', 'version', 'another', 'text', '{}'],
    ['SET', 'text'],
  ])('a record that another program wrote is corrupt: %s %s', async (command, ...args) => {
    const server = await start();
    const claims = await openUsable(server.url);
    await server.command(command, '{ledger-gateway}:key:key', ...args);
    await expect(claims.claim('key', 'a')).rejects.toMatchObject({ reason: 'corrupt' });
  });

  test('an eviction policy is rejected until it is corrected', async () => {
    checkOften();
    const server = await start();
    const claims = await openUsable(server.url);
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru', 'maxmemory', '1gb');
    await claims.whenRejected('evicting');
    await expect(claims.probe()).rejects.toMatchObject({
      message: expect.stringContaining('maxmemory-policy to noeviction (it is allkeys-lru)'),
    });
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await claims.whenUsable();
  });
});

describeRedis('lost records', () => {
  test('a server that restarted empty: ages are judged at once, and other keys after a quarantine', async () => {
    const server = await start();
    const claims = await openUsable(server.url, 60_000);
    await claims.claim('key', 'a', { ageMs: 0 });
    await server.stop();
    await start({ port: server.port });
    await claims.whenUsable();
    const restarted = await openUsable(server.url, 60_000);
    for (const process of [claims, restarted]) {
      const lost = await process.claim('key', 'b', { ageMs: 60_000 });
      expect(lost).toMatchObject({ state: 'orphaned' });
      await expect(process.claim('no age', 'b')).rejects.toMatchObject({ reason: 'quarantine' });
    }
    expect(claims.losses).toHaveLength(1);
  });

  test('a server that evicted keys, also when its policy is corrected', async () => {
    checkOften();
    const server = await start();
    const claims = await openUsable(server.url, 60_000);
    await claims.claim('key', 'a', { ageMs: 0 });
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl', 'maxmemory', '1');
    await claims.whenRejected('evicting');
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction', 'maxmemory', '0');
    await claims.whenUsable();
    const lost = await claims.claim('key', 'b', { ageMs: 60_000 });
    expect(lost).toMatchObject({ state: 'orphaned' });
    expect(claims.losses).toHaveLength(1);
  });

  test('a flushed database is noticed by the very next claim', async () => {
    const server = await start();
    const claims = await openUsable(server.url, 1000);
    await claims.claim('key', 'a', { ageMs: 0 });
    await server.command('FLUSHALL');
    expect(await claims.claim('key', 'b', { ageMs: 100 })).toMatchObject({ state: 'orphaned' });
    await expect(claims.claim('no age', 'b')).rejects.toMatchObject({ reason: 'quarantine' });
    expect(await eventually(() => claims.claim('no age', 'b'))).toMatchObject({ state: 'claimed' });
  });

  test('a process that starts with the empty server waits for objections', async () => {
    checkOften();
    const server = await start();
    const claims = await openUsable(server.url, 60_000);
    const proxy = await proxyTo(server.port);
    proxy.refuse();
    await server.command('FLUSHALL');
    const newcomer = await openUsable(server.url, 60_000);
    await expect(newcomer.claim('no age', 'a')).rejects.toMatchObject({ reason: 'quarantine' });
    await eventually(async () => expect(claims.losses).toHaveLength(1));
    await expect(newcomer.claim('no age', 'a')).rejects.toMatchObject({ reason: 'quarantine' });
  });

  test('a server that restarted from its log has its records, but older keys are not executed', async () => {
    const args = ['--appendonly', 'yes', '--appendfsync', 'always'];
    const server = await start({ args });
    const claims = await openUsable(server.url, 60_000);
    await claims.claim('key', 'a', { ageMs: 0 });
    await server.restart();
    await claims.whenUsable();
    expect(await claims.claim('key', 'b')).toMatchObject({ state: 'in-flight' });
    const unanswered = await claims.claim('not executed', 'b', { ageMs: 60_000 });
    expect(unanswered).toMatchObject({ state: 'orphaned' });
  });
});

describeRedis('a server with replicas', () => {
  async function startPair() {
    const primary = await start();
    const earlier = await openUsable(primary.url, 60_000);
    const replica = await start({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    await whenReplicating(replica);
    return { primary, replica, earlier, claims: await openUsable(primary.url, 60_000) };
  }

  const whenReplicating = (replica: Awaited<ReturnType<typeof start>>) =>
    eventually(async () =>
      expect(await replica.command('INFO', 'replication')).toMatch(/master_link_status:up/),
    );

  test('a claim counts only when a replica has it; a replica that joins is no loss', async () => {
    checkOften();
    const { replica, earlier } = await startPair();
    replica.signal('SIGSTOP');
    await earlier.whenRejected('not_replicated');
    replica.signal('SIGCONT');
    await earlier.whenUsable();
    expect(earlier.losses).toEqual([]);
  });

  test('a primary that is demoted and promoted again may have lost records', async () => {
    const { primary, replica, claims } = await startPair();
    await claims.claim('lost', 'a', { ageMs: 0 });
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await replica.command('DEL', '{ledger-gateway}:key:lost'); // As if it had lagged behind another one.
    await primary.command('REPLICAOF', '127.0.0.1', String(replica.port));
    await whenReplicating(primary);
    await primary.command('REPLICAOF', 'NO', 'ONE');
    await eventually(async () => expect(claims.losses).toHaveLength(1));
    const lost = await claims.claim('lost', 'b', { ageMs: 60_000 });
    expect(lost).toMatchObject({ state: 'orphaned' });
  });

  test('a replica is rejected until it is promoted, with all claims', async () => {
    const { primary, replica, claims } = await startPair();
    const other = open(replica.url, 60_000);
    await other.whenRejected('read_only');
    await claims.claim('key', 'a', { ageMs: 0 });
    await primary.stop();
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await other.whenUsable();
    expect(await other.claim('key', 'b')).toMatchObject({ state: 'in-flight' });
    expect(other.losses).toHaveLength(1);
  });
});
