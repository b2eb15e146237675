import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { escapeJson } from '../../../../src/lib/json.ts';
import {
  byIteration,
  type Change,
  COMPLETENESS_KEY,
  type Entry,
  type IdempotencyStore,
  type Reading,
  ReplyLost,
  StoreUnavailable,
  type SwapResult,
  shareOf,
  type UnavailableReason,
  type Usage,
} from '../store.ts';

/** The time to connect, and for each statement. */
const TIMEOUT_MS = 1000;
const SWEEP_ROWS = 1000;
/** What a row and its index entries take besides the text. */
const ROW_BYTES = 300;

/** Creates the table. If the role may not do this, the log asks an administrator to execute it. */
const TABLE = `CREATE TABLE IF NOT EXISTS ledger_gateway_record (
  key text PRIMARY KEY,
  version text NOT NULL,
  caller text,
  text text NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS ledger_gateway_record_expiry ON ledger_gateway_record (expires_at);`;

/**
 * The timeline of the server, which is new after each promotion of a standby, and the standbys for which commits wait,
 * such as `00000001+ FIRST 1 (a)`. Version 1.0.0 writes `00000001+sync`, and understands this as the same server, so both
 * may use a table at the same time. A standby reports an error.
 */
const SERVER_ID = `substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
  || coalesce('+ ' || nullif(current_setting('synchronous_standby_names'), ''), '')`;

/** The identity of the cluster, which `initdb` creates. A dump that is restored into another cluster does not have it. */
const HISTORY = '(SELECT system_identifier::text FROM pg_control_system())';

/**
 * Makes the statement durable when it ends, also where other transactions do not wait for that. If somebody cancels the
 * wait for the standby, PostgreSQL confirms the commit nevertheless, with a warning. So the statement asks for warnings.
 */
const DURABLE = `
  WITH durable AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true), set_config('client_min_messages', 'warning', true),
      pg_current_wal_insert_lsn() AS lsn
  )`;

/**
 * Whether a row is the one that a gateway wrote. The version of the entry of completeness ends with the id of the transaction
 * that wrote it. If the row was restored from a dump, another transaction wrote it.
 */
const IS_ORIGINAL = `(record.key <> '${COMPLETENESS_KEY}' OR split_part(record.version, ':', 2) = record.xmin::text)`;

/**
 * Reads an entry. What this server has committed may not have reached the standby yet. So where commits wait for a standby,
 * the read of a key takes a lock: then it ends when the standby has everything that was read.
 */
const READ = `${DURABLE}, awaited AS MATERIALIZED (
    SELECT FROM durable, ledger_gateway_record AS record WHERE key = '${COMPLETENESS_KEY}' AND $1 <> key
      AND current_setting('synchronous_standby_names') <> '' FOR KEY SHARE OF record
  )
  SELECT ${SERVER_ID} AS "serverId", ${HISTORY} AS history, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now, version, text,
    pg_last_wal_replay_lsn() AS "replayedTo"
  FROM (SELECT count(*) FROM awaited) AS one
  LEFT JOIN ledger_gateway_record AS record ON key = $1 AND expires_at > now() AND ${IS_ORIGINAL}`;

/**
 * Makes changes of different keys, which are a JSON array, and returns which of them were made. Changes whose basis is not
 * true any more, or whose time is over, are left out. The time is read after the statement has waited for its lock. The
 * entry of completeness is locked, so that a DELETE of all rows takes effect either before or after the whole statement.
 */
