#!/usr/bin/env bash
# What servers of Node make of the name of an uploaded file. multer and express-fileupload, which are the usual ones for Express, take each
# byte of UTF-8 for a letter, so that `März.csv` becomes `MÃ¤rz.csv`; both have an option `defParamCharset`. Clients write a quotation
# mark in a name as `%22`. Some servers leave it so, and the others also change a name that really has `%22` in it.
#
# How to read the table: the name that the program of the server gets. "=": the same. `fetch` of Node sends the file in a form
# (multipart/form-data). Uploads by axios 1.21.1, superagent 10.4.2 and curl 7.88.1 had the same results.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                      März.csv     a"b.csv      5%22.csv
#| hapi 21.4.10                         =            a%22b.csv    =
#| multer 2.5.0                         MÃ¤rz.csv    =            5".csv
#| multer, defParamCharset              =            =            5".csv
#| express-fileupload 1.5.2             MÃ¤rz.csv    a%22b.csv    =
#| express-fileupload, defParamCharset  =            a%22b.csv    =
#| @koa/multer 4.0.0                    MÃ¤rz.csv    =            5".csv
#| koa-body 8.0.1                       =            =            5".csv
#| formidable 3.5.4                     =            =            5".csv
#| @fastify/multipart 10.1.9            =            a%22b.csv    =
#| hono 4.13.19                         =            =            5".csv
#| h3 2.0.8                             =            =            5".csv
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm express@5.3.0 multer@2.5.0 express-fileupload@1.5.2 koa@3.3.0 @koa/multer@4.0.0 koa-body@8.0.1 formidable@3.5.4 \
  fastify@5.12.8 @fastify/multipart@10.1.9 @hapi/hapi@21.4.10 hono@4.13.19 @hono/node-server@2.1.9 h3@2.0.8

cat > "$folder/uploads.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';
import multipart from '@fastify/multipart';
import hapi from '@hapi/hapi';
import { getRequestListener } from '@hono/node-server';
import koaMulter from '@koa/multer';
import express from 'express';
import fileUpload from 'express-fileupload';
import Fastify from 'fastify';
import formidable from 'formidable';
import { H3, toNodeHandler } from 'h3';
import { Hono } from 'hono';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import multer from 'multer';

const utf8 = { defParamCharset: 'utf8' };
const withMulter = (options) =>
  express().post('/', multer(options).single('file'), ({ file }, response) => response.send(file.originalname));
const withFileUpload = (options) => express().post('/', fileUpload(options), ({ files }, response) => response.send(files.file.name));
const hono = new Hono().post('/', async (context) => context.text((await context.req.parseBody()).file.name));
const withKoa = (parse, nameOf) =>
  new Koa()
    .use(parse)
    .use((context) => {
      context.body = nameOf(context);
    })
    .callback();
const fastify = Fastify();
fastify.register(multipart);
fastify.post('/', async (request) => {
  const file = await request.file();
  await file.toBuffer();
  return file.filename;
});
await fastify.ready();
const ofHapi = hapi.server({ port: 0, host: '127.0.0.1' });
const payload = { multipart: { output: 'annotated' } };
ofHapi.route({ method: 'POST', path: '/', options: { payload }, handler: (request) => request.payload.file.filename });
await ofHapi.start();

const handlers = {
  'multer 2.5.0': withMulter(),
  'multer, defParamCharset': withMulter(utf8),
  'express-fileupload 1.5.2': withFileUpload(),
  'express-fileupload, defParamCharset': withFileUpload(utf8),
  '@koa/multer 4.0.0': withKoa(koaMulter().single('file'), ({ file }) => file.originalname),
  'koa-body 8.0.1': withKoa(koaBody({ multipart: true }), ({ request }) => request.files.file.originalFilename),
  async 'formidable 3.5.4'(request, response) {
    const [, files] = await formidable().parse(request);
    response.end(files.file[0].originalFilename);
  },
  '@fastify/multipart 10.1.9': fastify.routing,
  'hono 4.13.19': getRequestListener(hono.fetch),
  'h3 2.0.8': toNodeHandler(new H3().post('/', async ({ req }) => (await req.formData()).get('file').name)),
};
const urls = { 'hapi 21.4.10': ofHapi.info.uri };
for (const [name, handler] of Object.entries(handlers)) {
  const server = http.createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  urls[name] = `http://127.0.0.1:${server.address().port}`;
}

const row = (name, cells) => console.log((name.padEnd(37) + cells.map((cell) => cell.padEnd(13)).join('')).trimEnd());
const names = ['März.csv', 'a"b.csv', '5%22.csv'];
row('', names);
for (const [server, url] of Object.entries(urls)) {
  const cells = [];
  for (const name of names) {
    const body = new FormData();
    body.set('file', new File(['a;b'], name));
    const response = await fetch(url, { method: 'POST', body });
    const got = await response.text();
    cells.push(got === name ? '=' : response.ok ? got : String(response.status));
  }
  row(server, cells);
}
process.exit();
END

measure() { "$node" "$folder/uploads.js"; }
check
