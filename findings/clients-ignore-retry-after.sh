#!/usr/bin/env bash
# Which clients of npm wait as long as `Retry-After` says before they send a request again. Some do not read the header.
# @fastify/http-proxy takes its seconds for milliseconds, and a date for no time at all.
#
# How to read the table: the server answers the first request with the status, and with `Retry-After` as "3" or as the date three seconds
# later. "waits": the second request comes after that. "early": before. "none": there is no second one. The clients have their defaults,
# but the option in the row that switches retrying on.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                     503/3     503/date  429/3     429/date
#| @fastify/http-proxy 11.6.3          early     early     none      none
#| superagent 10.4.2, retry(2)         early     early     early     early
#| make-fetch-happen 16.0.1, retry: 3  early     early     early     early
#| ofetch 1.5.1                        early     early     early     early
#| fetch-retry 6.0.0, retryOn          early     early     early     early
#| wretch 3.0.9, retry()               early     early     none      none
#| axios-retry 4.5.0                   waits     waits     waits     waits
#| retry-axios 4.0.3                   waits     waits     waits     waits
#| got 16.1.0                          waits     waits     waits     waits
#| ky 2.1.0                            waits     waits     waits     waits
#| undici 8.12.4, RetryAgent           waits     waits     waits     waits
#| Azure core-rest-pipeline 1.25.1     waits     waits     waits     waits
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm @fastify/http-proxy@11.6.3 fastify@5.12.8 superagent@10.4.2 make-fetch-happen@16.0.1 ofetch@1.5.1 fetch-retry@6.0.0 \
  wretch@3.0.9 axios@1.21.1 axios-retry@4.5.0 retry-axios@4.0.3 got@16.1.0 ky@2.1.0 undici@8.12.4 @azure/core-rest-pipeline@1.25.1

cat > "$folder/clients.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';
import { createDefaultHttpClient, createPipelineFromOptions, createPipelineRequest } from '@azure/core-rest-pipeline';
import fastifyProxy from '@fastify/http-proxy';
import axios from 'axios';
import axiosRetry from 'axios-retry';
import Fastify from 'fastify';
import withRetry from 'fetch-retry';
import got from 'got';
import ky from 'ky';
import makeFetchHappen from 'make-fetch-happen';
import { ofetch } from 'ofetch';
import { attach } from 'retry-axios';
import superagent from 'superagent';
import { Agent, request, RetryAgent } from 'undici';
import wretch from 'wretch';
import { retry } from 'wretch/middlewares';

const arrivals = new Map();
const server = http.createServer(({ url }, response) => {
  const [status, form] = url.split('/').slice(-2);
  const now = Date.now();
  const first = arrivals.get(url);
  if (first) {
    first.isEarly ??= now < first.until - 100;
    return response.end('{}');
  }
  const date = new Date(Math.ceil(now / 1000) * 1000 + 3000);
  arrivals.set(url, { until: form === 'date' ? date.getTime() : now + 3000 });
  response.writeHead(Number(status), { 'retry-after': form === 'date' ? date.toUTCString() : '3' }).end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const fastify = Fastify();
fastify.register(fastifyProxy, { upstream: origin });
const proxy = await fastify.listen({ port: 0, host: '127.0.0.1' });

const withAxios = (url, prepare) => {
  const client = axios.create();
  prepare(client);
  return client.get(url);
};
const clients = {
  '@fastify/http-proxy 11.6.3': (url) => fetch(url.replace(origin, proxy)),
  'superagent 10.4.2, retry(2)': (url) => superagent.get(url).retry(2),
  'make-fetch-happen 16.0.1, retry: 3': (url) => makeFetchHappen(url, { retry: 3 }),
  'ofetch 1.5.1': (url) => ofetch(url),
  'fetch-retry 6.0.0, retryOn': (url) => withRetry(fetch)(url, { retryOn: [429, 503] }),
  'wretch 3.0.9, retry()': (url) => wretch(url).middlewares([retry()]).get().res(),
  'axios-retry 4.5.0': (url) => withAxios(url, axiosRetry),
  'retry-axios 4.0.3': (url) => withAxios(url, attach),
  'got 16.1.0': (url) => got(url),
  'ky 2.1.0': (url) => ky(url),
  'undici 8.12.4, RetryAgent': (url) => request(url, { dispatcher: new RetryAgent(new Agent()) }),
  'Azure core-rest-pipeline 1.25.1': (url) =>
    createPipelineFromOptions({}).sendRequest(createDefaultHttpClient(), createPipelineRequest({ url, allowInsecureConnection: true })),
};

async function send(name, reply) {
  const path = `/${Object.keys(clients).indexOf(name)}/${reply}`;
  await clients[name](origin + path).catch(() => {});
  const { isEarly } = arrivals.get(path);
  return { true: 'early', false: 'waits', undefined: 'none' }[isEarly].padEnd(10);
}

const replies = ['503/3', '503/date', '429/3', '429/date'];
console.log(`${''.padEnd(36)}${replies.map((reply) => reply.padEnd(10)).join('')}`.trimEnd());
const rows = Object.keys(clients).map(async (name) => {
  const cells = await Promise.all(replies.map((reply) => send(name, reply)));
  return `${name.padEnd(36)}${cells.join('')}`.trimEnd();
});
for (const row of await Promise.all(rows)) console.log(row);
process.exit();
END

measure() { timeout 60 "$node" "$folder/clients.js" 2> /dev/null; }
check