const CHANGE = `${DURABLE}, own AS MATERIALIZED (
    SELECT version FROM ledger_gateway_record AS record
    WHERE key = '${COMPLETENESS_KEY}' AND ${IS_ORIGINAL} FOR KEY SHARE
  ), input AS MATERIALIZED (
    SELECT lsn, key, expected, text, caller, coalesce(now() + "retentionMs" * interval '1 ms', 'infinity') AS expires_at,
      version || CASE WHEN key = '${COMPLETENESS_KEY}' THEN ':' || pg_current_xact_id()::xid ELSE '' END AS version
    FROM durable, json_to_recordset($1) AS change (key text, expected text, version text, text text, caller text,
      "retentionMs" float8, "serverId" text, history text, generation text, "validUntil" float8)
    WHERE "serverId" = ${SERVER_ID} AND history = ${HISTORY} AND CASE WHEN generation IS NULL OR generation IN (SELECT version FROM own)
      THEN clock_timestamp() <= to_timestamp("validUntil" / 1000) END
    ORDER BY key
  ), inserted AS (
    INSERT INTO ledger_gateway_record AS record (key, version, text, caller, expires_at)
    SELECT key, version, text, caller, expires_at FROM input WHERE expected IS NULL AND version IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, text = excluded.text,
      caller = excluded.caller, expires_at = excluded.expires_at
      WHERE record.expires_at <= now() OR NOT ${IS_ORIGINAL} RETURNING record.key
  ), updated AS (
    UPDATE ledger_gateway_record AS record
    SET version = input.version, text = input.text, expires_at = input.expires_at FROM input
    WHERE record.key = input.key AND record.version = input.expected AND input.version IS NOT NULL
    RETURNING record.key
  ), deleted AS (
    DELETE FROM ledger_gateway_record AS record USING input
    WHERE record.key = input.key AND record.version = input.expected AND input.version IS NULL
    RETURNING record.key
  )
  SELECT key, CASE WHEN key IN (SELECT * FROM inserted UNION ALL SELECT * FROM updated UNION ALL SELECT * FROM deleted)
    THEN 'swapped' ELSE 'other' END AS result, lsn FROM input`;
const SWEEP = `DELETE FROM ledger_gateway_record WHERE key IN (SELECT key FROM ledger_gateway_record
  WHERE expires_at <= now() LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED)`;
const USAGE = `SELECT greatest(reltuples, 0)::float8 AS keys, pg_total_relation_size(oid)::float8 AS bytes,
  pg_relation_size(oid)::float8 AS "rowBytes" FROM pg_class WHERE oid = 'ledger_gateway_record'::regclass`;
/** The callers that hold more than `$2` bytes, estimated from a sample of `$1` percent of the table. */
const LARGEST_CALLERS = `SELECT caller FROM ledger_gateway_record TABLESAMPLE SYSTEM ($1) WHERE caller IS NOT NULL
  GROUP BY caller HAVING sum(pg_column_size(text) + ${ROW_BYTES}) * 100 > $2 * $1`;

const readSchema = z.tuple([
  z.object({
    serverId: z.string(),
    history: z.string(),
    now: z.number(),
    version: z.string().nullable(),
    text: z.string().nullable(),
    replayedTo: z.string().nullable(),
  }),
]);
const swapResult = z.enum(['swapped', 'other']);
const changesSchema = z.array(z.object({ key: z.string(), result: swapResult, lsn: z.string() }));
const usageSchema = z.tuple([
  z.object({ keys: z.number(), bytes: z.number(), rowBytes: z.number() }),
]);
const callersSchema = z.array(z.object({ caller: z.string() }));

const READ_ONLY =
  'the server is a standby, or default_transaction_read_only is on for the server, the database or the role';

/** What errors mean: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const reasons: Record<string, [reason: UnavailableReason, meaning?: string]> = {
  // Another process creates the table at the same time.
  '23505': ['loading'],
  '42710': ['loading'],
  '42P07': ['loading'],
  '25006': ['read_only', READ_ONLY],
  '28000': ['unauthorized'],
  '28P01': ['unauthorized'],
  '3D000': ['no_database', 'the database that the URL names does not exist'],
  '3F000': [
    'no_database',
    'no schema of the search_path exists. Create one, or change the search_path of the role',
  ],
  '42501': ['unauthorized'],
  '42P01': ['no_table'],
  '53100': ['full'],
  '53200': ['full'],
  '55000': ['read_only', READ_ONLY], // A standby has no current place in the log.
  XX000: [
    'failed',
    'an internal error, which the log of the server explains. pgpool in native replication mode is not supported',
  ],
};

/**
 * Keeps keys in PostgreSQL, for several gateways. The changes of one iteration of the event loop are one statement,
 * committed before they are confirmed. The table is created when it is missing.
 */
