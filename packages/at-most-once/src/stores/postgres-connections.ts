import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { ReplyLost, StoreUnavailable, type UnavailableReason } from '../store.ts';
import { TABLE } from './postgres-statements.ts';

/** The time to connect, and for each statement. */
const TIMEOUT_MS = 1000;

export const READ_ONLY =
  'the server is a standby, or default_transaction_read_only is on for the server, the database or the role';

/** For a role that may not create the table. */
export const MISSING_TABLE = `The database role may not create tables. Execute:\n${TABLE}`;

export const NO_SCHEMA =
  'no schema of the search_path exists. Create one, or change the search_path of the role';

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
  '3F000': ['no_database', NO_SCHEMA],
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

/** Connections to one server. Statements throw `StoreUnavailable`, or `ReplyLost` if it is not known what the server did. */
export class PostgresConnections {
  readonly #pool: pg.Pool;
  /** The connections on which the server has sent a warning. */
  readonly #warned = new WeakSet<pg.PoolClient>();

  constructor(url: string) {
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
  }

  /** Executes a statement. If the table is missing, creates it first. */
  async execute(statement: string, values: unknown[]): Promise<pg.QueryResult> {
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

  async close(): Promise<void> {
    // A statement that hangs does not delay the end.
    const wait = sleep(TIMEOUT_MS, undefined, { ref: false });
    if (!this.#pool.ended) await Promise.race([this.#pool.end(), wait]);
  }
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
      throw new StoreUnavailable('no_table', MISSING_TABLE);
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
