import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { closeAfterTest } from '../../../../testkit/cleanup.ts';
import { eventually } from '../../../../testkit/eventually.ts';
import { isPgBouncerInstalled, startPgBouncer } from '../../../../testkit/pgbouncer.ts';
import { freePort } from '../../../../testkit/port.ts';
import {
  isPostgresInstalled,
  type PostgresServer,
  startPostgres,
} from '../../../../testkit/postgres.ts';
import { startTcp } from '../../../../testkit/tcp-server.ts';
import { ReplyLost } from '../../src/store.ts';
import { postgresOptions } from '../../src/stores/postgres-connections.ts';
import { PostgresStore } from '../../src/stores/postgres-store.ts';
import { errorMessage, startPostgresProxy } from '../support/postgres-proxy.ts';
import { claimsOnServer, whenUsable } from '../support/server-claims.ts';

const aged = { ageMs: 60_000 };

const createTable = `CREATE TABLE ledger_gateway_record (key text PRIMARY KEY, version text NOT NULL,
  caller text, text text NOT NULL, expires_at timestamptz NOT NULL)`;

const open = (url: string, maxBytes = Infinity, quarantineMs = 60_000) =>
  claimsOnServer(new PostgresStore({ url, maxBytes }), quarantineMs);

const openUsable = (url: string, quarantineMs?: number) =>
  whenUsable(open(url, undefined, quarantineMs));

/** What the log says of a store that cannot be used. */
const failureOf = (url: string) =>
  open(url)
    .claim('key', 'a')
    .then(
      () => 'none',
      ({ reason, message }) => `${reason}: ${message}`,
    );

if (!isPostgresInstalled) {
  process.stderr.write('The PostgreSQL tests are skipped: no server is installed.\n');
}
if (!isPgBouncerInstalled) process.stderr.write('The tests with PgBouncer are skipped.\n');
const describePostgres = isPostgresInstalled ? describe : describe.skip;
const describePgBouncer = isPgBouncerInstalled ? describe : describe.skip;
const testPgBouncer = isPgBouncerInstalled ? test : test.skip;

/** Waits until so many commits wait for a standby. */
async function whenWaiting({ query }: PostgresServer, count: number) {
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  await eventually(async () => expect(await query(waiting)).toHaveLength(count));
}

/** Ends the replication from the primary to a standby that has its records of completeness. */
async function cutOff(standby: PostgresServer) {
  const records = "SELECT FROM ledger_gateway_record WHERE key = 'complete-since'";
  await eventually(async () => expect(await standby.query(records)).toHaveLength(1));
  await standby.set('primary_conninfo', '');
  const receivers = 'SELECT FROM pg_stat_wal_receiver';
  await eventually(async () => expect(await standby.query(receivers)).toEqual([]));
}

/** Claims so many keys, by about half as many statements. Returns the different results. */
async function claimAtOnce(claims: ReturnType<typeof open>, count: number) {
  const claiming: Promise<unknown>[] = [];
  for (let n = 0; n < count; n++) {
    claiming.push(claims.probe());
    await new Promise(setImmediate);
  }
  return [...new Set(await Promise.all(claiming))];
}

const synchronous = { synchronous_standby_names: 'standby' };

async function startPair(settings: Record<string, string> = synchronous) {
  const primary = await startPostgres({ settings });
  const standby = await startPostgres({ primary, settings: { synchronous_standby_names: '' } });
  const states = () => primary.query('SELECT state FROM pg_stat_replication');
  await eventually(async () => expect(await states()).toEqual([{ state: 'streaming' }]));
  return { primary, standby, proxy: await startPostgresProxy(primary) };
}

/** Cancels the commits of a claim and of a read, which wait for the standby. */
async function cancelCommits(
  claims: ReturnType<typeof open>,
  { primary, standby }: Awaited<ReturnType<typeof startPair>>,
) {
  standby.pause();
  const uses = [claims.claim('key', 'a', claims.later()), claims.store.read('key')];
  const lost = Promise.all(uses.map((use) => expect(use).rejects.toThrow(ReplyLost)));
  await whenWaiting(primary, 2);
  const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  await primary.query(`SELECT pg_cancel_backend(pid) ${waiting}`);
  await lost;
}

