#!/usr/bin/env bash
# Clients and gateways that are generated from an OpenAPI description give an integer of the format int64 the type of an exact number, and
# round it all the same. Hey API makes a `bigint` of the number that JSON.parse has rounded already, and so neither the types nor the value
# show it. It sends a bigint as a JSON string where the description asks for an integer, also a small one. The `bigint` of orval is a
# number when it runs, and it cannot send one. The BigInt of GraphQL Mesh is rounded when it is read, and a large one cannot be written.
# Mesh prints a hint that json-bigint-patch makes numbers of strings in JSON. It does not say that numbers are rounded without it.
#
# How to read the table: "type": what the generated code says. "read": the value that a program gets when the server answers
# 9007199254740993, as JavaScript. "written": the JSON that the server gets when the program sends that number, or
# 5, as the type asks for. "fails": the call fails, and nothing is sent.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                              type      read                 written              written 5
#| Hey API 0.99.0, transformers                 bigint    9007199254740992n    "9007199254740993"   "5"
#| orval 8.38.0, useBigInt                      bigint    9007199254740992     fails                fails
#| Mesh, omnigraph/openapi 0.112.4              BigInt    "9007199254740992"   fails                5
#| Mesh with json-bigint-patch 0.0.9            BigInt    9007199254740993n    9007199254740993     5
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @hey-api/openapi-ts@0.99.0 orval@8.38.0 typescript@5.9.3 @omnigraph/openapi@0.112.4 @graphql-mesh/cross-helpers@0.4.16 \
  graphql@16.15.0 json-bigint-patch@0.0.9

cat > "$folder/ledger.js" <<'END'
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { inspect } from 'node:util';

/** Starts the server, which answers every request with the same number, and writes its description to `openapi.json`. */
export async function startLedger() {
  const arrived = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.method === 'POST') arrived.push(/"id":(.*)}/.exec(body)[1]);
    response.setHeader('content-type', 'application/json');
    response.end('{"id":9007199254740993}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Entry' } } };
  const responses = { 200: { description: 'An entry.', content } };
  writeFileSync(
    'openapi.json',
    JSON.stringify({
      openapi: '3.0.3',
      info: { title: 'Ledger', version: '1' },
      servers: [{ url }],
      paths: {
        '/entry': {
          get: { operationId: 'getEntry', responses },
          post: { operationId: 'saveEntry', requestBody: { required: true, content }, responses },
        },
      },
      components: {
        schemas: { Entry: { type: 'object', required: ['id'], properties: { id: { type: 'integer', format: 'int64' } } } },
      },
    }),
  );
  return { url, arrived };
}

export const row = (name, ...cells) =>
  console.log(name.padEnd(45) + cells.map((cell, index) => cell.padEnd(index ? 21 : 10)).join('').trimEnd());

/** Reads an entry and writes two, and prints what the program and the server have got. */
export async function show(name, type, arrived, read, write) {
  const value = inspect(await read()).replaceAll("'", '"');
  const written = [];
  for (const id of ['9007199254740993', '5']) {
    const before = arrived.length;
    await write(id).catch(() => {});
    written.push(arrived[before] ?? 'fails');
  }
  row(name, type, value, ...written);
}
END

cat > "$folder/clients.js" <<'END'
import { readFileSync } from 'node:fs';
import { createClient } from '@hey-api/openapi-ts';
import { generate } from 'orval';
import { row, show, startLedger } from './ledger.js';

const { url, arrived } = await startLedger();
row('', 'type', 'read', 'written', 'written 5');
const typeOf = (file) => /id: (\w+);/.exec(readFileSync(file, 'utf8'))[1];

/** Shows a generated module. `argumentOf` returns the argument with which its function saves an entry. */
const showModule = (name, types, { getEntry, saveEntry }, argumentOf) =>
  show(
    name,
    typeOf(types),
    arrived,
    async () => (await getEntry()).data.id,
    (id) => saveEntry(argumentOf({ id: BigInt(id) })),
  );

await createClient({
  input: 'openapi.json',
  output: { path: 'hey-api', module: { extension: '.ts' } },
  logs: { level: 'silent' },
  plugins: ['@hey-api/client-fetch', '@hey-api/transformers', { name: '@hey-api/sdk', transformer: true }],
});
await showModule(
  'Hey API 0.99.0, transformers',
  'hey-api/types.gen.ts',
  await import('./hey-api/sdk.gen.ts'),
  (entry) => ({ body: entry }),
);

const log = console.log;
console.log = () => {};
const output = { target: './orval/entries.ts', baseUrl: url, client: 'fetch', override: { useBigInt: true } };
await generate({ input: './openapi.json', output });
console.log = log;
const orval = await import('./orval/entries.ts');
await showModule('orval 8.38.0, useBigInt', 'orval/entries.ts', orval, (entry) => entry);
process.exit();
END

cat > "$folder/mesh.js" <<'END'
import { loadGraphQLSchemaFromOpenAPI } from '@omnigraph/openapi';
import { getNullableType, graphql } from 'graphql';
import { show, startLedger } from './ledger.js';

const [name, patch] = process.argv.slice(2);
if (patch) await import(patch);
const { url: endpoint, arrived } = await startLedger();
const schema = await loadGraphQLSchemaFromOpenAPI('Ledger', { source: './openapi.json', cwd: process.cwd(), fetch, endpoint });
const execute = async (source, variableValues) => {
  const { data, errors } = await graphql({ schema, source, variableValues, contextValue: {} });
  if (errors) throw errors[0];
  return data;
};
await show(
  name,
  getNullableType(schema.getType('Entry').getFields().id.type).name,
  arrived,
  async () => (await execute('{ getEntry { id } }')).getEntry.id,
  (id) => execute('mutation ($id: BigInt!) { saveEntry(input: { id: $id }) { id } }', { id }),
);
process.exit();
END

run_in_folder() (cd "$folder" && "$node" "$@" 2> log)
measure() {
  run_in_folder clients.js
  run_in_folder mesh.js 'Mesh, omnigraph/openapi 0.112.4'
  run_in_folder mesh.js 'Mesh with json-bigint-patch 0.0.9' json-bigint-patch
}
check