export class PostgresStore implements IdempotencyStore {
  readonly #maxBytes: number;
  readonly #pool: pg.Pool;
  readonly #timer: NodeJS.Timeout;
  readonly #batch = byIteration((changes: readonly Change[]) => this.#change(changes));
  usage: Usage | undefined;
  /** The place in the log of the server where the last change of a key by this process began. It ends beyond that. */
  #changedAt: string | undefined;
  /** The connections on which the server has sent a warning. */
  readonly #warned = new WeakSet<pg.PoolClient>();
  /** The callers that hold more than their share. */
  #largestCallers = new Set<string | null>();

  /** @param options `maxBytes` is shared out among callers when three quarters of it are used */
  constructor({ url, maxBytes }: { url: string; maxBytes: number }) {
    this.#maxBytes = maxBytes;
    this.#pool = new pg.Pool({
      connectionString: url,
      max: 10,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      keepAlive: true,
      application_name: 'ledger-gateway',
    });
    // A connection that breaks fails its statement, and is removed.
    const ignore = () => {};
    this.#pool.on('error', ignore).on('connect', (client) => {
      client.on('error', ignore);
      // Class 01: https://www.postgresql.org/docs/current/errcodes-appendix.html
      client.on('notice', ({ code }) => code?.startsWith('01') && this.#warned.add(client));
    });
    this.#timer = setInterval(() => void this.#sweep(), 10_000).unref();
    void this.#sweep();
  }

  async read(key: string): Promise<Reading> {
    const [row] = readSchema.parse((await this.#query(READ, [key])).rows);
    const { version, text, ...reading } = row;
    return { ...reading, entry: version === null || text === null ? null : { version, text } };
  }

  async swap(change: Change): Promise<SwapResult> {
    const isLarge = change.needsRoom && this.#largestCallers.has(change.caller);
    if (isLarge) throw new StoreUnavailable('share');
    return this.#batch.load(change);
  }

  /** Makes the changes of one iteration of the event loop in one statement: the first one of each key. */
  async #change(changes: readonly Change[]): Promise<SwapResult[]> {
    const first = new Map(changes.toReversed().map((change) => [change.key, change]));
    const input = first
      .values()
      .map(({ next, basis, ...rest }) => ({ ...rest, ...(next && inAscii(next)), ...basis }));
    // JSON has null in place of the retention Infinity.
    const { rows: swapped } = await this.#query(CHANGE, [JSON.stringify([...input])]);
    const made = changesSchema.parse(swapped);
    const results = new Map(made.map(({ key, result }) => [key, result]));
    const one = made.find(({ key, result }) => key !== COMPLETENESS_KEY && result === 'swapped');
    // Replies may arrive in another order than that of the log.
    if (one && positionOf(one.lsn) > positionOf(this.#changedAt ?? '0/0'))
      this.#changedAt = one.lsn;
    return changes.map((change) =>
      first.get(change.key) === change ? (results.get(change.key) ?? 'basis') : 'other',
    );
  }

  /**
   * A standby for which every commit waited has every entry when it is promoted. Another one may lack entries, although it
   * has the entry of completeness. This process recognizes such a standby, because it lacks the process's last change.
   */
  isContinuation(writtenOn: string, { serverId, replayedTo }: Reading): boolean {
    const timelineOf = (id: string) => id.slice(0, 8);
    if (timelineOf(writtenOn) === timelineOf(serverId)) return true;
    if (!requiresAll(writtenOn.slice(8).replace(/^\+ /, '').trim())) return false;
    return (
      this.#changedAt === undefined || positionOf(replayedTo ?? '0/0') > positionOf(this.#changedAt)
    );
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    // A statement that hangs does not delay the end.
    const wait = sleep(TIMEOUT_MS, undefined, { ref: false });
    if (!this.#pool.ended) await Promise.race([this.#pool.end(), wait]);
  }

  /** Executes a statement on keys. After a failure, the usage is unknown. */
  async #query(statement: string, values: unknown[] = []): Promise<pg.QueryResult> {
    try {
      return await this.#execute(statement, values);
    } catch (error) {
      this.usage = undefined;
      throw error;
    }
  }

  async #execute(statement: string, values: unknown[]): Promise<pg.QueryResult> {
    if (this.#pool.ending) throw new StoreUnavailable('closed');
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      const result = await execute(client, statement, values);
      if (this.#warned.has(client)) {
        const message = 'PostgreSQL confirms a commit with a warning: perhaps no standby has it';
        throw new ReplyLost('not_replicated', message);
      }
      client.release();
      return result;
    } catch (error) {
      const failure = failureOf(error, client ? ReplyLost : StoreUnavailable);
      const isRunning = failure.reason === 'timeout' && !(error instanceof pg.DatabaseError);
      if (client && isRunning) void cancel(client);
      else client?.release(true);
      throw failure;
    }
  }

  /** Deletes expired keys, and measures the table. */
  async #sweep(): Promise<void> {
    try {
      while ((await this.#query(SWEEP)).rowCount === SWEEP_ROWS);
      const { rows } = await this.#query(USAGE);
      const [{ keys, bytes, rowBytes }] = usageSchema.parse(rows);
      this.usage = { keys, bytes, maxKeys: Infinity, maxBytes: Infinity };
      const share = shareOf({ bytes, maxBytes: this.#maxBytes });
      const percent = Math.min(100, (2 ** 25 / rowBytes) * 100); // 32 MiB
      const sample = share && (await this.#query(LARGEST_CALLERS, [percent, share])).rows;
      const largest = callersSchema.parse(sample ?? []);
      this.#largestCallers = new Set(largest.map(({ caller }) => caller));
    } catch {
      // The next use reports the same error.
    }
  }
}

/**
 * Whether each commit waits for every standby of `synchronous_standby_names`, such as `a` or `ANY 2 (a, b)`. Otherwise the
 * standby that is promoted may be one for which it did not wait. Also false for names that this does not understand.
 * https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-SYNCHRONOUS-STANDBY-NAMES
 */
function requiresAll(setting: string): boolean {
  const [, count = '1', list = setting] =
    /^(?:(?:FIRST|ANY) *)?(\d+) *\((.*)\)$/i.exec(setting) ?? [];
  const names = list.split(',').map((name) => name.trim().toLowerCase());
  const isClear = names.every((name) => /^(?:[\w-]+|"[\w-]+")$/.test(name));
  const different = new Set(names.map((name) => name.replaceAll('"', '')));
  return isClear && names.length === Number(count) && different.size === names.length;
}

/**
 * An entry whose text, which is JSON, has only ASCII characters. A database whose encoding is not UTF-8 may lack others, and
 * would reject all changes of the statement because of one.
 */
function inAscii({ version, text }: Entry): Entry {
  return { version, text: escapeJson(text, /[^\0-\x7f]/g) };
}

/** A position in the log of a server, such as `16/B374D848`, as a number that can be compared. */
function positionOf(lsn: string): number {
  const [high = 0, low = 0] = lsn.split('/').map((part) => Number.parseInt(part, 16));
  return high * 2 ** 32 + low;
}

/** Executes a statement, and creates the table if it is missing. */
async function execute(client: pg.PoolClient, statement: string, values: unknown[]) {
  const query = () => client.query(statement, values);
  return query().catch(async (error: unknown) => {
    if (failureOf(error, ReplyLost).reason !== 'no_table') throw error;
    await client.query(TABLE).catch((error: unknown) => {
      const { reason } = failureOf(error, StoreUnavailable);
      if (reason === 'loading') return; // The other process has created it.
      if (reason !== 'unauthorized') throw error;
      const message = `The database role may not create tables. Execute:\n${TABLE}`;
      throw new StoreUnavailable('no_table', message);
    });
    return query();
  });
}

/** What a request to cancel a statement of a connection needs. */
const backendSchema = z.object({
  host: z.string(),
  port: z.number(),
  processID: z.number(),
  secretKey: z.number(),
});

/**
 * Cancels a statement that is late, and closes its connection when it has ended. Until then, its backend still runs, for
 * example waiting for a standby that hangs, and no other connection may take its place: or else a store that hangs would
 * use up the connections of the server. The connection is not used again, because a request to cancel may still be on its
 * way, and would cancel the next statement.
 */
async function cancel(client: pg.PoolClient): Promise<void> {
  const end = () => true;
  const ended = once(client, 'drain').then(end, end);
  const backend = backendSchema.safeParse(client).data;
  // A server that does not know the statement after 30 requests is another one, which has the address now.
  for (let requests = 0; requests < 30; requests += 1) {
    const request = [backend && requestCancel(backend), sleep(TIMEOUT_MS, null, { ref: false })];
    const received = Promise.all(request).then(() => false);
    if (await Promise.race([ended, received])) break;
  }
  client.release(true);
}

/**
 * Sends a request to cancel, on a connection of its own. Resolves when the server has received or refused it, which closes
 * the connection. The gateway does not close it, because PgBouncer 1.18 may end when the client of such a request leaves
 * (https://github.com/pgbouncer/pgbouncer/pull/846).
 */
async function requestCancel(backend: z.infer<typeof backendSchema>): Promise<void> {
  const { host, port, processID, secretKey } = backend;
  const request = Buffer.alloc(16);
  // Its length, the code of a request to cancel in the protocol of PostgreSQL, and what to cancel.
  for (const [n, value] of [16, 80_877_102, processID, secretKey].entries()) {
    request.writeInt32BE(value | 0, n * 4);
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.unref().resume().write(request);
  await once(socket, 'close').catch(() => {});
}

/** Translates an error. `Unknown` is the class for errors that do not say what the server did. */
function failureOf(error: unknown, Unknown: typeof StoreUnavailable): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  const code = z.object({ code: z.string() }).safeParse(error).data?.code;
  const [reason, meaning = reason] = (code !== undefined && reasons[code]) || [];
  const reply = `PostgreSQL reports the error ${code}`;
  // Only an error of the statement itself undoes it. A server that panics, for example because its disk is full, may have made
  // the commit durable before. With other `lc_messages`, the server translates the severity, and each error counts as unknown,
  // which is safe.
  const isOfStatement = error instanceof pg.DatabaseError && error.severity === 'ERROR';
  const Failure = isOfStatement ? StoreUnavailable : Unknown;
  // The message of this error names what the role may not use, and has no values.
  const denied = code === '42501' && error instanceof Error ? error.message : undefined;
  if (reason !== undefined) return new Failure(reason, `${reply}: ${denied ?? meaning}`);
  // Class 08 is a connection that broke behind a pooler. Class 57 is an intervention of the operator: a commit that waited
  // for its standby may be made.
  if (error instanceof pg.DatabaseError && !/^(08|57)/.test(code ?? '')) {
    return new Failure('failed', reply);
  }
  if (error instanceof Error && /timeout/i.test(error.message)) return new Unknown('timeout');
  // The message of the error may hold the address.
  return new Unknown('unreachable', `No connection to PostgreSQL${code ? `: ${code}` : ''}`);
}
