import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, jest, test } from '@jest/globals';
import { createPrivateCa } from '../../../../testkit/certificate.ts';
import { closeAfterTest } from '../../../../testkit/cleanup.ts';
import { eventually } from '../../../../testkit/eventually.ts';
import { speedUp } from '../../../../testkit/fast-timeouts.ts';
import { freePort } from '../../../../testkit/port.ts';
import { isRedisInstalled, startRedis } from '../../../../testkit/redis.ts';
import { RedisSession, scriptOf } from '../../src/stores/redis-connection.ts';
import { RedisStore } from '../../src/stores/redis-store.ts';
import { claimsOnServer, whenUsable } from '../support/server-claims.ts';

/** Node's own global object, whose timers the tested modules use. */
declare const native: typeof globalThis;

const MIB = 2 ** 20;
/** Long enough that no test waits for its end. */
const QUARANTINE_MS = 60_000;
const aged = { ageMs: 60_000 };

/** Makes stores check their server every 50 ms. */
const checkOften = () => speedUp('setInterval', 2000, 50);

async function start(...options: Parameters<typeof startRedis>) {
  const server = await startRedis(...options);
  const config = (...settings: string[]) => server.command('CONFIG', 'SET', ...settings);
  const usedMemory = async () => {
    const info = String(await server.command('INFO', 'memory'));
    return Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
  };
  /** Copies the records of another server, and waits until it has them. */
  const becomeReplicaOf = async (primary: { port: number }) => {
    await server.command('REPLICAOF', '127.0.0.1', String(primary.port));
    await eventually(async () => {
      expect(await server.command('INFO')).toMatch(/master_link_status:up/);
    });
  };
  return { ...server, config, usedMemory, becomeReplicaOf };
}

const open = (url: string, quarantineMs = 0) =>
  claimsOnServer(new RedisStore({ url }), quarantineMs);

const openUsable = (url: string, quarantineMs = 0) => whenUsable(open(url, quarantineMs));

/** Starts a server, and claims a key on it. */
async function startHolding(quarantineMs = QUARANTINE_MS, args: string[] = []) {
  const server = await start({ args });
  const claims = await openUsable(server.url, quarantineMs);
  await claims.claim('key', 'a', claims.later());
  return { server, claims };
}

/** What becomes of a key with an age whose record is lost, and of one without an age. */
const findLost = async ({ find }: ReturnType<typeof open>) => [
  await find('key', aged),
  await find('no age'),
];

if (!isRedisInstalled) {
  process.stderr.write('The Redis tests are skipped: redis-server is not installed.\n');
}
const describeRedis = isRedisInstalled ? describe : describe.skip;

