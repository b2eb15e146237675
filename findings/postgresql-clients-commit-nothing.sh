#!/usr/bin/env bash
# Clients of PostgreSQL whose transaction succeeds although PostgreSQL has rolled it back. After a statement has failed, PostgreSQL
# answers COMMIT with the tag ROLLBACK, which is no error. So if a program catches the error of one statement, such as that of a duplicate
# key, and goes on, its transaction resolves with its result, and nothing of it is saved, not even what it wrote before. With a savepoint
# around the statement, all else is saved. Kysely and postgres reject the transaction.
#
# How to read the table: the program inserts a row, catches the error of a second INSERT with a duplicate key, and returns 'saved'. "call":
# what the call of the transaction does then. "rows": how many of the first row are stored. The server is PGlite, which is PostgreSQL in
# WebAssembly. With PostgreSQL 15 of Debian 12, the rows were the same.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                               call                rows
#| pg 8.23.1, query('COMMIT')    resolves 'saved'    0
#| pg-promise 12.7.1             resolves 'saved'    0
#| knex 3.3.0                    resolves 'saved'    0
#| Sequelize 6.37.8              resolves 'saved'    0
#| TypeORM 1.1.1                 resolves 'saved'    0
#| MikroORM 7.2.5                resolves 'saved'    0
#| Slonik 49.10.9                resolves 'saved'    0
#| Drizzle 0.45.4 with pg        resolves 'saved'    0
#| Drizzle 0.45.4 with postgres  rejects             0
#| postgres 3.4.9                rejects             0
#| Kysely 0.29.9                 rejects             0
#| knex 3.3.0, savepoint         resolves 'saved'    1
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17 pg@8.23.1 postgres@3.4.9 pg-promise@12.7.1 knex@3.3.0 \
  sequelize@6.37.8 typeorm@1.1.1 @mikro-orm/core@7.2.5 @mikro-orm/postgresql@7.2.5 slonik@49.10.9 drizzle-orm@0.45.4 kysely@0.29.9

cat > "$folder/transactions.js" <<'END'
import { inspect } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import knex from 'knex';
import { Kysely, PostgresDialect, sql as kyselySql } from 'kysely';
import pg from 'pg';
import pgPromise from 'pg-promise';
import postgres from 'postgres';
import { Sequelize } from 'sequelize';
import { createPool, sql as slonikSql } from 'slonik';
import { DataSource } from 'typeorm';

const db = new PGlite();
await db.exec('CREATE TABLE entry (id text PRIMARY KEY)');
const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 20 });
await server.start();
const port = Number(server.getServerConn().split(':').pop());
const options = { host: '127.0.0.1', port, user: 'postgres', password: 'none', database: 'postgres', max: 1 };
const url = `postgres://postgres:none@127.0.0.1:${port}/postgres?sslmode=disable`;

const FIRST = "INSERT INTO entry VALUES ('first')";
const SECOND = "INSERT INTO entry VALUES ('taken')";
/** What the program does in its transaction. `query` executes a statement in it, and `attempt` the one that may fail. */
async function write(query, attempt = query) {
  await query(FIRST);
  try {
    await attempt(SECOND);
  } catch {
    // The row is there already, and the program goes on.
  }
  return 'saved';
}

const row = (...cells) => console.log(cells.map((cell, index) => cell.padEnd(index ? 20 : 30)).join('').trimEnd());
async function show(name, transact) {
  await db.exec("DELETE FROM entry; INSERT INTO entry VALUES ('taken')");
  const call = await transact().then((result) => `resolves ${inspect(result)}`, () => 'rejects');
  const { rows } = await db.query("SELECT FROM entry WHERE id = 'first'");
  row(name, call, String(rows.length));
}

row('', 'call', 'rows');

const client = new pg.Client(options);
await client.connect();
await show('pg 8.23.1, query(\'COMMIT\')', async () => {
  await client.query('BEGIN');
  const result = await write((statement) => client.query(statement));
  await client.query('COMMIT');
  return result;
});
await client.end();

await show('pg-promise 12.7.1', () => pgPromise()(options).tx((tx) => write((statement) => tx.none(statement))));

const knexDb = knex({ client: 'pg', connection: options });
await show('knex 3.3.0', () => knexDb.transaction((tx) => write((statement) => tx.raw(statement))));

const sequelize = new Sequelize(url, { logging: false });
await show('Sequelize 6.37.8', () =>
  sequelize.transaction((transaction) => write((statement) => sequelize.query(statement, { transaction }))),
);

const typeorm = await new DataSource({ type: 'postgres', ...options, username: 'postgres' }).initialize();
await show('TypeORM 1.1.1', () => typeorm.transaction((tx) => write((statement) => tx.query(statement))));

const entry = new EntitySchema({ name: 'entry', properties: { id: { type: 'string', primary: true } } });
const mikro = await MikroORM.init({ entities: [entry], clientUrl: url });
await show('MikroORM 7.2.5', () => mikro.em.fork().transactional((tx) => write((statement) => tx.execute(statement))));

const slonik = await createPool(url);
const fragments = { [FIRST]: slonikSql.unsafe`INSERT INTO entry VALUES ('first')`, [SECOND]: slonikSql.unsafe`INSERT INTO entry VALUES ('taken')` };
await show('Slonik 49.10.9', () => slonik.transaction((tx) => write((statement) => tx.query(fragments[statement]))));

const sql = postgres(url, { onnotice() {} });
await show('Drizzle 0.45.4 with pg', () =>
  drizzle(new pg.Pool(options)).transaction((tx) => write((statement) => tx.execute(statement))),
);
await show('Drizzle 0.45.4 with postgres', () =>
  drizzlePostgres(sql).transaction((tx) => write((statement) => tx.execute(statement))),
);
await show('postgres 3.4.9', () => sql.begin((tx) => write((statement) => tx.unsafe(statement))));

const kysely = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool(options) }) });
await show('Kysely 0.29.9', () => kysely.transaction().execute((tx) => write((statement) => kyselySql.raw(statement).execute(tx))));

await show('knex 3.3.0, savepoint', () =>
  knexDb.transaction((tx) => write((statement) => tx.raw(statement), (statement) => tx.transaction((inner) => inner.raw(statement)))),
);
process.exit();
END

measure() { "$node" "$folder/transactions.js"; }
check
