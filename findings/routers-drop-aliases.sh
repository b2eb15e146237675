#!/usr/bin/env bash
# How GraphQL routers of npm send a mutation with two fields of one subgraph. Those that send a request for each field leave the
# aliases out. So a subgraph that tells the fields of a mutation apart by their response names, for an idempotency key, cannot do so.
# The option `--hive-router-runtime` of Hive Gateway changes it: the same configuration then sends one request with the aliases.
#
# How to read the table: what the subgraph receives for `mutation { first: save second: save }`.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#| Hive Gateway 2.12.1                         2 requests: save, save
#| Hive Gateway with router-runtime 1.4.23     1 request: first: save second: save
#| @apollo/gateway 2.14.4                      1 request: first: save second: save
#| @graphql-tools/stitch 10.3.1                2 requests: save, save
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @graphql-hive/gateway-runtime@2.12.1 @graphql-hive/router-runtime@1.4.23 @graphql-mesh/transport-http@1.2.1 \
  @apollo/gateway@2.14.4 @apollo/server@5.5.1 @graphql-tools/stitch@10.3.1 @graphql-tools/executor-http@3.4.1 \
  @theguild/federation-composition@0.27.0 graphql@16.15.0

cat > "$folder/routers.js" <<'END'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { ApolloGateway } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime';
import { unifiedGraphHandler } from '@graphql-hive/router-runtime';
import transport from '@graphql-mesh/transport-http';
import { buildHTTPExecutor } from '@graphql-tools/executor-http';
import { stitchSchemas } from '@graphql-tools/stitch';
import { composeServices } from '@theguild/federation-composition';
import { buildSchema, parse, print, stripIgnoredCharacters } from 'graphql';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const listen = async (handler) => {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/graphql`;
};

let received = [];
const subgraph = await listen(async (request, response) => {
  const { query } = await json(request);
  const { selections } = parse(query).definitions[0].selectionSet;
  received.push(selections.map((field) => stripIgnoredCharacters(print(field)).replace(':', ': ')).join(' '));
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ data: Object.fromEntries(selections.map(({ alias, name }) => [(alias ?? name).value, 1])) }));
});

const types = 'type Query { a: Int } type Mutation { save: Int }';
const typeDefs = parse(`extend schema @link(url: "https://specs.apollo.dev/federation/v2.3") ${types}`);
const { supergraphSdl: supergraph } = composeServices([{ name: 'ledger', typeDefs, url: subgraph }]);
const hive = (more) => listen(createGatewayRuntime({ supergraph, transports: { http: transport }, logging: false, ...more }));
const apollo = async (options) => {
  const server = new ApolloServer({ ...options, logger: quiet });
  return (await startStandaloneServer(server, { listen: { port: 0, host: '127.0.0.1' } })).url;
};

const routers = {
  'Hive Gateway 2.12.1': () => hive({}),
  'Hive Gateway with router-runtime 1.4.23': () => hive({ unifiedGraphHandler }),
  '@apollo/gateway 2.14.4': () => apollo({ gateway: new ApolloGateway({ supergraphSdl: supergraph, logger: quiet }) }),
  '@graphql-tools/stitch 10.3.1': () => {
    const executor = buildHTTPExecutor({ endpoint: subgraph });
    return apollo({ schema: stitchSchemas({ subschemas: [{ schema: buildSchema(types), executor }] }) });
  },
};
const body = JSON.stringify({ query: 'mutation { first: save second: save }' });
for (const [name, start] of Object.entries(routers)) {
  received = [];
  await fetch(await start(), { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const count = `${received.length} request${received.length === 1 ? '' : 's'}`;
  console.log(`${name.padEnd(43)} ${count}: ${received.join(', ')}`);
}
process.exit();
END

measure() { "$node" "$folder/routers.js" 2> /dev/null; }
check
