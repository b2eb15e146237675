#!/usr/bin/env bash
# Clients of SQLite that send every number of JavaScript as a floating point number, also a whole one. So in a column of text, the code
# 100 is stored as `100.0`, a query for the number 100 does not find the text `100`, and dividing by 2 is no division of integers. There
# is no error. node:sqlite, which is a part of Node, does so, and sql.js does not: the same statement with the same value differs. A BigInt
# is an integer in all of them, and so is a number of Python.
#
# How to read the table: "stored": the text that INSERT leaves in a column of TEXT when the program gives it 100. "found": whether
# `WHERE code = ?` with 100 finds a row that has the text 100. "5 / ?": the result with 2. "100n": what is stored of a BigInt.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions in the script, and Python 3.11.
#
#|                            stored    found     5 / ?     100n
#| node:sqlite of Node 24     100.0     no        2.5       100
#| libsql 0.5.29              100.0     no        2.5       100
#| @libsql/client 0.18.0      100.0     no        2.5       100
#| sql.js 1.17.0              100       yes       2         100
#| node-sqlite3-wasm 0.8.60   100       yes       2         100
#| sqlite3 of Python          100       yes       2
. "$(dirname "$0")/common.sh"

need npm:npm python3:python3
install_from_npm libsql@0.5.29 @libsql/client@0.18.0 sql.js@1.17.0 node-sqlite3-wasm@0.8.60

cat > "$folder/clients.js" <<'END'
import { DatabaseSync } from 'node:sqlite';
import { createClient } from '@libsql/client';
import Libsql from 'libsql';
import sqlite3Wasm from 'node-sqlite3-wasm';
import initSqlJs from 'sql.js';

const row = (name, ...cells) => console.log([name.padEnd(26), ...cells.map((cell) => cell.padEnd(9))].join(' ').trimEnd());

/** `query` executes a statement with at most one value, and returns the first column of the first row. */
async function show(name, query) {
  await query('CREATE TABLE account (code TEXT)');
  await query('INSERT INTO account VALUES (?)', 100);
  const stored = await query('SELECT code FROM account');
  await query("UPDATE account SET code = '100'");
  const found = await query('SELECT count(*) FROM account WHERE code = ?', 100);
  const divided = await query('SELECT 5 / ?', 2);
  await query('UPDATE account SET code = ?', 100n);
  const ofBigInt = await query('SELECT code FROM account');
  row(name, stored, Number(found) ? 'yes' : 'no', String(divided), ofBigInt);
}
const first = (result) => Object.values(result?.[0] ?? {})[0];

row('', 'stored', 'found', '5 / ?', '100n');

const node = new DatabaseSync(':memory:');
await show('node:sqlite of Node 24', (text, ...values) => first(node.prepare(text).all(...values)));

const libsql = new Libsql(':memory:');
await show('libsql 0.5.29', (text, ...values) => {
  const statement = libsql.prepare(text);
  return text.startsWith('SELECT') ? first(statement.all(...values)) : statement.run(...values);
});

const client = createClient({ url: ':memory:' });
await show('@libsql/client 0.18.0', async (sql, ...args) => first((await client.execute({ sql, args })).rows));

const { Database } = await initSqlJs();
const sqlJs = new Database();
await show('sql.js 1.17.0', (text, ...values) => first(sqlJs.exec(text, values)[0]?.values));

const wasm = new sqlite3Wasm.Database();
await show('node-sqlite3-wasm 0.8.60', (text, ...values) => first(wasm.all(text, values)));
END

cat > "$folder/client.py" <<'END'
import sqlite3

query = sqlite3.connect(':memory:').execute
query('CREATE TABLE account (code TEXT)')
query('INSERT INTO account VALUES (?)', (100,))
stored = query('SELECT code FROM account').fetchone()[0]
found = query('SELECT count(*) FROM account WHERE code = ?', (100,)).fetchone()[0]
divided = query('SELECT 5 / ?', (2,)).fetchone()[0]
print(f"{'sqlite3 of Python':26} {stored:9} {'yes' if found else 'no':9} {divided}")
END

measure() {
  "$node" --no-warnings "$folder/clients.js"
  python3 "$folder/client.py"
}
check
