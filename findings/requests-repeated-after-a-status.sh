#!/usr/bin/env bash
# Proxies and clients that send a request again because of the status of its response, by default: @fastify/http-proxy sends a GET
# eleven times after 503, without a pause, and also with `maxRetriesOn503: 0`, unless the client sends `Content-Length: 0`. The `fetch` of Node sends a GET and a POST again after 421, and so do the proxies of Hono and h3, which use it. Squid asks its
# second peer after 502 and 504.
#
# How to read the table: how often one request arrives at the server, which answers each one with the status of the column. "length
# 0": the client sends `Content-Length: 0` with the GET.
#
# Seen on 2026-11-28 with Node 24.21.0, the versions of npm in the script, and with Debian 12: squid 5.7-2+deb12u6.
#
#|                                                503  length 0       502       421  POST 421
#| @fastify/http-proxy 11.6.3                      11         1         1         1         1
#| @fastify/http-proxy, maxRetriesOn503: 0         11         1         1         1         1
#| @fastify/http-proxy, retryMethods: []            1         1         1         1         1
#| hono 4.13.19, proxy()                            1         1         1         2         2
#| h3 2.0.8, proxyRequest()                         1         1         1         2         1
#| fetch of Node 24.21.0                            1         1         1         2         2
#| Squid, two peers                                 1         1         2         1         1
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"

need npm:npm squid:squid
print_versions squid
install_from_npm @fastify/http-proxy@11.6.3 fastify@5.12.8 hono@4.13.19 @hono/node-server@2.1.9 h3@2.0.8
start_server

cat > "$folder/proxies.js" <<'END'
import { writeFileSync } from 'node:fs';
import proxy from '@fastify/http-proxy';
import { serve } from '@hono/node-server';
import fastify from 'fastify';
import { H3, proxyRequest, serve as serveH3 } from 'h3';
import { Hono } from 'hono';
import { proxy as honoProxy } from 'hono/proxy';

const [server, file] = process.argv.slice(2);
const targetOf = (url) => server + new URL(url).search;

async function startFastify(options) {
  const app = fastify();
  await app.register(proxy, { upstream: server, ...options });
  return app.listen({ port: 0 });
}
const hono = new Hono().all('*', ({ req }) => honoProxy(targetOf(req.url), { ...req.raw }));
const honoServer = serve({ fetch: hono.fetch, hostname: '127.0.0.1', port: 0 });
const h3 = new H3().all('/**', (event) => proxyRequest(event, targetOf(event.req.url)));
const h3Server = serveH3(h3, { hostname: '127.0.0.1', port: 0, silent: true, gracefulShutdown: false });
await h3Server.ready();

const addresses = [
  await startFastify({}),
  await startFastify({ maxRetriesOn503: 0 }),
  await startFastify({ retryMethods: [] }),
  `http://127.0.0.1:${honoServer.address().port}`,
  h3Server.url,
];
writeFileSync(file, addresses.join('\n'));
END
cat > "$folder/fetch.js" <<'END'
const [url, method] = process.argv.slice(2);
await fetch(url, method === 'POST' ? { method, body: 'a' } : {});
END

# `row LABEL COMMAND…`: the command gets the URL and the method, and a header if there is one.
row() {
  printf '%-40s' "$1"
  shift
  for column in GET:503 GET-0:503 GET:502 GET:421 POST:421; do
    number=$((${number:-0} + 1))
    "$@" "?case=$number&reply=${column#*:}" "${column%:*}" > /dev/null 2>&1 || true
    printf ' %9s' "$(count "$number")"
  done
  echo
}
by_curl() {
  local options=()
  [ "$3" = GET-0 ] && options=(-H 'Content-Length: 0')
  [ "$3" = POST ] && options=(-d a)
  curl -s "${options[@]}" "$1/$2"
}
by_fetch() { "$node" "$folder/fetch.js" "http://$server/$1" "$2"; }

measure() {
  "$node" "$folder/proxies.js" "http://$server" "$folder/addresses" > "$folder/log" 2>&1 &
  pids+=($!)
  wait_for test -s "$folder/addresses"
  mapfile -t address < "$folder/addresses"
  printf '%-40s %9s %9s %9s %9s %9s\n' '' 503 'length 0' 502 421 'POST 421'
  row '@fastify/http-proxy 11.6.3' by_curl "${address[0]}"
  row '@fastify/http-proxy, maxRetriesOn503: 0' by_curl "${address[1]}"
  row '@fastify/http-proxy, retryMethods: []' by_curl "${address[2]}"
  row 'hono 4.13.19, proxy()' by_curl "${address[3]}"
  row 'h3 2.0.8, proxyRequest()' by_curl "${address[4]%/}"
  row 'fetch of Node 24.21.0' by_fetch
  start_proxy squid "cache_peer ${server%:*} parent ${server#*:} 0 no-query no-digest originserver name=two"
  row 'Squid, two peers' by_curl "http://$proxy"
}
check
