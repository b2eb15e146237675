#!/usr/bin/env bash
# A subgraph returns a new member of a union, or a new enum value, and the gateway still has the older schema. In graphql-js, the field is
# then `null` with an entry in `errors`. Schema stitching and its federation, which Hive Gateway uses, answer `null` without any error, and
# @apollo/gateway mentions it in `extensions` alone. So a mutation that was executed looks as if it had no result. Publish the schema
# before the subgraph that returns the new member.
#
# How to read the table: `data`, whether there are `errors`, and the names in `extensions` of the response to a mutation, for which the
# subgraph returns a union member C or an enum value BLUE that the schema of the gateway does not have.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#| graphql 16.15.0                  {"union":null}, errors
#| graphql 16.15.0                  {"enum":null}, errors
#| @graphql-tools/stitch 10.3.1     {"union":null}, no errors
#| @graphql-tools/stitch 10.3.1     {"enum":null}, no errors
#| @graphql-tools/federation 4.5.2  {"union":null}, no errors
#| @graphql-tools/federation 4.5.2  {"enum":null}, no errors
#| @apollo/gateway 2.14.4           {"union":null}, no errors, valueCompletion
#| @apollo/gateway 2.14.4           {"enum":null}, no errors, valueCompletion
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm graphql@16.15.0 @graphql-tools/stitch@10.3.1 @graphql-tools/federation@4.5.2 @apollo/gateway@2.14.4 @apollo/server@5.5.1 \
  @theguild/federation-composition@0.27.0

cat > "$folder/gateways.js" <<'END'
import { ApolloGateway } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { getStitchedSchemaFromSupergraphSdl } from '@graphql-tools/federation';
import { stitchSchemas } from '@graphql-tools/stitch';
import { composeServices } from '@theguild/federation-composition';
import { buildSchema, graphql, parse } from 'graphql';

const sdl = `
  type Query { a: Int }
  type Mutation { union: Result, enum: Color }
  union Result = A | B
  type A { a: Int }
  type B { b: Int }
  enum Color { RED, GREEN }`;
const cases = {
  union: { source: 'mutation { union { __typename ... on A { a } ... on B { b } } }', data: { union: { __typename: 'C' } } },
  enum: { source: 'mutation { enum }', data: { enum: 'BLUE' } },
};
const link = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.3")';
const { supergraphSdl } = composeServices([{ name: 'a', url: 'http://localhost', typeDefs: parse(link + sdl) }]);

const gateways = {
  'graphql 16.15.0': ({ source, data }) =>
    graphql({ schema: buildSchema(sdl), source, rootValue: { union: () => data.union, enum: () => data.enum } }),
  '@graphql-tools/stitch 10.3.1': ({ source, data }) =>
    graphql({ schema: stitchSchemas({ subschemas: [{ schema: buildSchema(sdl), executor: async () => ({ data }) }] }), source }),
  '@graphql-tools/federation 4.5.2': ({ source, data }) => {
    const onSubschemaConfig = (config) => Object.assign(config, { executor: async () => ({ data }) });
    return graphql({ schema: getStitchedSchemaFromSupergraphSdl({ supergraphSdl, onSubschemaConfig }), source });
  },
  '@apollo/gateway 2.14.4': async ({ source, data }) => {
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const gateway = new ApolloGateway({ supergraphSdl, logger, buildService: () => ({ process: async () => ({ data }) }) });
    const server = new ApolloServer({ gateway, logger });
    await server.start();
    return (await server.executeOperation({ query: source })).body.singleResult;
  },
};
for (const [name, answer] of Object.entries(gateways)) {
  for (const one of Object.values(cases)) {
    const { data, errors = [], extensions = {} } = await answer(one);
    const seen = [JSON.stringify(data), errors.length ? 'errors' : 'no errors', ...Object.keys(extensions)];
    console.log(`${name.padEnd(32)} ${seen.join(', ')}`);
  }
}
process.exit();
END

measure() { "$node" "$folder/gateways.js"; }
check
