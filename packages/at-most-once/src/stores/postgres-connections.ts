import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { ReplyLost, StoreUnavailable, type UnavailableReason } from '../store.ts';
import { TABLE } from './postgres-statements.ts';
import { withoutValues } from './reported-error.ts';

/** The time to connect, and for each statement, in milliseconds. */
const TIMEOUT_MS = 1000;

const READ_ONLY =
  'the server is a standby, or default_transaction_read_only is on for the server, the database or the role';

const RIGHTS =
  'The role needs SELECT, INSERT, UPDATE and DELETE on the tables ledger_gateway_*, and EXECUTE on pg_control_system()';

const NO_TLS =
  'PostgreSQL, or its pooler, has no TLS, which the URL asks for. Turn it on there, or write sslmode=disable if nobody else can read the network';

const NO_FILE = 'A file that sslrootcert, sslcert or sslkey in the URL names cannot be read';

/** What errors mean, if the message of the server does not say it well: https://www.postgresql.org/docs/current/errcodes-appendix.html */
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
  '57014': ['timeout'],
  '57P01': ['unreachable'],
  '57P02': ['unreachable'],
  '57P03': ['loading'],
  '55000': ['read_only', READ_ONLY], // A standby has no current place in the log.
  XX000: [
    'failed',
    'an internal error, which the log of the server explains. pgpool in native replication mode is not supported',
  ],
};

/** Connections to one server. Statements throw `StoreUnavailable`, or `ReplyLost` if it is not known what the server did. */
export class PostgresConnections {
  readonly #table: string;
  readonly #pool: pg.Pool;
  /** The connections on which the server has sent a warning. */
  readonly #warned = new WeakSet<pg.PoolClient>();

  /** @param table the statement that creates the table */
  constructor(url: string, table = TABLE, max = 10) {
    this.#table = table;
    this.#pool = new pg.Pool({ ...postgresOptions(url), max });
    // A connection that breaks fails its statement, and is removed.
    const ignore = () => {};
    this.#pool.on('error', ignore).on('connect', (client) => {
      client.on('error', ignore);
      // Class 01: https://www.postgresql.org/docs/current/errcodes-appendix.html
      client.on('notice', ({ code }) => code?.startsWith('01') && this.#warned.add(client));
    });
  }

  /** Executes a statement. If the table is missing, creates it first. */
  execute(statement: string, values: unknown[]): Promise<pg.QueryResult> {
    return this.#use((client) => {
      const query = () => client.query(statement, values);
      return query().catch(async (error: unknown) => {
        if (failureOf(error, ReplyLost).reason !== 'no_table') throw error;
        await this.#createTable(client);
        return query();
      });
    });
  }

  /** Executes a statement as `execute` does, and undoes it. */
  tryOut(statement: string, values: unknown[]): Promise<void> {
    return this.#use(async (client) => {
      await client.query('BEGIN');
      const missing = await client.query(
        "SELECT WHERE to_regclass('ledger_gateway_record') IS NULL",
      );
      if (missing.rowCount === 1) await this.#createTable(client);
      await client.query(statement, values);
      await client.query('ROLLBACK');
    });
  }

  async #createTable(client: pg.PoolClient): Promise<void> {
    await client.query(this.#table).catch((error: unknown) => {
      const { reason } = failureOf(error, StoreUnavailable);
      if (reason === 'loading') return; // Another process has created it.
      if (reason !== 'unauthorized') throw error;
      const message = `The database role may not create tables. Execute:\n${this.#table}`;
      throw new StoreUnavailable('no_table', message);
    });
  }

  async #use<Result>(run: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    if (this.#pool.ending) throw new StoreUnavailable('closed');
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      const result = await run(client);
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

  async close(): Promise<void> {
    // A statement that hangs does not delay the end.
    const wait = sleep(TIMEOUT_MS, undefined, { ref: false });
    if (!this.#pool.ended) await Promise.race([this.#pool.end(), wait]);
  }
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
 * example waiting for a standby that hangs, which neither `statement_timeout` nor `client_connection_check_interval` ends. No
 * other connection may take its place: or else a store that hangs would use up the connections of the server. The connection is
 * not used again, because a request to cancel may still be on its way, and would cancel the next statement.
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

const networkErrorSchema = z.object({ code: z.string(), syscall: z.string().optional() });

/** Translates an error. `Unknown` is the class for errors that do not say what the server did. */
function failureOf(error: unknown, Unknown: typeof StoreUnavailable): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  if (error instanceof pg.DatabaseError) return reportedFailure(error, Unknown);
  const text = error instanceof Error ? error.message : '';
  if (/timeout/i.test(text)) {
    const late = `PostgreSQL, or the server behind its pooler, does not respond within ${TIMEOUT_MS} ms`;
    return new Unknown('timeout', late);
  }
  if (/not support SSL/.test(text)) return new Unknown('unreachable', NO_TLS);
  const { code, syscall } = networkErrorSchema.safeParse(error).data ?? {};
  if (syscall === 'open') return new Unknown('unreachable', `${NO_FILE}: ${code}`);
  // The message of the error may hold the address.
  return new Unknown('unreachable', `No connection to PostgreSQL${code ? `: ${code}` : ''}`, code);
}

/** Translates what the server, or a pooler in front of it, reports. */
function reportedFailure(error: pg.DatabaseError, Unknown: typeof StoreUnavailable) {
  const { code = '', severity, message } = error;
  const reply = `PostgreSQL reports the error ${code}`;
  const words = withoutValues(message);
  // Class 08 is a connection that a pooler rejects, or that broke behind it. Class 57 is an intervention of the operator: a commit
  // that waited for its standby may be made.
  const isBroken = /^(08|57)/.test(code);
  const other: UnavailableReason = isBroken && /timeout/i.test(message) ? 'timeout' : 'failed';
  const [reason, meaning] = reasons[code] ?? [other];
  // Only an error of the statement itself undoes it. A server that panics, for example because its disk is full, may have made
  // the commit durable before. With other `lc_messages`, the server translates the severity, and each error counts as unknown,
  // which is safe.
  const Failure = severity === 'ERROR' && !isBroken ? StoreUnavailable : Unknown;
  if (code === '42501') return new Failure(reason, `${reply}: ${words}. ${RIGHTS}`);
  return new Failure(reason, `${reply}: ${meaning ?? words}`);
}

/** How a pool connects to the server of a URL. */
export function postgresOptions(url: string) {
  const isLike = (value: string) => new RegExp(`[?&]${value}(&|$)`).test(url);
  return {
    // In `pg`, these modes are the same as `verify-full`, but it prints a warning about them, which is no line of the log.
    connectionString: isLike('uselibpqcompat=true')
      ? url
      : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full'),
    // `pg` ignores this parameter of a URL.
    enableChannelBinding: isLike('enableChannelBinding=true'),
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    keepAlive: true,
    application_name: 'ledger-gateway',
  };
}
