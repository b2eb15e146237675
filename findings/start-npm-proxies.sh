# Starts four proxies of npm in front of a server. The default export of server.js, in the temporary folder, is the handler of the server. The
# argument has the options of Fastify, in JSON. The script installs @fastify/http-proxy with fastify, hono with @hono/node-server, h3, and
# http-proxy-middleware before. $server is then the address of the server.
start_npm_proxies() {
  cat > "$folder/proxies.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';
import fastifyProxy from '@fastify/http-proxy';
import { getRequestListener } from '@hono/node-server';
import Fastify from 'fastify';
import { H3, proxyRequest, toNodeHandler } from 'h3';
import { Hono } from 'hono';
import { proxy } from 'hono/proxy';
import { createProxyMiddleware } from 'http-proxy-middleware';
import handle from './server.js';

async function start(name, server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${server.address().port}`;
  console.log(`${name} ${address}`);
  return `http://${address}`;
}

const target = await start('server', http.createServer(handle));
const fastify = Fastify(JSON.parse(process.argv[2] ?? '{}'));
fastify.register(fastifyProxy, { upstream: target });
await fastify.ready();
await start('fastify', fastify.server);
const hono = new Hono().all('*', ({ req }) => proxy(target + req.path, req.raw));
hono.onError((_, context) => context.text('no', 500));
await start('hono', http.createServer(getRequestListener(hono.fetch)));
const h3 = new H3({ silent: true }).all('/**', (event) => proxyRequest(event, target + event.url.pathname));
await start('h3', http.createServer(toNodeHandler(h3)));
await start('middleware', http.createServer(createProxyMiddleware({ target, logger: { info() {}, warn() {}, error() {} } })));
END
  "$node" "$folder/proxies.js" "$@" > "$folder/addresses" 2> /dev/null &
  pids+=($!)
  wait_for grep -q middleware "$folder/addresses"
  server=$(address_of server)
}

# The address of the proxy `fastify`, `hono`, `h3` or `middleware`.
address_of() { sed -n "s/^$1 //p" "$folder/addresses"; }