describeRedis('the connection', () => {
  test('an unreachable server rejects claims at once, and is used when it appears', async () => {
    const port = await freePort();
    const claims = open(`redis://127.0.0.1:${port}`);
    expect(await claims.probe()).toBe('connecting');
    await claims.becomes('unreachable');
    expect(claims.usage()).toBeUndefined();
    await start({ port });
    await claims.becomes('claimed');
    expect(claims.usage()).toMatchObject({ keys: expect.any(Number), maxBytes: Infinity });
  });

  test('a claim whose reply does not come in time is made later, and released by its owner', async () => {
    const server = await start();
    const claims = await openUsable(server.url);
    server.signal('SIGSTOP');
    speedUp('setTimeout', 1000, 100);
    const lost = { name: 'ReplyLost', reason: 'timeout' };
    await expect(claims.claim('key', 'a')).rejects.toMatchObject(lost);
    server.signal('SIGCONT');
    const exists = () => server.command('EXISTS', '{ledger-gateway}:key:key');
    await eventually(async () => expect(await exists()).toBe(1));
    await eventually(() => claims.release('key', 'a'));
    expect(await claims.find('key')).toBe('claimed');
  });

  test('a connection without commands stays open for longer than a reply may take', async () => {
    const server = await start();
    const claims = await openUsable(server.url);
    speedUp('setTimeout', 1000, 100);
    expect(await claims.find('before')).toBe('claimed');
    await server.command('BLPOP', 'empty', '0.3'); // The server replies after 300 ms.
    expect(await claims.find('after')).toBe('claimed');
  });

  test('a script has the whole time for its reply, also after the server has rejected its hash', async () => {
    const server = await start();
    const session = new RedisSession(server.url);
    closeAfterTest(() => session.close());
    await session.connect();
    const timers = jest.spyOn(native, 'setTimeout');
    closeAfterTest(() => timers.mockRestore());
    const started = async () => {
      timers.mockClear();
      expect(await session.script(scriptOf('return 1'), ['0'])).toBe(1);
      return timers.mock.calls.filter(([, ms]) => ms === 1000).length;
    };
    expect([await started(), await started()]).toEqual([2, 1]);
  });

  test('the text of a script is sent once, and again if the server has forgotten it', async () => {
    const server = await start();
    const claims = await openUsable(server.url);
    const texts = async () => {
      const stats = String(await server.command('INFO', 'commandstats'));
      return Number(/^cmdstat_eval:calls=(\d+)/m.exec(stats)?.[1]);
    };
    await claims.claim('first', 'a');
    const sent = await texts();
    for (let n = 0; n < 5; n++) await claims.claim(`key ${n}`, 'a');
    expect(await texts()).toBe(sent);
    await server.command('SCRIPT', 'FLUSH');
    const changes = ['b', 'c'].map((key) => claims.claim(key, 'a'));
    expect(await Promise.all(changes)).toEqual([{ state: 'claimed' }, { state: 'claimed' }]);
    expect(await texts()).toBeGreaterThan(sent);
  });

  test('a wrong password, a missing one, and TLS without a server for it', async () => {
    const { port } = await start({ args: ['--requirepass', 'right'] });
    await Promise.all([
      open(`redis://:wrong@127.0.0.1:${port}`).becomes('unauthorized'),
      open(`redis://127.0.0.1:${port}`).becomes('unauthorized'),
      open(`rediss://127.0.0.1:${port}`).becomes('unreachable'),
      open(`redis://:right@127.0.0.1:${port}`).becomes('claimed'),
    ]);
  });
});

describeRedis('a server that the store cannot use', () => {
  /** What the log says of the first failure. */
  async function failureOf(url: string): Promise<string> {
    const claims = open(url);
    await eventually(async () => expect(await claims.probe()).not.toBe('connecting'));
    return claims.claim('key', 'a').then(
      () => 'none',
      ({ reason, message }) => `${reason}: ${message}`,
    );
  }

  test('a node of a cluster, also the one that has the keys', async () => {
    const node = await start({ args: ['--cluster-enabled', 'yes'] });
    const failure =
      /^unsupported: The Redis server is a node of a Redis Cluster, which is not supported/;
    expect(await failureOf(`${node.url}/1`)).toMatch(failure);
    await node.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    const own = () => node.command('EVAL', "return redis.call('GET', KEYS[1])", '1', 'key');
    await eventually(() => expect(own()).resolves.toBeNull());
    expect(await failureOf(node.url)).toMatch(failure);
  });

  test('a replica', async () => {
    const [server, replica] = [await start(), await start()];
    await replica.becomeReplicaOf(server);
    const failure = 'read_only: The Redis server is a replica. Use the address of the primary';
    expect(await failureOf(replica.url)).toContain(failure);
    await replica.config('replica-read-only', 'no');
    expect(await failureOf(replica.url)).toContain(failure);
  });

  test('a Sentinel', async () => {
    const { url } = await startRedis({ isSentinel: true });
    expect(await failureOf(url)).toMatch(/^unsupported: The Redis server is a Sentinel/);
  });

  test('a server whose user lacks a right is not used, although it has records, and the log names the right', async () => {
    const server = await start();
    await openUsable(server.url);
    const page = join(import.meta.dirname, '../../../../docs/explanation/stores.md');
    const command = /^ACL SETUSER \S+ (.*)$/m.exec(await readFile(page, 'utf8'))?.[1] ?? '';
    const rules = command.split(' ');
    const as = (user: string) => `redis://${user}:PASSWORD@127.0.0.1:${server.port}`;
    await server.command('ACL', 'SETUSER', 'all', ...rules);
    await openUsable(as('all'));
    const rights = rules.flatMap((rule) => (rule.startsWith('+') ? [rule.slice(1)] : []));
    expect(rights).toContain('hincrby');
    for (const right of rights) {
      await server.command('ACL', 'SETUSER', right, ...rules, `-${right}`);
      if (right === 'evalsha') {
        await openUsable(as(right));
        continue;
      }
      expect(await failureOf(as(right))).toMatch(
        `unauthorized: The Redis server denies its user the command ${right}. docs/explanation`,
      );
    }
    await server.command('ACL', 'SETUSER', 'keys', ...rules, 'resetkeys', '~other:*');
    expect(await failureOf(as('keys'))).toMatch(/denies its user a key\. .* \(ACL SETUSER\)$/);
    const exists = () => server.command('EXISTS', '{ledger-gateway}:trial');
    await eventually(async () => expect(await exists()).toBe(0));
  });

  test('a database that does not exist', async () => {
    const failure = 'no_database: The Redis server has no database with the number in the URL';
    expect(await failureOf(`${(await start()).url}/99`)).toBe(failure);
  });

  test('a server without scripts', async () => {
    const { url } = await start({ args: ['--rename-command', 'EVAL', ''] });
    expect(await failureOf(url)).toMatch(/^unsupported: .* executes scripts \(EVAL\)/);
  });

  test('a port that has no TLS although the URL asks for it, or the other way round', async () => {
    const { port } = await start();
    const failure = 'unreachable: No connection to Redis';
    const hint = (has: string, write: string) => `. If the port ${has} TLS, write ${write}`;
    expect(await failureOf(`rediss://127.0.0.1:${port}`)).toBe(
      `${failure}${hint('has no', 'redis:// instead of rediss://')}`,
    );
    const { certFile, keyFile } = await (await createPrivateCa()).issue('redis');
    const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile];
    const tls = ['--tls-port', String(await freePort()), ...files, '--tls-auth-clients', 'no'];
    await start({ args: tls });
    expect(await failureOf(`redis://127.0.0.1:${tls[1]}`)).toBe(
      `${failure}: ECONNRESET${hint('has', 'rediss:// instead of redis://')}`,
    );
  });
});

