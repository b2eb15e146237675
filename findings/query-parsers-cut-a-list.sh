#!/usr/bin/env bash
# How much of a long query string a handler gets. Express, hapi and Polka drop everything after the first 1,000 parameters, without an
# error or a log line. So of `?id=0&id=1&…&dry=1`, the handler gets 1,000 ids and no `dry`. Express rejects the same text in a body with
# 413. With `query parser: extended`, which was the default of Express 4, Express 5 turns a list of more than 20 entries into an object
# with the keys 0, 1, 2 and so on: it has no `length`, and `for … of` throws. In a body, and in Express 4, it stays a list.
#
# How to read the table: what the handler gets for so many times `id=`, followed by `dry=1`. A number says that it gets a list of so many
# ids, "object" that it gets them in an object, and "no dry" that the last parameter is missing. "413": the status of the response.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                   20                   21                   999                  1000                 1500
#| Express 5.3.0                     20                   21                   999                  1000, no dry         1000, no dry
#| Express 5, extended query parser  20                   object 21            object 999           object 1000, no dry  object 1000, no dry
#| Express 5, urlencoded body        20                   21                   999                  413                  413
#| Express 4.22.3                    20                   21                   999                  1000, no dry         1000, no dry
#| Express 4, urlencoded body        20                   21                   999                  413                  413
#| hapi 21.4.10                      20                   21                   999                  1000, no dry         1000, no dry
#| Polka 0.5.2                       20                   21                   999                  1000, no dry         1000, no dry
#| node:querystring                  20                   21                   999                  1000, no dry         1000, no dry
#| Koa 3.2.1                         20                   21                   999                  1000                 1500
#| Fastify 5.12.8                    20                   21                   999                  1000                 1500
#| Hono 4.13.19                      20                   21                   999                  1000                 1500
#| h3 2.0.8                          20                   21                   999                  1000                 1500
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm express@5.3.0 express-4@npm:express@4.22.3 @hapi/hapi@21.4.10 polka@0.5.2 koa@3.2.1 fastify@5.12.8 hono@4.13.19 \
  @hono/node-server@2.1.8 h3@2.0.8

cat > "$folder/lists.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';
import { parse } from 'node:querystring';
import Hapi from '@hapi/hapi';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import express4 from 'express-4';
import Fastify from 'fastify';
import { getQuery, H3, toNodeHandler } from 'h3';
import { Hono } from 'hono';
import Koa from 'koa';
import polka from 'polka';

// What a handler has got, as a cell of the table.
const describe = ({ id, dry }) => {
  const ids = Array.isArray(id) ? id.length : `object ${Object.keys(id).length}`;
  return dry ? `${ids}` : `${ids}, no dry`;
};
const listen = async (handler) => {
  const server = http.createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
};
const ofExpress = (create, settings = {}) => {
  const app = create();
  for (const [name, value] of Object.entries(settings)) app.set(name, value);
  return listen(app.get('/', ({ query }, response) => response.end(describe(query))));
};
const bodyOfExpress = (create) => {
  const app = create();
  app.post('/', create.urlencoded({ extended: true }), ({ body }, response) => response.end(describe(body)));
  app.use((error, _request, response, _next) => response.status(error.status).end(String(error.status)));
  return listen(app);
};

const servers = {
  'Express 5.3.0': () => ofExpress(express),
  'Express 5, extended query parser': () => ofExpress(express, { 'query parser': 'extended' }),
  'Express 5, urlencoded body': () => bodyOfExpress(express),
  'Express 4.22.3': () => ofExpress(express4),
  'Express 4, urlencoded body': () => bodyOfExpress(express4),
  'hapi 21.4.10': async () => {
    const server = Hapi.server({ port: 0, host: '127.0.0.1' });
    server.route({ method: 'GET', path: '/', handler: ({ query }) => describe(query) });
    await server.start();
    return server.info.port;
  },
  'Polka 0.5.2': () => listen(polka().get('/', ({ query }, response) => response.end(describe(query))).handler),
  'node:querystring': () => listen(({ url }, response) => response.end(describe(parse(url.slice(2))))),
  'Koa 3.2.1': () => {
    const app = new Koa();
    app.use((context) => {
      context.body = describe(context.query);
    });
    return listen(app.callback());
  },
  'Fastify 5.12.8': async () => {
    const app = Fastify();
    app.get('/', ({ query }) => describe(query));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server.address().port;
  },
  'Hono 4.13.19': () => {
    const app = new Hono();
    app.get('/', ({ req, text }) => text(describe({ id: req.queries('id'), dry: req.query('dry') })));
    return listen(getRequestListener(app.fetch));
  },
  'h3 2.0.8': () => listen(toNodeHandler(new H3().get('/', (event) => describe(getQuery(event))))),
};

const counts = [20, 21, 999, 1000, 1500];
console.log(`${''.padEnd(34)}${counts.map((count) => String(count).padEnd(21)).join('')}`.trimEnd());
for (const [name, start] of Object.entries(servers)) {
  const url = `http://127.0.0.1:${await start()}/`;
  const cells = [];
  for (const count of counts) {
    const query = `${'id=1&'.repeat(count)}dry=1`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await (name.endsWith('body') ? fetch(url, { method: 'POST', headers, body: query }) : fetch(`${url}?${query}`));
    cells.push((await response.text()).padEnd(21));
  }
  console.log(`${name.padEnd(34)}${cells.join('')}`.trimEnd());
}
process.exit();
END

measure() { timeout 60 "$node" "$folder/lists.js"; }
check
