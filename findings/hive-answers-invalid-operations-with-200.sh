#!/usr/bin/env bash
# The HTTP status with which GraphQL gateways of npm reject an operation that they do not execute. Hive Gateway says 200 for a
# document with a mistake, unless the client accepts `application/graphql-response+json`, and with its router runtime says 200 for an
# invalid variable in any case. Its errors about variables have no code. So a client that looks at the status or the code only cannot
# see that nothing was executed. The draft of GraphQL over HTTP recommends 200 with `application/json`, and 400 with the newer type.
#
# How to read the table: the status, and the `code` of the error, or `-`, by the type that the client accepts. "document": a field that
# does not exist. "variable": a text for an Int.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                           json: document                variable                      graphql-response: document    variable
#| Hive Gateway 2.12.1                       200 GRAPHQL_VALIDATION_FAILED 400 -                         400 GRAPHQL_VALIDATION_FAILED 400 -
#| Hive Gateway with router-runtime 1.4.23   200 GRAPHQL_VALIDATION_FAILED 200 -                         400 GRAPHQL_VALIDATION_FAILED 200 -
#| @apollo/gateway 2.14.4                    400 GRAPHQL_VALIDATION_FAILED 400 BAD_USER_INPUT            400 GRAPHQL_VALIDATION_FAILED 400 BAD_USER_INPUT
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @graphql-hive/gateway-runtime@2.12.1 @graphql-hive/router-runtime@1.4.23 @graphql-mesh/transport-http@1.2.1 \
  @apollo/gateway@2.14.4 @apollo/server@5.5.1 @theguild/federation-composition@0.27.0 graphql@16.15.0

cat > "$folder/gateways.js" <<'END'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { ApolloGateway } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime';
import { unifiedGraphHandler } from '@graphql-hive/router-runtime';
import transport from '@graphql-mesh/transport-http';
import { composeServices } from '@theguild/federation-composition';
import { parse } from 'graphql';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
// No request reaches the subgraph.
const typeDefs = parse(
  'extend schema @link(url: "https://specs.apollo.dev/federation/v2.3") type Query { a(n: Int!): Int }',
);
const { supergraphSdl: supergraph } = composeServices([{ name: 'a', typeDefs, url: 'http://127.0.0.1:1/' }]);
async function hive(more) {
  const runtime = createGatewayRuntime({ supergraph, transports: { http: transport }, logging: false, ...more });
  const server = createServer(runtime).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/graphql`;
}
async function apollo() {
  const gateway = new ApolloGateway({ supergraphSdl: supergraph, logger: quiet });
  const server = new ApolloServer({ gateway, logger: quiet });
  return (await startStandaloneServer(server, { listen: { port: 0, host: '127.0.0.1' } })).url;
}

const gateways = {
  'Hive Gateway 2.12.1': () => hive({}),
  'Hive Gateway with router-runtime 1.4.23': () => hive({ unifiedGraphHandler }),
  '@apollo/gateway 2.14.4': apollo,
};
const document = { query: '{ b }' };
const variable = { query: 'query ($n: Int!) { a(n: $n) }', variables: { n: 'x' } };
const row = (name, cells) => [name.padEnd(41), ...cells.map((cell) => cell.padEnd(29))].join(' ').trimEnd();

console.log(row('', ['json: document', 'variable', 'graphql-response: document', 'variable']));
for (const [name, start] of Object.entries(gateways)) {
  const url = await start();
  const cells = [];
  for (const accept of ['application/json', 'application/graphql-response+json']) {
    for (const body of [document, variable]) {
      const headers = { 'content-type': 'application/json', accept };
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      const { errors } = await response.json();
      cells.push(`${response.status} ${errors[0].extensions?.code ?? '-'}`);
    }
  }
  console.log(row(name, cells));
}
process.exit();
END

measure() { "$node" "$folder/gateways.js" 2> /dev/null; }
check
