#!/usr/bin/env bash
# undici, and so `fetch` of Node, fails with "bad response" if a server sends 100 Continue before its response, although the server has
# processed the request. Its documentation says that it ignores a 100, and each client has to accept one (RFC 9110, section 15.2). A proxy
# that forwards with undici answers 500 then. It also does so if the client sends `Expect: 100-continue`, as curl does by itself with a body
# of more than 1 MiB. Varnish answers a 100 of the server with 503.
#
# How to read the table: the status that a client gets, or the message of the error. "100": a server that sends 100, and then 200.
# "Expect": an upload by a client that sends `Expect: 100-continue`; for the proxies this is curl with 2 MiB and no further option.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: curl 7.88.1-10+deb12u14, haproxy
# 2.6.12-1+deb12u4, varnish 7.1.1-2+deb12u1.
#
#|                                  100            Expect
#| fetch of Node                    bad response   expect header not supported
#| undici 8.12.4                    bad response   expect header not supported
#| http of Node                     200            200
#| got 16.1.0                       200            200
#| axios 1.21.1                     200            200
#| @fastify/http-proxy 11.6.3       500            500
#| hono 4.13.19, proxy()            500            500
#| h3 2.0.8, proxyRequest()         502            200
#| http-proxy-middleware 4.2.2      200            200
#| Varnish                          503            200
#| HAProxy                          200            200
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/start-proxy.sh"
. "$(dirname "$0")/start-npm-proxies.sh"

need npm:npm curl:curl haproxy:haproxy varnishd:varnish
print_versions curl haproxy varnish
install_from_npm undici@8.12.4 got@16.1.0 axios@1.21.1 fastify@5.12.8 @fastify/http-proxy@11.6.3 hono@4.13.19 @hono/node-server@2.1.9 \
  h3@2.0.8 http-proxy-middleware@4.2.2

cat > "$folder/server.js" <<'END'
export default async (request, response) => {
  for await (const _ of request);
  if (request.url === '/100') response.writeContinue();
  response.end('ok');
};
END
start_npm_proxies '{ "bodyLimit": 8388608 }'

cat > "$folder/clients.js" <<'END'
import http from 'node:http';
import axios from 'axios';
import got from 'got';
import { request } from 'undici';

const clients = {
  'fetch of Node': async (url, headers) => (await fetch(url, { method: 'POST', headers, body: '{}' })).status,
  'undici 8.12.4': async (url, headers) => (await request(url, { method: 'POST', headers, body: '{}' })).statusCode,
  'http of Node': (url, headers) =>
    new Promise((resolve, reject) => {
      const sent = http.request(url, { method: 'POST', headers }, ({ statusCode }) => resolve(statusCode));
      sent.on('error', reject).end('{}');
    }),
  'got 16.1.0': async (url, headers) => (await got.post(url, { headers, body: '{}' })).statusCode,
  'axios 1.21.1': async (url, headers) => (await axios.post(url, '{}', { headers })).status,
};
for (const [name, send] of Object.entries(clients)) {
  const cells = [];
  for (const [path, headers] of [['100', {}], ['', { expect: '100-continue' }]]) {
    const result = await send(`http://${process.argv[2]}/${path}`, headers).catch(({ message, cause }) => cause?.message ?? message);
    cells.push(String(result).padEnd(15));
  }
  console.log(`${name.padEnd(33)}${cells.join('')}`.trimEnd());
}
process.exit();
END

head -c 2M /dev/zero > "$folder/file"

row() {
  local status=(-s -o /dev/null -w '%{http_code}' --max-time 30)
  printf '%-33s%-15s%s\n' "$1" "$(curl "${status[@]}" -d '{}' "$2/100")" "$(curl "${status[@]}" --data-binary "@$folder/file" "$2/")"
}

measure() {
  printf '%-33s%-15s%s\n' '' 100 Expect
  "$node" "$folder/clients.js" "$server"
  row '@fastify/http-proxy 11.6.3' "$(address_of fastify)"
  row 'hono 4.13.19, proxy()' "$(address_of hono)"
  row 'h3 2.0.8, proxyRequest()' "$(address_of h3)"
  row 'http-proxy-middleware 4.2.2' "$(address_of middleware)"
  start_proxy varnish
  row 'Varnish' "$proxy"
  start_proxy haproxy
  row 'HAProxy' "$proxy"
}
check
