import { COMPLETENESS_KEY } from '../store.ts';

export const SWEEP_ROWS = 1000;

/** What a row and its index entries take besides the text. */
const ROW_BYTES = 300;

/** Creates the table. If the role may not do this, the log asks an administrator to execute it. */
export const TABLE = `CREATE TABLE IF NOT EXISTS ledger_gateway_record (
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
export const READ = `${DURABLE}, awaited AS MATERIALIZED (
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
export const CHANGE = `${DURABLE}, own AS MATERIALIZED (
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
export const SWEEP = `DELETE FROM ledger_gateway_record WHERE key IN (SELECT key FROM ledger_gateway_record
  WHERE expires_at <= now() LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED)`;
export const USAGE = `SELECT greatest(reltuples, 0)::float8 AS keys, pg_total_relation_size(oid)::float8 AS bytes,
  pg_relation_size(oid)::float8 AS "rowBytes" FROM pg_class WHERE oid = 'ledger_gateway_record'::regclass`;
/** The callers that hold more than `$2` bytes, estimated from a sample of `$1` percent of the table. */
export const LARGEST_CALLERS = `SELECT caller FROM ledger_gateway_record TABLESAMPLE SYSTEM ($1) WHERE caller IS NOT NULL
  GROUP BY caller HAVING sum(pg_column_size(text) + ${ROW_BYTES}) * 100 > $2 * $1`;
