#!/usr/bin/env bash
# HTTP and GraphQL clients of npm that send a request again by themselves, or with one line of configuration. The usual retry
# helpers repeat a POST of GraphQL, which is a mutation here, as if it were a read. Clients that send everything once are left out,
# such as Apollo Client, urql, Relay, graphql-request and axios without a retry helper, and `fetch` itself.
#
# How to read the table: how often one request arrives at the server. "closed": the server reads the first one and closes the
# connection without a response. "always": it does so with each one. "503": it answers the first one with 503.
# "503 always": it answers each one with 503.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script. Relay is relay-runtime 21.0.1 with react-relay-network-modern
# 6.2.2.
#
#|                                              closed     always        503 503 always
#| axios-retry 4.5.0, POST                           2          4          1          1
#| axios-retry, isRetryableError, POST               2          4          2          4
#| superagent 10.4.2, retry(2), POST                 2          3          2          3
#| fetch-retry 6.0.0, POST                           2          4          1          1
#| wretch 3.0.9, retry(), POST                       1          1          2         11
#| ky 2.1.0, retry.methods post, POST                2          3          2          3
#| got 16.1.0, retry.methods POST, POST              2          3          2          3
#| Apollo 4.3.8, RetryLink(), mutation               2          5          2          5
#| urql 6.0.3, retryExchange({}), mutation           2          2          2          2
#| RTK Query 2.15.0, retry(), mutation               2          6          2          6
#| TanStack 5.108.4, retry: 3, mutation              2          4          2          4
#| Relay, retryMiddleware, allowMutations            2          3          2          3
#| make-fetch-happen 16.0.1, retry: 3, GET           2          4          2          4
#| undici 8.12.4, RetryAgent, GET                    2          6          2          6
#| got 16.1.0, GET                                   2          3          2          3
#| ky 2.1.0, GET                                     2          3          2          3
#| ofetch 1.5.1, GET                                 2          2          2          2
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm axios@1.21.1 axios-retry@4.5.0 got@16.1.0 ky@2.1.0 ofetch@1.5.1 superagent@10.4.2 fetch-retry@6.0.0 wretch@3.0.9 \
  @apollo/client@4.3.8 rxjs@7.8.2 graphql@16.15.0 @urql/core@6.0.3 @urql/exchange-retry@2.0.0 @reduxjs/toolkit@2.15.0 \
  @tanstack/query-core@5.108.4 wonka@6.3.6 make-fetch-happen@16.0.1 react-relay-network-modern@6.2.2 relay-runtime@21.0.1 undici@8.12.4
start_server

cat > "$folder/clients.js" <<'END'
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { configureStore } from '@reduxjs/toolkit';
import { createApi, fetchBaseQuery, retry } from '@reduxjs/toolkit/query';
import { MutationObserver, QueryClient } from '@tanstack/query-core';
import { Client, fetchExchange, gql as urqlGql } from '@urql/core';
import { retryExchange } from '@urql/exchange-retry';
import axios from 'axios';
import axiosRetry, { isRetryableError } from 'axios-retry';
import withRetry from 'fetch-retry';
import got from 'got';
import ky from 'ky';
import makeFetchHappen from 'make-fetch-happen';
import { ofetch } from 'ofetch';
import relayNetwork from 'react-relay-network-modern';
import relay from 'relay-runtime';
import superagent from 'superagent';
import { Agent, request, RetryAgent } from 'undici';
import wretch from 'wretch';
import { retry as wretchRetry } from 'wretch/middlewares';

const server = process.argv[2];
const body = { query: 'mutation { a }' };
const mutation = 'mutation { a }';
const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };

const repeatingAxios = (options) => {
  const client = axios.create();
  axiosRetry(client, options);
  return client;
};
const apollo = (uri) => {
  const link = ApolloLink.from([new RetryLink(), new HttpLink({ uri })]);
  return new ApolloClient({ link, cache: new InMemoryCache() }).mutate({ mutation: gql(mutation) });
};
const urql = (url) => {
  const exchanges = [retryExchange({}), fetchExchange];
  return new Client({ url, exchanges, preferGetMethod: false }).mutation(urqlGql(mutation), {}).toPromise();
};
const toolkit = (url) => {
  const baseQuery = retry(fetchBaseQuery({ baseUrl: url }));
  const endpoints = (build) => ({ save: build.mutation({ query: () => ({ url: '', method: 'POST', body }) }) });
  const api = createApi({ baseQuery, endpoints });
  const store = configureStore({ reducer: { api: api.reducer }, middleware: (all) => all().concat(api.middleware) });
  return store.dispatch(api.endpoints.save.initiate());
};
const tanstack = (url) => {
  const mutationFn = () => ofetch(url, { method: 'POST', body });
  return new MutationObserver(new QueryClient(), { mutationFn, retry: 3 }).mutate();
};

const relayModern = (url) => {
  const { RelayNetworkLayer, retryMiddleware, urlMiddleware } = relayNetwork;
  const network = new RelayNetworkLayer([urlMiddleware({ url }), retryMiddleware({ allowMutations: true, logger: false })], { noThrow: true });
  const environment = new relay.Environment({ network, store: new relay.Store(new relay.RecordSource()) });
  const params = { id: null, cacheID: 'a', name: 'a', text: mutation, operationKind: 'mutation', metadata: {} };
  return environment.getNetwork().execute(params, {}, {}).toPromise();
};

const clients = {
  'axios-retry 4.5.0, POST': (url) => repeatingAxios().post(url, body),
  'axios-retry, isRetryableError, POST': (url) => repeatingAxios({ retryCondition: isRetryableError }).post(url, body),
  'superagent 10.4.2, retry(2), POST': (url) => superagent.post(url).retry(2).send(body),
  'fetch-retry 6.0.0, POST': (url) => withRetry(fetch)(url, post),
  'wretch 3.0.9, retry(), POST': (url) => wretch(url).middlewares([wretchRetry()]).post(body).res(),
  'ky 2.1.0, retry.methods post, POST': (url) => ky.post(url, { json: body, retry: { methods: ['post'] } }),
  'got 16.1.0, retry.methods POST, POST': (url) => got.post(url, { json: body, retry: { methods: ['POST'] } }),
  'Apollo 4.3.8, RetryLink(), mutation': apollo,
  'urql 6.0.3, retryExchange({}), mutation': urql,
  'RTK Query 2.15.0, retry(), mutation': toolkit,
  'TanStack 5.108.4, retry: 3, mutation': tanstack,
  'Relay, retryMiddleware, allowMutations': relayModern,
  'make-fetch-happen 16.0.1, retry: 3, GET': (url) => makeFetchHappen(url, { retry: 3 }),
  'undici 8.12.4, RetryAgent, GET': (url) => request(url, { dispatcher: new RetryAgent(new Agent()) }),
  'got 16.1.0, GET': (url) => got(url),
  'ky 2.1.0, GET': (url) => ky(url),
  'ofetch 1.5.1, GET': (url) => ofetch(url),
};

async function arrivals(name, reply) {
  const one = `${server}?case=${encodeURIComponent(`${name} ${reply}`)}`;
  await clients[name](`${one}&reply=${reply}`).catch(() => {});
  return (await (await fetch(`${one}&reply=count`)).text()).padStart(10);
}

console.log(''.padEnd(40) + ['closed', 'always', '503', '503 always'].map((text) => text.padStart(11)).join(''));
const rows = Object.keys(clients).map(async (name) => {
  const replies = ['close-first', 'close', '503-first', '503'].map((reply) => arrivals(name, reply));
  return `${name.padEnd(40)} ${(await Promise.all(replies)).join(' ')}`;
});
for (const row of await Promise.all(rows)) console.log(row);
process.exit();
END

measure() { "$node" "$folder/clients.js" "http://$server/"; }
check
