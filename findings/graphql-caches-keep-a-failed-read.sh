#!/usr/bin/env bash
# What GraphQL clients show if a field fails once, and the same query is run again after the server has recovered. The response is `null`
# for the field, with an entry in `errors`. With `errorPolicy: 'all'`, which exists to show errors, Apollo Client reports the error once.
# Then it answers from its cache, with `null` and without the error. Relay does not even report it the first time.
#
# How to read the table: the field in both results ("-": no data), and whether there is an error. "requests": how many the server gets, so
# that 1 says that the second result comes from the cache. The fetch policies are those by default; Relay's is `store-or-network`.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                          first         second        requests
#| Apollo Client 4.3.8, errorPolicy 'none'  -, error      A             2
#| Apollo Client, errorPolicy 'all'         null, error   null          1
#| Apollo Client, errorPolicy 'ignore'      null          null          1
#| urql 6.0.3                               null, error   null, error   1
#| graphcache 9.0.2 of urql                 -, error      A             2
#| relay-runtime 21.0.1, fetchQuery()       null          null          1
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @apollo/client@4.3.8 rxjs@7.8.2 graphql@16.15.0 @urql/core@6.0.3 @urql/exchange-graphcache@9.0.2 relay-runtime@21.0.1

cat > "$folder/clients.js" <<'END'
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { cacheExchange, Client, fetchExchange, gql as urqlGql } from '@urql/core';
import { cacheExchange as graphcache } from '@urql/exchange-graphcache';
import relay from 'relay-runtime';

const failed = { data: { a: null }, errors: [{ message: 'no', path: ['a'] }] };
const query = '{ a }';
const url = 'http://localhost';

const apollo = (errorPolicy) => (fetch) => {
  const client = new ApolloClient({ link: new HttpLink({ uri: url, fetch }), cache: new InMemoryCache() });
  return () => client.query({ query: gql(query), errorPolicy });
};
const urql = (exchange) => (fetch) => {
  const client = new Client({ url, fetch, preferGetMethod: false, exchanges: [exchange, fetchExchange] });
  return () => client.query(urqlGql(query), {}).toPromise();
};
const readWithRelay = (fetch) => {
  const selections = [{ kind: 'ScalarField', name: 'a', alias: null, args: null, storageKey: null }];
  // What relay-compiler makes of the query.
  const request = {
    kind: 'Request',
    fragment: { kind: 'Fragment', name: 'A', type: 'Query', argumentDefinitions: [], metadata: null, selections },
    operation: { kind: 'Operation', name: 'A', argumentDefinitions: [], selections },
    params: { cacheID: 'a', id: null, metadata: {}, name: 'A', operationKind: 'query', text: `query A ${query}` },
  };
  const network = relay.Network.create(async () => (await fetch()).json());
  const environment = new relay.Environment({ network, store: new relay.Store(new relay.RecordSource()) });
  return async () => ({ data: await relay.fetchQuery(environment, request, {}, { fetchPolicy: 'store-or-network' }).toPromise() });
};

const clients = {
  "Apollo Client 4.3.8, errorPolicy 'none'": apollo('none'),
  "Apollo Client, errorPolicy 'all'": apollo('all'),
  "Apollo Client, errorPolicy 'ignore'": apollo('ignore'),
  'urql 6.0.3': urql(cacheExchange),
  'graphcache 9.0.2 of urql': urql(graphcache({})),
  'relay-runtime 21.0.1, fetchQuery()': readWithRelay,
};
console.log(`${''.padEnd(41)}first         second        requests`);
for (const [name, start] of Object.entries(clients)) {
  let requests = 0;
  const read = start(async () => Response.json(requests++ === 0 ? failed : { data: { a: 'A' } }));
  const cells = [];
  for (let number = 0; number < 2; number++) {
    const { data, error } = await read().catch((thrown) => ({ error: thrown }));
    cells.push(`${data ? data.a : '-'}${error ? ', error' : ''}`.padEnd(14));
  }
  console.log(`${name.padEnd(41)}${cells.join('')}${requests}`);
}
process.exit();
END

measure() { "$node" "$folder/clients.js"; }
check