test.each([
  ['+ a', true],
  ['+ "my-standby"', true],
  ['+ FIRST 1 (a)', true],
  ['+ 2 (a, b)', true],
  ['+ ANY 2 (a, "b")', true],
  ['+ ANY 1 (a, b)', false],
  ['+ FIRST 1 (a, b)', false],
  ['+ a, b', false],
  ['+ 2 (a, b, c)', false],
  ['+ *', false],
  ['+ 2 (*)', false],
  ['+ 2 (a, A)', false],
  ['+ "a, b"', false],
  ['', false],
  ['+sync', false], // Written by version 1.0.0, which did not distinguish them.
])(
  'a server that was promoted after "%s" certainly has all records: %s',
  async (names, isCertain) => {
    const url = `postgres://127.0.0.1:${await freePort()}/postgres`;
    const store = new PostgresStore({ url, maxBytes: Infinity });
    closeAfterTest(() => store.close());
    const reading = { entry: null, now: 0, serverId: '00000002' };
    expect(store.isContinuation(`00000001${names}`, reading)).toBe(isCertain);
    expect(store.isContinuation(`00000002${names}`, reading)).toBe(true);
  },
);

test.each([
  ['sslmode=require&sslrootcert=/ca.pem', 'sslmode=verify-full&sslrootcert=/ca.pem', false],
  ['sslcert=/a.pem&sslmode=prefer', 'sslcert=/a.pem&sslmode=verify-full', false],
  ['sslmode=require&uselibpqcompat=true', 'sslmode=require&uselibpqcompat=true', false],
  ['sslmode=disable', 'sslmode=disable', false],
  ['enableChannelBinding=true', 'enableChannelBinding=true', true],
])('the parameters %s mean %s for pg, with channel binding: %s', (given, used, isBound) => {
  expect(postgresOptions(`postgres://h/db?${given}`)).toMatchObject({
    connectionString: `postgres://h/db?${used}`,
    enableChannelBinding: isBound,
  });
});

test('an unreachable server rejects claims', async () => {
  const claims = open(`postgres://127.0.0.1:${await freePort()}/postgres`);
  await expect(claims.claim('key', 'a')).rejects.toMatchObject({
    reason: 'unreachable',
    message: 'No connection to PostgreSQL: ECONNREFUSED',
  });
  expect(claims.usage()).toBeUndefined();
});

test.each([
  ['57P03', 'loading', 'PostgreSQL reports the error 57P03: fails for …'],
  ['57P01', 'unreachable', 'PostgreSQL reports the error 57P01: fails for …'],
  ['28P01', 'unauthorized', 'PostgreSQL reports the error 28P01: fails for …'],
  ['53300', 'failed', 'PostgreSQL reports the error 53300: fails for …'],
])('a server that rejects connections with %s is %s', async (code, reason, message) => {
  const { url } = await startTcp((socket) => {
    socket.once('data', () => socket.end(errorMessage('FATAL', code)));
  });
  const claims = open(`${url.replace('http', 'postgres')}postgres`);
  await expect(claims.claim('key', 'a')).rejects.toMatchObject({ reason, message });
});

