#!/usr/bin/env bash
# The same number of PostgreSQL is exact or rounded, depending on where it stands in the result. Drizzle returns a bigint and a numeric
# exactly from a query of their table, and rounded if the table is read as a relation with `with`: still as a BigInt or a string, so that
# the types do not show it. The reason is that it reads relations as JSON, as `jsonArrayFrom` of Kysely does. pg returns a numeric as a
# string, and an array of them as rounded numbers. There is no error.
#
# How to read the table: the value that the program gets, as JavaScript. The server is PGlite, which is PostgreSQL in WebAssembly.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#| stored                      9007199254740993            12345678901234567.89
#| pg 8.23.1, column           '9007199254740993'          '12345678901234567.89'
#| pg 8.23.1, array_agg()      [ '9007199254740993' ]      [ 12345678901234568 ]
#| pg 8.23.1, json_agg()       [ 9007199254740992 ]        [ 12345678901234568 ]
#| Drizzle 0.45.4, its table   9007199254740993n           '12345678901234567.89'
#| Drizzle, with: entries      9007199254740992n           '12345678901234568'
#| Kysely 0.29.9, its table    '9007199254740993'          '12345678901234567.89'
#| Kysely, jsonArrayFrom()     9007199254740992            12345678901234568
#| postgres 3.4.9, column      '9007199254740993'          '12345678901234567.89'
#| postgres 3.4.9, array_agg() [ '9007199254740993' ]      [ '12345678901234567.89' ]
#| postgres 3.4.9, json_agg()  [ 9007199254740992 ]        [ 12345678901234568 ]
#| PGlite 0.5.14, column       9007199254740993n           '12345678901234567.89'
#| PGlite 0.5.14, array_agg()  [ 9007199254740993n ]       [ '12345678901234567.89' ]
#| PGlite 0.5.14, json_agg()   [ 9007199254740992 ]        [ 12345678901234568 ]
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17 pg@8.23.1 postgres@3.4.9 drizzle-orm@0.45.4 kysely@0.29.9

cat > "$folder/numbers.js" <<'END'
import { inspect } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { relations } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, integer, numeric, pgTable } from 'drizzle-orm/pg-core';
import { Kysely, PostgresDialect } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import pg from 'pg';
import postgres from 'postgres';

const stored = { big: '9007199254740993', amount: '12345678901234567.89' };
const db = new PGlite();
await db.exec(`
  CREATE TABLE account (id integer PRIMARY KEY);
  CREATE TABLE entry (id integer PRIMARY KEY, account_id integer, big bigint, amount numeric);
  INSERT INTO account VALUES (1);
  INSERT INTO entry VALUES (1, 1, ${stored.big}, ${stored.amount});
`);
const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0 });
await server.start();
// The server has one connection at a time.
const options = { host: '127.0.0.1', port: Number(server.getServerConn().split(':').pop()), user: 'postgres', database: 'postgres', max: 1 };

const row = (...cells) => console.log(cells.map((cell) => cell.padEnd(28)).join('').trimEnd());
const show = (name, { big, amount }) => row(name, inspect(big), inspect(amount));
const readWith = async (name, query) => {
  show(`${name}, column`, await query('SELECT big, amount FROM entry'));
  show(`${name}, array_agg()`, await query('SELECT array_agg(big) AS big, array_agg(amount) AS amount FROM entry'));
  show(`${name}, json_agg()`, await query('SELECT json_agg(big) AS big, json_agg(amount) AS amount FROM entry'));
};
row('stored', stored.big, stored.amount);

const pool = new pg.Pool(options);
await readWith('pg 8.23.1', async (text) => (await pool.query(text)).rows[0]);

const account = pgTable('account', { id: integer().primaryKey() });
const entry = pgTable('entry', {
  id: integer().primaryKey(),
  accountId: integer('account_id'),
  big: bigint({ mode: 'bigint' }),
  amount: numeric(),
});
const entries = relations(account, ({ many }) => ({ entries: many(entry) }));
const ofEntry = relations(entry, ({ one }) => ({ account: one(account, { fields: [entry.accountId], references: [account.id] }) }));
const { query } = drizzle(pool, { schema: { account, entry, entries, ofEntry } });
show('Drizzle 0.45.4, its table', await query.entry.findFirst());
show('Drizzle, with: entries', (await query.account.findFirst({ with: { entries: true } })).entries[0]);

const kysely = new Kysely({ dialect: new PostgresDialect({ pool }) });
const selectEntry = (from) => from.selectFrom('entry').select(['big', 'amount']);
show('Kysely 0.29.9, its table', await selectEntry(kysely).executeTakeFirst());
const nested = kysely.selectFrom('account').select((from) => jsonArrayFrom(selectEntry(from)).as('entries'));
show('Kysely, jsonArrayFrom()', (await nested.executeTakeFirst()).entries[0]);
await pool.end();

const sql = postgres(options);
await readWith('postgres 3.4.9', async (text) => (await sql.unsafe(text))[0]);
await sql.end();
await readWith('PGlite 0.5.14', async (text) => (await db.query(text)).rows[0]);
process.exit();
END

measure() { timeout 60 "$node" "$folder/numbers.js"; }
check