describeRedis('a server that cannot keep claims', () => {
  test('without memory it rejects new keys, but records outcomes, replays and releases', async () => {
    const server = await start();
    const { claim, find, record, release } = await openUsable(server.url);
    for (const key of ['recorded', 'in flight', 'refused']) await claim(key, 'a');
    await record('recorded', 'a', 'outcome');
    await server.config('maxmemory', '1');
    expect(await find('new')).toBe('full');
    const restarted = open(server.url);
    await eventually(async () => expect(await restarted.find('recorded')).toBe('outcome'));
    await record('in flight', 'a', 'late');
    await release('refused', 'a');
    expect([await find('recorded'), await find('in flight')]).toEqual(['outcome', 'late']);
    await server.config('maxmemory', '0');
    expect(await find('refused')).toBe('claimed');
  });

  test('when memory is scarce, a caller keeps a quarter of it, until its keys are freed', async () => {
    checkOften();
    const server = await start();
    const claims = await openUsable(server.url);
    await claims.claim('large', 'a');
    await claims.record('large', 'a', 'x'.repeat(MIB));
    await eventually(async () => {
      // Buffers of the large request count for a moment.
      const limit = Math.floor((await server.usedMemory()) * 1.25);
      await server.config('maxmemory', String(limit));
      expect(await claims.probe()).toBe('share');
    });
    expect(await claims.probe({ caller: 'another' })).toBe('claimed');
    expect(await claims.find('large')).toHaveLength(MIB);
    await server.config('maxmemory', '0');
    await claims.becomes('claimed');
  });

  test('what a caller holds is booked until it is freed or expires', async () => {
    const server = await start();
    const { claim, record, release } = await openUsable(server.url);
    const another = { caller: 'another' };
    const parts = '{ledger-gateway}:caller:another';
    const held = async () => {
      const values = await server.command('HVALS', parts);
      return (Array.isArray(values) ? values : []).reduce((sum, part) => sum + Number(part), 0);
    };
    await claim('first', 'a', another);
    await claim('second', 'a', another);
    const both = await held();
    await record('first', 'a', 'x'.repeat(1000), another);
    expect((await held()) - both).toBeGreaterThan(1000);
    expect((await held()) - both).toBeLessThan(1100);
    await release('second', 'a', another);
    expect((await held()) - both / 2).toBeLessThan(1100);
    await server.command('HSET', parts, '1000', '77');
    await claim('third', 'a', another);
    expect(await server.command('HEXISTS', parts, '1000')).toBe(0);
  });

  test.each(['hincrby', 'hset', 'pexpire'])(
    'whose user may not use %s for a moment keeps a claim that was sent, and makes no part of a new one',
    async (name) => {
      const server = await start();
      const user = (...rules: string[]) => server.command('ACL', 'SETUSER', 'user', ...rules);
      await user('on', '>secret', '~*', '+@all');
      const claims = await openUsable(`redis://user:secret@127.0.0.1:${server.port}`);
      await claims.claim('sent', 'a');
      const changes = [() => claims.record('sent', 'a', 'outcome'), () => claims.claim('new', 'a')];
      for (const change of changes) {
        await user(`-${name}`);
        await expect(change()).rejects.toMatchObject({ reason: 'unauthorized' });
        await user(`+${name}`);
        await claims.becomes('claimed');
      }
      expect([await claims.find('sent'), await claims.find('new')]).toEqual([
        'in-flight',
        'claimed',
      ]);
    },
  );

  test('a record that another program wrote is corrupt', async () => {
    const server = await start();
    const { find } = await openUsable(server.url);
    const key = (name: string) => `{ledger-gateway}:key:${name}`;
    await server.command('HSET', key('hash'), 'version', 'another', 'text', '{}');
    await server.command('SET', key('string'), 'text');
    expect([await find('hash'), await find('string')]).toEqual(['corrupt', 'corrupt']);
  });
});