describePostgres('a PostgreSQL server', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  beforeEach(() => server.query('DROP TABLE IF EXISTS ledger_gateway_record'));

  /** Executes statements with a pause, in which they are when this resolves. */
  async function startSleeping({ query }: PostgresServer, statements: string) {
    const ended = query(statements).catch(() => {}); // The server may end before.
    const sleeping = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    await eventually(async () => expect(await query(sleeping)).toHaveLength(1));
    return { ended };
  }

  test('on a socket is used', async () => {
    const claims = await openUsable(server.socketUrl);
    await claims.claim('key', 'a', claims.later());
    expect(await claims.find('key')).toBe('in-flight');
  });

  test('that restarts keeps all records and is used again, also where commits do not wait for the disk', async () => {
    const server = await startPostgres({
      settings: { synchronous_commit: 'off', wal_writer_delay: '10s' },
    });
    const claims = await openUsable(server.url);
    await claims.claim('key', 'a', claims.later());
    await server.restart();
    await claims.becomes('claimed');
    expect(await claims.find('key')).toBe('in-flight');
    expect(claims.losses).toEqual([]);
    await eventually(async () => expect(claims.usage()?.bytes).toBeGreaterThan(0));
  });

  test('that ends while a claim waits loses its reply', async () => {
    const server = await startPostgres();
    const claims = await openUsable(server.url);
    const locking = 'LOCK ledger_gateway_record; SELECT pg_sleep(60)';
    const { ended } = await startSleeping(server, locking);
    const claiming = expect(claims.claim('key', 'a')).rejects.toMatchObject({ name: 'ReplyLost' });
    await server.kill();
    await Promise.all([claiming, ended]);
  });

  test.each([
    ['53100', 'its disk is full'],
    ['58030', 'its disk fails'],
  ])(
    'that panics with %s, because %s, may have made the claim, which is released',
    async (code) => {
      const proxy = await startPostgresProxy(server);
      const claims = await openUsable(proxy.url);
      proxy.losing = 'swapped';
      proxy.lastWords = errorMessage('PANIC', code);
      await expect(claims.claim('key', 'a', claims.later())).rejects.toThrow(ReplyLost);
      await eventually(() => claims.release('key', 'a'));
      expect(await claims.find('key', claims.later())).toBe('claimed');
    },
  );

  test('whose table was dropped, emptied, or restored from a dump has lost records', async () => {
    const claims = await openUsable(server.url);
    const restore = `CREATE TEMP TABLE dump AS TABLE ledger_gateway_record;
      DELETE FROM dump WHERE caller IS NOT NULL; TRUNCATE ledger_gateway_record;
      INSERT INTO ledger_gateway_record SELECT * FROM dump`;
    const empty = 'TRUNCATE ledger_gateway_record';
    const drop = 'DROP TABLE ledger_gateway_record';
    for (const [n, statements] of [drop, empty, restore].entries()) {
      await claims.claim(`key ${n}`, 'a', claims.later());
      await server.query(statements);
      await claims.becomes('claimed');
      expect(await claims.find(`key ${n}`, aged)).toBe('orphaned');
      expect(await claims.find('no age')).toBe('quarantine');
    }
    expect(claims.losses).toHaveLength(3);
  });

  test('whose dump is restored into another cluster has lost what came after it, although the ids of transactions are the same', async () => {
    const restored = await startPostgres({ isOwnCluster: true });
    const burn = 'SELECT pg_current_xact_id()::text::int AS id';
    // The ids of the other cluster must still be smaller when it has its table.
    for (let n = 0; n < 10; n++) await server.query(burn);
    const proxy = await startPostgresProxy(server);
    const claims = await openUsable(proxy.url);
    const dump = 'SELECT json_agg(record) AS rows FROM ledger_gateway_record AS record';
    const [{ rows } = {}] = await server.query(dump);
    await claims.claim('key', 'a', claims.later());
    const written = 'SELECT xmin::text::int AS id FROM ledger_gateway_record WHERE caller IS NULL';
    const [{ id } = {}] = await server.query(written);
    await restored.query(createTable);
    await restored.query(`DO $$ BEGIN
      WHILE pg_current_xact_id()::text::int < ${Number(id) - 1} LOOP COMMIT; END LOOP;
    END $$`);
    const columns = 'json_populate_recordset(NULL::ledger_gateway_record';
    const restore = `INSERT INTO ledger_gateway_record SELECT * FROM ${columns}, '${JSON.stringify(rows)}')`;
    await restored.query(restore);
    expect(await restored.query(written)).toEqual([{ id }]);
    const newcomer = open(restored.url);
    proxy.server = restored;
    await server.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ledger-gateway'",
    );
    for (const gateway of [newcomer, claims]) {
      await gateway.becomes('claimed');
      expect(await gateway.find('key', aged)).toBe('orphaned');
      expect(await gateway.find('no age')).toBe('quarantine');
      expect(gateway.losses).toHaveLength(1);
    }
  });

  test('whose record of completeness was written by version 1.0.0 has lost nothing, and is bound to its cluster', async () => {
    const earlier = await openUsable(server.url);
    await earlier.claim('key', 'a', earlier.later());
    await earlier.close();
    // The statement keeps the version, which has to name its transaction.
    await server.query(`UPDATE ledger_gateway_record SET text = (text::jsonb - 'history')::text,
      version = 'v:' || pg_current_xact_id()::xid WHERE caller IS NULL`);
    const claims = await openUsable(server.url);
    expect(await claims.find('key')).toBe('in-flight');
    expect(claims.losses).toEqual([]);
    const bound =
      "SELECT text::jsonb ->> 'history' AS history FROM ledger_gateway_record WHERE caller IS NULL";
    const cluster = 'SELECT system_identifier::text AS history FROM pg_control_system()';
    expect(await server.query(bound)).toEqual(await server.query(cluster));
  });

  test('whose records are deleted executes no key twice meanwhile', async () => {
    const claims = await openUsable(server.url, 0);
    await claims.claim('key', 'a', claims.later());
    const deleting = 'BEGIN; DELETE FROM ledger_gateway_record; SELECT pg_sleep(0.4); COMMIT';
    const { ended } = await startSleeping(server, deleting);
    expect(await claims.find('key', { ageMs: 0 })).toBe('quarantine');
    await ended;
    expect(claims.losses).toHaveLength(1);
  });

  test('that replies late to a change does not make the store forget a later one', async () => {
    const store = new PostgresStore({ url: server.url, maxBytes: Infinity });
    closeAfterTest(() => store.close());
    const { now, serverId, history } = await store.read('first');
    const times = { validUntil: now + 30_000, retentionMs: 60_000 };
    const basis = { serverId, history, generation: null, ...times };
    const swap = (key: string, version: string, expected: string | null = null) => {
      const next = { version, text: '{}' };
      return store.swap({ key, expected, next, caller: 'caller', needsRoom: false, basis });
    };
    await swap('first', 'one');
    const lock = "SELECT FROM ledger_gateway_record WHERE key = 'first' FOR UPDATE";
    const { ended } = await startSleeping(server, `BEGIN; ${lock}; SELECT pg_sleep(0.5); COMMIT`);
    const late = swap('first', 'two', 'one');
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await eventually(async () => expect(await server.query(waiting)).toHaveLength(1));
    const write = "SELECT pg_logical_emit_message(false, '', '')::text AS lsn";
    const [between] = await server.query(write);
    expect(await swap('second', 'one')).toBe('swapped');
    const [after] = await server.query(write);
    await ended;
    expect(await late).toBe('swapped');
    const isContinuation = (lsn: unknown) => {
      const reading = { entry: null, now, serverId: '00000002+ a', replayedTo: String(lsn) };
      return store.isContinuation('00000001+ a', reading);
    };
    expect(isContinuation(between?.lsn)).toBe(false);
    expect(isContinuation(after?.lsn)).toBe(true);
  });

  test('whose table another gateway creates at the same moment is used', async () => {
    const creating = `DROP TABLE IF EXISTS ledger_gateway_record; ${createTable}; SELECT pg_sleep(0.3)`;
    const { ended } = await startSleeping(server, creating);
    const store = new PostgresStore({ url: server.url, maxBytes: Infinity });
    closeAfterTest(() => store.close());
    expect(await store.read('key')).toMatchObject({ entry: null });
    await ended;
  });

  test('that reports that another gateway has just created the table uses it', async () => {
    // The table appears after the server has looked for it, and before it creates it.
    await server.query(`CREATE FUNCTION appears() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('application_name') = 'ledger-gateway' THEN
          PERFORM pg_sleep(0.5);
          RAISE EXCEPTION USING ERRCODE = 'duplicate_table';
        END IF;
      END $$;
      DROP TABLE IF EXISTS ledger_gateway_record;
      CREATE EVENT TRIGGER appears ON ddl_command_start EXECUTE FUNCTION appears()`);
    const store = new PostgresStore({ url: server.url, maxBytes: Infinity });
    closeAfterTest(() => store.close());
    const reading = store.read('key');
    const sleeping = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    await eventually(async () => expect(await server.query(sleeping)).not.toHaveLength(0));
    await server.query(createTable);
    expect(await reading).toMatchObject({ entry: null });
    await server.query('DROP EVENT TRIGGER appears; DROP FUNCTION appears');
  });

  test.each([
    [
      'is read-only',
      'ALTER DATABASE other SET default_transaction_read_only = on',
      'read_only: PostgreSQL reports the error 25006: the server is a standby, or default_transaction_read_only is on for the server, the database or the role',
    ],
    [
      'has no schema',
      "ALTER DATABASE other SET search_path = 'missing'",
      'no_database: PostgreSQL reports the error 3F000: no schema of the search_path exists. Create one, or change the search_path of the role',
    ],
    [
      'does not exist',
      'ALTER DATABASE other RENAME TO another',
      'no_database: PostgreSQL reports the error 3D000: the database that the URL names does not exist',
    ],
  ])('says that a database %s', async (_, statement, message) => {
    await server.query('DROP DATABASE IF EXISTS other');
    await server.query('CREATE DATABASE other');
    await server.query(statement);
    expect(await failureOf(server.url.replace(/postgres$/, 'other'))).toBe(message);
  });

  test('says which right its role lacks', async () => {
    await server.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    await server.query(createTable);
    await server.query('CREATE ROLE unprivileged LOGIN');
    await server.query('GRANT ALL ON ledger_gateway_record TO unprivileged');
    expect(await failureOf(server.url.replace('postgres@', 'unprivileged@'))).toBe(
      'unauthorized: PostgreSQL reports the error 42501: permission denied for function pg_control_system. The role needs SELECT, INSERT, UPDATE and DELETE on the tables ledger_gateway_*, and EXECUTE on pg_control_system()',
    );
    await server.query('GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC');
  });

  test.each(['SELECT', 'INSERT', 'UPDATE', 'DELETE'])(
    'says at the start that its role may not %s, although it has records',
    async (right) => {
      await openUsable(server.url);
      await server.query('DROP ROLE IF EXISTS lacking');
      await server.query(`CREATE ROLE lacking LOGIN;
        GRANT ALL ON ledger_gateway_record TO lacking; REVOKE ${right} ON ledger_gateway_record FROM lacking`);
      const store = new PostgresStore({
        url: server.url.replace('postgres@', 'lacking@'),
        maxBytes: Infinity,
      });
      closeAfterTest(() => store.close());
      await expect(store.read('complete-since')).rejects.toMatchObject({
        reason: 'unauthorized',
        message: expect.stringContaining('permission denied for table ledger_gateway_record. The'),
      });
      await server.query('DROP OWNED BY lacking');
    },
  );

  test.each([
    [
      'sslmode=require',
      'PostgreSQL, or its pooler, has no TLS, which the URL asks for. Turn it on there',
    ],
    ['sslrootcert=/missing.pem', 'A file that sslrootcert, sslcert or sslkey in the URL names'],
    ['options=-c%20geqo=secret', 'PostgreSQL reports the error 22023: parameter … requires'],
    ['host=/missing', 'No connection to PostgreSQL: ENOENT'],
  ])('says what is wrong with the parameter %s', async (parameter, message) => {
    expect(await failureOf(`${server.url}?${parameter}`)).toContain(`: ${message}`);
  });

  test('that does not permit to create the table asks for it', async () => {
    await server.query('CREATE ROLE gateway LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    const claims = open(server.url.replace('postgres@', 'gateway@'));
    await expect(claims.claim('key', 'a')).rejects.toMatchObject({
      reason: 'no_table',
      message: expect.stringContaining('CREATE TABLE IF NOT EXISTS ledger_gateway_record'),
    });
  });

  test('that fills up leaves room to other callers than those with the most keys', async () => {
    const first = await openUsable(server.url);
    await first.claim('large', 'a', first.later());
    const fill = `UPDATE ledger_gateway_record SET text = (
      SELECT string_agg(md5(n::text), '') FROM generate_series(1, 32768) n) WHERE caller IS NOT NULL`;
    await server.query(fill);
    const claims = open(server.url, 2 ** 20);
    await claims.becomes('share');
    expect(await claims.probe({ caller: 'another' })).toBe('claimed');
  });

  test('whose encoding lacks a character of an outcome records it', async () => {
    await server.query("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    const claims = await openUsable(server.url.replace(/postgres$/, 'latin'));
    await claims.claim('key', 'a', claims.later());
    const outcome = { message: 'für 5 € 🏭' };
    await claims.record('key', 'a', outcome);
    expect(await claims.find('key')).toEqual(outcome);
  });

  test('deletes expired keys', async () => {
    await openUsable(server.url);
    const expire = `INSERT INTO ledger_gateway_record (key, version, text, expires_at)
      SELECT n::text, 'v', 't', now() - interval '1 s' FROM generate_series(1, 2500) n`;
    await server.query(expire);
    open(server.url);
    const count = "SELECT count(*)::int AS n FROM ledger_gateway_record WHERE version = 'v'";
    await eventually(async () => expect(await server.query(count)).toEqual([{ n: 0 }]));
  });

  test('with a synchronous standby loses nothing when that is promoted', async () => {
    const { primary, standby, proxy } = await startPair();
    const claims = await openUsable(proxy.url);
    await claims.claim('key', 'a', claims.later());
    await primary.kill();
    proxy.server = standby;
    await claims.becomes('read_only');
    standby.promote();
    await claims.becomes('claimed');
    const other = await openUsable(standby.url);
    for (const gateway of [claims, other]) {
      expect(await gateway.find('key')).toBe('in-flight');
      expect(gateway.losses).toEqual([]);
    }
  });

  test('with a quorum of standbys may have lost records when one of them is promoted', async () => {
    const settings = { synchronous_standby_names: 'ANY 1 (a, b)' };
    const primary = await startPostgres({ settings });
    await startPostgres({ primary, name: 'a' });
    const standby = await startPostgres({ primary, name: 'b' });
    const claims = await openUsable(primary.url);
    await cutOff(standby);
    await claims.claim('key', 'a', claims.later());
    await primary.kill();
    standby.promote();
    await standby.set('synchronous_standby_names', '');
    const other = await openUsable(standby.url);
    expect(other.losses).toHaveLength(1);
  });

  test('whose standby was not synchronous any more lost records when that is promoted, if a gateway knows it', async () => {
    const { primary, standby, proxy } = await startPair();
    const claims = await openUsable(proxy.url);
    await cutOff(standby);
    const waiting = claims.probe();
    await whenWaiting(primary, 1);
    await primary.set('synchronous_standby_names', '');
    expect(await waiting).toBe('claimed');
    await primary.kill();
    standby.promote();
    // Another gateway, which does not know it, is there first.
    await openUsable(standby.url);
    proxy.server = standby;
    await eventually(async () => expect(claims.losses).toHaveLength(1));
  });

  test('with an additional standby that lags lost records when that is promoted, if a gateway has changed them', async () => {
    const { primary, proxy } = await startPair();
    const claims = await openUsable(proxy.url);
    const lagging = await startPostgres({ primary, name: 'lagging' });
    await cutOff(lagging);
    await claims.claim('key', 'a', claims.later());
    await primary.kill();
    lagging.promote();
    await lagging.set('synchronous_standby_names', '');
    await openUsable(lagging.url);
    proxy.server = lagging;
    await eventually(async () => expect(claims.losses).toHaveLength(1));
  });

  test('that is frozen has the time to receive requests to cancel', async () => {
    const proxy = await startPostgresProxy(server);
    const claims = await openUsable(proxy.url);
    server.pause();
    for (let n = 0; n < 3; n++) expect(await claims.probe()).toBe('timeout');
    expect(proxy.cancels[0]?.socket.closed).toBe(false);
    server.resume();
    await claims.becomes('claimed');
  });

  test('with an asynchronous standby may have lost records when that is promoted', async () => {
    const { primary, standby } = await startPair({ synchronous_standby_names: '' });
    await openUsable(primary.url);
    await eventually(async () => {
      const rows = await standby.query('SELECT count(*)::int AS n FROM ledger_gateway_record');
      expect(rows[0]?.n).toBeGreaterThan(0);
    });
    await primary.kill();
    standby.promote();
    const other = await openUsable(standby.url);
    expect(await other.find('unused', aged)).toBe('orphaned');
    expect(other.losses).toHaveLength(1);
  });

  describe('with a synchronous standby that is not promoted', () => {
    let pair: Awaited<ReturnType<typeof startPair>>;
    beforeAll(async () => {
      pair = await startPair({ ...synchronous, client_min_messages: 'error' });
    });
    beforeEach(async () => {
      pair.standby.resume(); // A test may have paused it.
      await pair.primary.query('DROP TABLE IF EXISTS ledger_gateway_record');
    });

    test('that confirms a commit without it, because that was cancelled, loses the reply', async () => {
      await cancelCommits(await openUsable(pair.primary.url), pair);
    });

    test('that receives a request to cancel late cancels no other claim', async () => {
      const { primary, standby } = pair;
      const proxy = await startPostgresProxy(primary);
      const claims = await openUsable(proxy.url);
      proxy.holdsCancels = true;
      standby.pause();
      await expect(claims.claim('first', 'a', claims.later())).rejects.toThrow(ReplyLost);
      await eventually(async () => expect(proxy.cancels).toHaveLength(1));
      standby.resume();
      await claims.becomes('claimed');
      standby.pause();
      const claiming = claimAtOnce(claims, 40); // They need all connections.
      const isOver = claiming.then(() => true);
      const deliver = () => proxy.deliverCancel().then(() => false);
      while (!(await Promise.race([isOver, deliver()])));
      expect(await claiming).toEqual(['timeout']);
    });

    test('frees a key whose claim was still waiting for a standby that pauses', async () => {
      const { primary, standby } = pair;
      const claims = await openUsable(primary.url);
      const [receiver] = await standby.query('SELECT pid FROM pg_stat_wal_receiver');
      const pid = Number(receiver?.pid);
      process.kill(pid, 'SIGSTOP');
      await expect(claims.claim('key', 'a', claims.later())).rejects.toThrow(ReplyLost);
      await expect(claims.release('key', 'a')).rejects.toMatchObject({ reason: 'timeout' });
      process.kill(pid, 'SIGCONT');
      await eventually(() => claims.release('key', 'a'));
      expect(await claims.find('key')).not.toBe('in-flight');
      expect(await claims.find('key', claims.later())).toBe('claimed');
    });

    test('whose standby hangs answers nothing, with at most ten backends of a gateway, until that goes on', async () => {
      const { primary, standby } = pair;
      const claims = await openUsable(primary.url);
      standby.pause();
      const backends = async () => {
        const count =
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'ledger-gateway'";
        return Number((await primary.query(count))[0]?.n);
      };
      const before = await backends();
      const counts: number[] = [];
      for (let round = 0; round < 3; round++) {
        expect(await claimAtOnce(claims, 24)).toEqual(['timeout']);
        counts.push(await backends());
      }
      expect(Math.max(...counts) - before).toBeLessThanOrEqual(10);
      for (let n = 0; n < 2; n++) {
        await expect(claims.settle('key', 0)).rejects.toMatchObject({ reason: 'timeout' });
      }
      standby.resume();
      await claims.becomes('claimed');
      await claims.settle('key', 0);
      expect((await backends()) - before).toBeLessThanOrEqual(10);
    });

    testPgBouncer(
      'behind PgBouncer loses the reply, too, because that passes on what was confirmed',
      async () => {
        const { url } = await startPgBouncer(pair.primary);
        await cancelCommits(await openUsable(url), pair);
      },
    );
  });

  describePgBouncer('behind PgBouncer', () => {
    test('rejects a connection in its own words', async () => {
      const { url } = await startPgBouncer(server);
      const failures = [
        [url.replace(/postgres$/, 'missing'), 'no such database: missing'],
        [url.replace('postgres@', 'nobody@'), '… authentication failed'],
        [`${url}?options=-c%20geqo=off`, 'unsupported startup parameter: options'],
        [url.replace(/postgres$/, 'behind'), 'database … does not exist'],
      ] as const;
      for (const [url, words] of failures) {
        expect(await failureOf(url)).toBe(`failed: PostgreSQL reports the error 08P01: ${words}`);
      }
    });

    test('does not respond while its server is away', async () => {
      const { url } = await startPgBouncer({ port: await freePort() });
      expect(await failureOf(url)).toBe(
        'timeout: PostgreSQL, or the server behind its pooler, does not respond within 1000 ms',
      );
    });

    test('loses the reply if its connection to the server breaks', async () => {
      const proxy = await startPostgresProxy(server);
      const claims = await openUsable((await startPgBouncer(proxy)).url);
      proxy.losing = 'swapped';
      await expect(claims.claim('key', 'a', claims.later())).rejects.toThrow(ReplyLost);
      await eventually(() => claims.release('key', 'a'));
      expect(await claims.find('key', claims.later())).toBe('claimed');
    });

    test('goes on with a server that was frozen', async () => {
      const bouncer = await startPgBouncer(server);
      const claims = await openUsable(bouncer.url);
      server.pause();
      for (let n = 0; n < 4; n++) expect(await claims.probe()).toBe('timeout');
      server.resume();
      await claims.becomes('claimed');
      expect(bouncer.isRunning()).toBe(true);
    });
  });
});
