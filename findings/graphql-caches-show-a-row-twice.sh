#!/usr/bin/env bash
# What the caches of GraphQL clients show for a list in which two rows have the same id and two rows have none. A normalized cache keeps
# one row for an id, so one row is shown twice and the other one is lost. Apollo Client keeps the first row, graphcache and Relay keep the
# last one. `keyFields: ['id']` looks like Apollo's default, but it also merges the rows whose id is null.
#
# How to read the table: the names in the result, and whether the client warns about the two rows with the same id (in development).
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#| as the server sends them             First, Second, None A, None B
#| Apollo Client 4.3.8                  First, First, None A, None B
#| Apollo Client, keyFields: ['id']     First, First, None A, None A
#| Apollo Client, keyFields: false      First, Second, None A, None B
#| urql 6.0.3                           First, Second, None A, None B
#| graphcache 9.0.2 of urql             Second, Second, None A, None B
#| relay-runtime 21.0.1                 Second, Second, None A, None B   warns
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @apollo/client@4.3.8 rxjs@7.8.2 graphql@16.15.0 @urql/core@6.0.3 @urql/exchange-graphcache@9.0.2 relay-runtime@21.0.1

cat > "$folder/clients.js" <<'END'
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { cacheExchange, Client, fetchExchange, gql as urqlGql } from '@urql/core';
import { cacheExchange as graphcache } from '@urql/exchange-graphcache';
import relay from 'relay-runtime';

const rows = [['1', 'First'], ['1', 'Second'], [null, 'None A'], [null, 'None B']];
const response = { data: { accounts: rows.map(([id, name]) => ({ __typename: 'Account', id, name })) } };
const fields = ['__typename', 'id', 'name'];
const query = `{ accounts { ${fields.join(' ')} } }`;
const url = 'http://localhost';
const respond = async () => Response.json(response);

const apollo = (options) =>
  new ApolloClient({ link: new HttpLink({ uri: url, fetch: respond }), cache: new InMemoryCache(options) }).query({ query: gql(query) });
const keyFields = (value) => apollo({ typePolicies: { Account: { keyFields: value } } });
const urql = (exchange) =>
  new Client({ url, fetch: respond, preferGetMethod: false, exchanges: [exchange, fetchExchange] }).query(urqlGql(query), {}).toPromise();

// What relay-compiler makes of the query.
async function readWithRelay() {
  const field = { alias: null, args: null, storageKey: null };
  const selections = [
    {
      ...field,
      kind: 'LinkedField',
      name: 'accounts',
      concreteType: 'Account',
      plural: true,
      selections: fields.map((name) => ({ ...field, kind: 'ScalarField', name })),
    },
  ];
  const request = {
    kind: 'Request',
    fragment: { kind: 'Fragment', name: 'A', type: 'Query', argumentDefinitions: [], metadata: null, selections },
    operation: { kind: 'Operation', name: 'A', argumentDefinitions: [], selections },
    params: { cacheID: 'a', id: null, metadata: {}, name: 'A', operationKind: 'query', text: `query A ${query}` },
  };
  const network = relay.Network.create(async () => response);
  const environment = new relay.Environment({ network, store: new relay.Store(new relay.RecordSource()) });
  return { data: await relay.fetchQuery(environment, request, {}).toPromise() };
}

const clients = {
  'as the server sends them': () => response,
  'Apollo Client 4.3.8': () => apollo(),
  "Apollo Client, keyFields: ['id']": () => keyFields(['id']),
  'Apollo Client, keyFields: false': () => keyFields(false),
  'urql 6.0.3': () => urql(cacheExchange),
  'graphcache 9.0.2 of urql': () => urql(graphcache({})),
  'relay-runtime 21.0.1': readWithRelay,
};
let warnings = '';
for (const level of ['warn', 'error']) console[level] = (...texts) => (warnings += texts.join(' '));
for (const [name, read] of Object.entries(clients)) {
  warnings = '';
  const { data } = await read();
  const names = data.accounts.map((row) => row.name).join(', ');
  console.log(`${name.padEnd(37)}${names}${warnings.includes('same id') ? '   warns' : ''}`);
}
process.exit();
END

measure() { "$node" "$folder/clients.js"; }
check
