#!/usr/bin/env bash
# What HTTP clients make of the values that a program gives them for the query of a URL. undici sends an empty text for a Date and for NaN,
# and openapi-fetch leaves a Date out, without an error. Most of them leave out a parameter whose value is an empty list, so that a search
# for none of the ids becomes one without a condition. gaxios, ky and RTK Query send `null` as a text, and a list as one text with a
# comma.
#
# How to read the table: the part of the query for `id`, as text, if the program gives this value. "none": the parameter is missing.
# "error": an exception. The Date is the beginning of the year 2026.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                          undefined     null     NaN     []      [1, 2]          a Date
#| URLSearchParams of Node  id=undefined  id=null  id=NaN  id=     id=1,2          id=Thu Jan 01 2026 00:00 …
#| undici 8.12.4            id=           id=      id=     none    id=1&id=2       id=
#| axios 1.21.1             none          none     id=NaN  none    id[]=1&id[]=2   id=2026-01-01T00:00:00.000Z
#| gaxios 8.3.3             none          id=null  id=NaN  id=     id=1,2          id=Thu Jan 01 2026 00:00 …
#| got 16.1.0               none          id=      error   error   error           error
#| ky 2.1.0                 none          id=null  id=NaN  id=     id=1,2          id=Thu Jan 01 2026 00:00 …
#| ofetch 1.5.1             none          id       id=NaN  none    id=1&id=2       id="2026-01-01T00:00:00.000Z"
#| superagent 10.4.2        none          id       id=NaN  none    id=1&id=2       id=2026-01-01T00:00:00.000Z
#| wretch 3.0.9             id=           id=      id=NaN  none    id=1&id=2       id=Thu Jan 01 2026 00:00 …
#| openapi-fetch 0.17.0     none          none     id=NaN  none    id=1&id=2       none
#| RTK Query 2.15.0         none          id=null  id=NaN  id=     id=1,2          id=Thu Jan 01 2026 00:00 …
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm undici@8.12.4 axios@1.21.1 got@16.1.0 ky@2.1.0 ofetch@1.5.1 superagent@10.4.2 wretch@3.0.9 openapi-fetch@0.17.0 \
  gaxios@8.3.3 @reduxjs/toolkit@2.15.0

cat > "$folder/queries.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';
import { fetchBaseQuery } from '@reduxjs/toolkit/query';
import axios from 'axios';
import { request as gaxios } from 'gaxios';
import got from 'got';
import ky from 'ky';
import { ofetch } from 'ofetch';
import createClient from 'openapi-fetch';
import superagent from 'superagent';
import { request } from 'undici';
import wretch from 'wretch';
import queryString from 'wretch/addons/queryString';

let arrived;
const server = http.createServer(({ url }, response) => {
  arrived = decodeURIComponent(url.replaceAll('+', ' ')).split(/[?&]/).filter((part) => part.startsWith('id'));
  response.setHeader('content-type', 'application/json').end('{}');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const baseUrl = `http://127.0.0.1:${server.address().port}`;
const url = `${baseUrl}/`;

const clients = {
  'URLSearchParams of Node': (query) => fetch(`${url}?${new URLSearchParams(query)}`),
  'undici 8.12.4': (query) => request(url, { query }),
  'axios 1.21.1': (params) => axios(url, { params }),
  'gaxios 8.3.3': (params) => gaxios({ url, params }),
  'got 16.1.0': (searchParams) => got(url, { searchParams }),
  'ky 2.1.0': (searchParams) => ky(url, { searchParams }),
  'ofetch 1.5.1': (query) => ofetch(url, { query }),
  'superagent 10.4.2': (query) => superagent.get(url).query(query),
  'wretch 3.0.9': (query) => wretch(url).addon(queryString).query(query).get().res(),
  'openapi-fetch 0.17.0': (query) => createClient({ baseUrl }).GET('/', { params: { query } }),
  'RTK Query 2.15.0': (params) => fetchBaseQuery({ baseUrl })({ url: '/', params }, { signal: new AbortController().signal }, {}),
};
const values = { undefined: undefined, null: null, NaN: Number.NaN, '[]': [], '[1, 2]': [1, 2], 'a Date': new Date(Date.UTC(2026, 0, 1)) };

const widths = [14, 9, 8, 8, 16, 0];
const row = (name, cells) => console.log((name.padEnd(25) + cells.map((cell, index) => cell.padEnd(widths[index])).join('')).trimEnd());
row('', Object.keys(values));
for (const [name, send] of Object.entries(clients)) {
  const cells = [];
  for (const id of Object.values(values)) {
    arrived = undefined;
    try {
      await send({ id, page: 1 });
      cells.push(arrived.join('&').replace(/(?<=2026 00:00).*/, ' …') || 'none');
    } catch {
      cells.push('error');
    }
  }
  row(name, cells);
}
process.exit();
END

measure() { TZ=UTC "$node" "$folder/queries.js"; }
check
