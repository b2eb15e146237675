#!/usr/bin/env bash
# Packages of npm for which 30 days are over at once, because `setTimeout` waits for at most 24.8 days, and for 1 ms if it is given more.
# memory-cache, expiry-map and moize forget a value as soon as they are told to keep it for 30 days, although each works with 24 days. If a
# server answers 503 with `Retry-After: 2592000`, axios-retry and the pipeline of the Azure SDK send the request again three times at
# once, where 24 days would be waited for. Node prints a warning that names no package.
#
# How to read the table: "24 days", "30 days": whether a value is still there 0.2 s after it was stored for this time, or how often the
# request has arrived 3 s after a client got a 503 with this `Retry-After` in seconds. The clients have their defaults.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                    24 days  30 days
#| memory-cache 0.2.0                 kept     gone
#| expiry-map 2.0.0                   kept     gone
#| moize 6.1.7, maxAge                kept     gone
#| lru-cache 11.5.3                   kept     kept
#| keyv 5.6.0                         kept     kept
#| memoizee 0.4.17, maxAge            kept     throws
#| axios-retry 4.5.0                  1        4
#| Azure core-rest-pipeline 1.25.1    1        4
#| got 16.1.0                         1        1
#| ky 2.1.0                           1        1
#| undici 8.12.4, RetryAgent          1        1
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm memory-cache@0.2.0 expiry-map@2.0.0 moize@6.1.7 lru-cache@11.5.3 keyv@5.6.0 memoizee@0.4.17 axios@1.21.1 axios-retry@4.5.0 \
  @azure/core-rest-pipeline@1.25.1 got@16.1.0 ky@2.1.0 undici@8.12.4

cat > "$folder/waits.js" <<'END'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDefaultHttpClient, createPipelineFromOptions, createPipelineRequest } from '@azure/core-rest-pipeline';
import axios from 'axios';
import axiosRetry from 'axios-retry';
import ExpiryMap from 'expiry-map';
import got from 'got';
import Keyv from 'keyv';
import ky from 'ky';
import { LRUCache } from 'lru-cache';
import memoizee from 'memoizee';
import memoryCache from 'memory-cache';
import moize from 'moize';
import { Agent, RetryAgent, request } from 'undici';

const DAYS = [24, 30];
const row = (name, ...cells) => console.log(name.padEnd(34) + cells.map((cell) => ` ${cell}`.padEnd(9)).join('').trimEnd());
row('', ...DAYS.map((days) => `${days} days`));

/** Remembers the first result of a function with one argument, and has it again if the function is not called twice. */
function memoized(wrap) {
  let calls = 0;
  const remembered = wrap(() => ++calls);
  remembered('a');
  return () => remembered('a');
}
/** Each stores 1 for so many milliseconds, and returns how it is read. */
const caches = {
  'memory-cache 0.2.0': (ms) => {
    const cache = new memoryCache.Cache();
    cache.put('a', 1, ms);
    return () => cache.get('a');
  },
  'expiry-map 2.0.0': (ms) => {
    const cache = new ExpiryMap(ms).set('a', 1);
    return () => cache.get('a');
  },
  'moize 6.1.7, maxAge': (maxAge) => memoized((compute) => moize(compute, { maxAge })),
  'lru-cache 11.5.3': (ttl) => {
    const cache = new LRUCache({ max: 10, ttl }).set('a', 1);
    return () => cache.get('a');
  },
  'keyv 5.6.0': async (ttl) => {
    const cache = new Keyv({ ttl });
    await cache.set('a', 1);
    return () => cache.get('a');
  },
  'memoizee 0.4.17, maxAge': (maxAge) => memoized((compute) => memoizee(compute, { maxAge, length: 1 })),
};
for (const [name, store] of Object.entries(caches)) {
  const cells = DAYS.map(async (days) => {
    const read = await store(days * 86_400_000);
    await sleep(200);
    return (await read()) === 1 ? 'kept' : 'gone';
  });
  row(name, ...(await Promise.all(cells.map((cell) => cell.catch(() => 'throws')))));
}

const arrived = {};
const server = createServer(({ url }, response) => {
  arrived[url] = (arrived[url] ?? 0) + 1;
  response.writeHead(503, { 'retry-after': url.split('/').at(-1) }).end();
}).listen(0, '127.0.0.1');
await once(server, 'listening');

const withRetry = axios.create();
axiosRetry(withRetry);
const pipeline = createPipelineFromOptions({});
const azure = createDefaultHttpClient();
const clients = {
  'axios-retry 4.5.0': (url) => withRetry.get(url),
  'Azure core-rest-pipeline 1.25.1': (url) =>
    pipeline.sendRequest(azure, createPipelineRequest({ url, allowInsecureConnection: true })),
  'got 16.1.0': (url) => got(url),
  'ky 2.1.0': (url) => ky(url),
  'undici 8.12.4, RetryAgent': (url) => request(url, { dispatcher: new RetryAgent(new Agent()) }),
};
const path = (name, days) => `/${encodeURIComponent(name)}/${days * 86_400}`;
for (const [name, send] of Object.entries(clients)) {
  for (const days of DAYS) send(`http://127.0.0.1:${server.address().port}${path(name, days)}`).catch(() => {});
}
await sleep(3000);
for (const name of Object.keys(clients)) row(name, ...DAYS.map((days) => arrived[path(name, days)]));
process.exit();
END

measure() { "$node" --no-warnings "$folder/waits.js"; }
check