describeRedis('lost records', () => {
  type Server = Awaited<ReturnType<typeof start>>;
  test.each<[string, (server: Server) => Promise<unknown>]>([
    [
      'evicted keys',
      async ({ config, command }) => {
        await config('maxmemory', '1', 'maxmemory-policy', 'volatile-random');
        await expect(command('SET', 'another', 'x')).rejects.toThrow('OOM');
        await config('maxmemory', '0', 'maxmemory-policy', 'noeviction');
      },
    ],
    [
      'was a replica for a moment',
      async (server) => {
        const other = await start();
        await other.becomeReplicaOf(server);
        await other.command('REPLICAOF', 'NO', 'ONE');
        await other.command('DEL', '{ledger-gateway}:key:key'); // As if it had lagged behind.
        await server.becomeReplicaOf(other);
        await server.command('REPLICAOF', 'NO', 'ONE');
      },
    ],
    ['was emptied', ({ command }) => command('FLUSHALL')],
  ])('the very next claim notices that a server %s', async (_, lose) => {
    const { server, claims } = await startHolding(0);
    await lose(server);
    expect(await claims.find('key', { ageMs: 0 })).toBe('quarantine');
    expect(await claims.find('key', aged)).toBe('orphaned');
    expect(claims.losses).toHaveLength(1);
  });

  test('a server that restarted empty: ages are judged at once, and other keys after a quarantine', async () => {
    const { server, claims } = await startHolding();
    await server.stop();
    await start({ port: server.port });
    await claims.becomes('claimed');
    const restarted = await openUsable(server.url, QUARANTINE_MS);
    for (const each of [claims, restarted]) {
      expect(await findLost(each)).toEqual(['orphaned', 'quarantine']);
    }
    expect(claims.losses).toHaveLength(1);
  });

  test('an eviction policy is rejected until it is corrected, and evicted keys are a loss', async () => {
    checkOften();
    const { server, claims } = await startHolding();
    await server.config('maxmemory-policy', 'volatile-ttl', 'maxmemory', '1');
    await claims.becomes('evicting');
    await expect(claims.claim('new', 'a')).rejects.toMatchObject({
      message: expect.stringContaining('maxmemory-policy to noeviction (it is volatile-ttl)'),
    });
    await server.config('maxmemory-policy', 'noeviction', 'maxmemory', '0');
    await claims.becomes('claimed');
    expect(await claims.find('key', aged)).toBe('orphaned');
    expect(claims.losses).toHaveLength(1);
  });

  test('a new server is new, and has lost nothing', async () => {
    const claims = await openUsable((await start()).url, QUARANTINE_MS);
    expect(await claims.find('no age')).toBe('new');
    expect(claims.losses).toEqual([]);
  });

  test('a process that starts with the empty server waits for objections', async () => {
    checkOften();
    const server = await start();
    const claims = await openUsable(server.url, QUARANTINE_MS);
    await server.command('FLUSHALL');
    const newcomer = await openUsable(server.url, QUARANTINE_MS);
    expect(['new', 'quarantine']).toContain(await newcomer.find('no age'));
    await eventually(async () => expect(claims.losses).toHaveLength(1));
    // It learns of the loss at its next check. A key that it claimed before would stay claimed.
    await eventually(async () => expect(await newcomer.find('no age')).toBe('quarantine'));
  });

  test('a server that restarted from its log has its records, but older keys are not executed', async () => {
    const args = ['--appendonly', 'yes', '--appendfsync', 'always'];
    const { server, claims } = await startHolding(QUARANTINE_MS, args);
    await server.restart();
    await claims.becomes('claimed');
    expect(await claims.find('key')).toBe('in-flight');
    expect(await claims.find('not executed', aged)).toBe('orphaned');
  });
});

