#!/usr/bin/env bash
# undici, and so the `fetch` of Node, sends a GET without the `Content-Length: 0` that the program has asked for, and says nothing.
# Other clients of Node send it. The header matters: a client of .NET repeats a GET without it when the connection closes.
#
# How to read the table: the `Content-Length` that arrives.
#
# Seen on 2026-11-28 with Node 24.21.0 and the versions in the script.
#
#| undici 8.12.4, header        none
#| undici 8.12.4, empty body    none
#| undici 8.12.4, Client        none
#| fetch of Node                none
#| got 16.1.0                   0
#| axios 1.21.1                 0
#| http of Node                 0
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm undici@8.12.4 got@16.1.0 axios@1.21.1
start_server

cat > "$folder/clients.js" <<'END'
import http from 'node:http';
import { text } from 'node:stream/consumers';
import axios from 'axios';
import got from 'got';
import { Client, request } from 'undici';

const origin = process.argv[2];
const url = `${origin}/?reply=length`;
const headers = { 'content-length': '0' };
const clients = {
  'undici 8.12.4, header': async () => (await request(url, { headers })).body.text(),
  'undici 8.12.4, empty body': async () => (await request(url, { body: '' })).body.text(),
  'undici 8.12.4, Client': async () =>
    (await new Client(origin).request({ path: '/?reply=length', method: 'GET', headers })).body.text(),
  'fetch of Node': async () => (await fetch(url, { headers })).text(),
  'got 16.1.0': () => got(url, { headers }).text(),
  'axios 1.21.1': async () => (await axios(url, { headers })).data,
  'http of Node': () => new Promise((resolve) => http.get(url, { headers }, (response) => resolve(text(response)))),
};
for (const [name, send] of Object.entries(clients)) console.log(`${name.padEnd(28)} ${await send()}`);
process.exit();
END

measure() { "$node" "$folder/clients.js" "http://$server"; }
check
