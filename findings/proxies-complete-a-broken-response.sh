#!/usr/bin/env bash
# If a server's response breaks off in its body, http-proxy-middleware and fast-proxy append their own error text to what has
# arrived, up to the announced length, and end the response as if it were complete. The client gets a 200 whose body begins with the
# server's text and ends with the proxy's. Other proxies break the response off, too.
#
# How to read the table: whether the body that curl gets is "complete" or "broken off", and its first 24 characters. The server
# announces 24 bytes, sends 12 of them, and resets the connection.
#
# Seen on 2026-11-28 with Node 24.21.0 and the versions in the script.
#
#| http-proxy-middleware 4.2.2    complete     {"status":0,Error occurr
#| fast-proxy 2.2.0               complete     {"status":0,read ECONNRE
#| express-http-proxy 2.1.2       broken off   {"status":0,
#| @fastify/http-proxy 11.6.3     broken off   {"status":0,
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm http-proxy-middleware@4.2.2 fast-proxy@2.2.0 express@5.3.0 express-http-proxy@2.1.2 @fastify/http-proxy@11.6.3 \
  fastify@5.12.8
start_server

cat > "$folder/proxies.js" <<'END'
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import fastifyProxy from '@fastify/http-proxy';
import express from 'express';
import expressProxy from 'express-http-proxy';
import fastProxy from 'fast-proxy';
import fastify from 'fastify';
import { createProxyMiddleware } from 'http-proxy-middleware';

const [server, file] = process.argv.slice(2);
const listen = (handler) => {
  const listening = createServer(handler).listen(0, '127.0.0.1');
  return new Promise((resolve) => listening.once('listening', () => resolve(`http://127.0.0.1:${listening.address().port}`)));
};
const { proxy } = fastProxy({ base: server });
const app = fastify();
await app.register(fastifyProxy, { upstream: server });
const addresses = [
  await listen(express().use(createProxyMiddleware({ target: server }))),
  await listen((request, response) => proxy(request, response, request.url, {})),
  await listen(express().use(expressProxy(server))),
  await app.listen({ port: 0 }),
];
writeFileSync(file, addresses.join('\n'));
END

row() {
  local status=0
  curl -s -m 5 -o "$folder/body" "$2/?reply=broken" || status=$?
  printf '%-30s %-12s %s\n' "$1" "$( ((status == 0)) && echo complete || echo 'broken off')" "$(head -c 24 "$folder/body")"
}

measure() {
  "$node" "$folder/proxies.js" "http://$server" "$folder/addresses" > "$folder/log" 2>&1 &
  pids+=($!)
  wait_for test -s "$folder/addresses"
  mapfile -t address < "$folder/addresses"
  row 'http-proxy-middleware 4.2.2' "${address[0]}"
  row 'fast-proxy 2.2.0' "${address[1]}"
  row 'express-http-proxy 2.1.2' "${address[2]}"
  row '@fastify/http-proxy 11.6.3' "${address[3]}"
}
check