describeRedis('a server with replicas', () => {
  async function startPair() {
    const { server: primary, claims: earlier } = await startHolding();
    const replica = await start();
    await replica.becomeReplicaOf(primary);
    return { primary, replica, earlier, claims: await openUsable(primary.url, QUARANTINE_MS) };
  }

  test('a claim counts only when a replica has it; only the first replica that joins counts as a loss', async () => {
    checkOften();
    const { primary, replica, earlier } = await startPair();
    const second = await start();
    await second.becomeReplicaOf(primary);
    second.signal('SIGSTOP');
    replica.signal('SIGSTOP');
    await earlier.becomes('not_replicated');
    replica.signal('SIGCONT');
    await earlier.becomes('claimed');
    expect(earlier.losses).toHaveLength(1);
  });

  test('that is demoted, replaced and promoted again without a copy of what happened meanwhile has lost it, also if all gateways restarted', async () => {
    const { primary, replica, earlier, claims } = await startPair();
    for (const gateway of [earlier, claims]) await gateway.close();
    await primary.command('REPLICAOF', '127.0.0.1', String(await freePort()));
    await replica.command('REPLICAOF', 'NO', 'ONE');
    const meanwhile = await openUsable(replica.url, QUARANTINE_MS);
    await meanwhile.claim('meanwhile', 'a', meanwhile.later());
    await meanwhile.close();
    await replica.stop();
    await primary.command('REPLICAOF', 'NO', 'ONE');
    const restarted = await openUsable(primary.url, QUARANTINE_MS);
    expect(await restarted.find('meanwhile', aged)).toBe('orphaned');
    expect(await restarted.find('no age')).toBe('quarantine');
    expect(restarted.losses).toHaveLength(1);
  });

  test('a claim that was made, and whose confirmation fails, is released by its owner', async () => {
    const { primary } = await startPair();
    const user = (...rules: string[]) => primary.command('ACL', 'SETUSER', 'user', ...rules);
    await user('on', '>secret', '~*', '+@all');
    const url = `redis://user:secret@127.0.0.1:${primary.port}`;
    const claims = await openUsable(url, QUARANTINE_MS);
    await user('-wait');
    const lost = { name: 'ReplyLost', reason: 'unauthorized' };
    await expect(claims.claim('unconfirmed', 'a', claims.later())).rejects.toMatchObject(lost);
    await user('+wait');
    await eventually(() => claims.release('unconfirmed', 'a'));
    expect(await claims.find('unconfirmed', claims.later())).toBe('claimed');
  });

  test('a replica is rejected until it is promoted, with all claims', async () => {
    const { primary, replica, claims } = await startPair();
    const other = open(replica.url, QUARANTINE_MS);
    await other.becomes('read_only');
    await claims.claim('key', 'a', claims.later());
    await primary.stop();
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await other.becomes('claimed');
    expect(await other.find('key')).toBe('in-flight');
    expect(other.losses).toHaveLength(1);
  });
});
