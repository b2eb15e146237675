#!/usr/bin/env bash
# What clients make of a PUT, DELETE or POST if its response is a redirect, for example to the same path without a slash at its end. After
# 301 and 302, `curl -L -X PUT -d …` sends the PUT again without its body, and got does so if the new address is on another port. So a
# server may replace the content by nothing. superagent makes a GET of such a PUT and DELETE, and needle of each method and status, also
# after 307 and 308, which do not allow that (RFC 9110, section 15.4). The program gets 200 in all cases, so it treats its write as done.
#
# How to read the table: the method that arrives at the new address, and "empty" if its body is missing. All requests have a body. "other":
# the new address is on another port. The clients have their defaults. needle follows redirects with `follow_max`, undici with its
# interceptor, and curl with `-L`, and with `-X` for PUT and DELETE.
#
# Seen on 2026-11-29 with Node 24.21.0, the versions of npm in the script, and Debian 12: curl 7.88.1-10+deb12u14.
#
#|                    PUT 301        PUT 302,other  PUT 307        DELETE 302     DELETE 308     POST 302       POST 307
#| got 16.1.0         PUT            PUT empty      PUT            DELETE         DELETE         POST           POST
#| superagent 10.4.2  GET            GET            PUT            GET            DELETE         GET            POST
#| needle 3.5.0       GET            GET            GET            GET            GET            GET            GET
#| fetch of Node      PUT            PUT            PUT            DELETE         DELETE         GET            POST
#| node-fetch 3.3.2   PUT            PUT            PUT            DELETE         DELETE         GET            POST
#| axios 1.21.1       PUT            PUT            PUT            DELETE         DELETE         GET            POST
#| undici 8.12.4      PUT            PUT            PUT            DELETE         DELETE         GET            POST
#| curl -L            PUT empty      PUT empty      PUT            DELETE empty   DELETE         GET            POST
. "$(dirname "$0")/common.sh"

need npm:npm curl:curl
print_versions curl
install_from_npm got@16.1.0 superagent@10.4.2 needle@3.5.0 axios@1.21.1 node-fetch@3.3.2 undici@8.12.4

# `/STATUS` redirects to `/new`, `/STATUS,other` to that of another port, and `/last` responds with what has arrived there.
cat > "$folder/server.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';

let last = 'none';
const other = http.createServer(handle).listen(0, '127.0.0.1');
await once(other, 'listening');
const server = http.createServer(handle);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

async function handle(request, response) {
  const { method, url } = request;
  if (url === '/last') return response.end(last);
  let body = '';
  for await (const chunk of request) body += chunk;
  if (url === '/new') {
    last = method === 'GET' || body ? method : `${method} empty`;
    return response.end('{}');
  }
  const [status, isOther] = url.slice(1).split(',');
  response.writeHead(Number(status), { location: isOther ? `http://127.0.0.1:${other.address().port}/new` : '/new' }).end();
}
END
start_program server.js

cat > "$folder/clients.js" <<'END'
import { execFileSync } from 'node:child_process';
import axios from 'axios';
import got from 'got';
import needle from 'needle';
import nodeFetch from 'node-fetch';
import superagent from 'superagent';
import { Agent, interceptors, request } from 'undici';

const headers = { 'content-type': 'application/json' };
const body = '{"a":1}';
const dispatcher = new Agent().compose(interceptors.redirect({ maxRedirections: 5 }));
const clients = {
  'got 16.1.0': (url, method) => got(url, { method, headers, body }),
  'superagent 10.4.2': (url, method) => superagent(method, url).set(headers).send(body),
  'needle 3.5.0': (url, method) => needle(method, url, body, { headers, follow_max: 5 }),
  'fetch of Node': (url, method) => fetch(url, { method, headers, body }),
  'node-fetch 3.3.2': (url, method) => nodeFetch(url, { method, headers, body }),
  'axios 1.21.1': (url, method) => axios({ url, method, headers, data: body }),
  'undici 8.12.4': (url, method) => request(url, { method, headers, body, dispatcher }),
  'curl -L': (url, method) => execFileSync('curl', ['-sL', ...(method === 'POST' ? [] : ['-X', method]), '-d', body, url]),
};
const cases = ['PUT 301', 'PUT 302,other', 'PUT 307', 'DELETE 302', 'DELETE 308', 'POST 302', 'POST 307'];
const row = (name, cells) => console.log((name.padEnd(19) + cells.map((cell) => cell.padEnd(15)).join('')).trimEnd());
const base = `http://${process.argv[2]}`;
row('', cases);
for (const [name, send] of Object.entries(clients)) {
  const cells = [];
  for (const [method, status] of cases.map((text) => text.split(' '))) {
    await send(`${base}/${status}`, method);
    cells.push(await (await fetch(`${base}/last`)).text());
  }
  row(name, cells);
}
process.exit();
END

measure() { "$node" "$folder/clients.js" "$server"; }
check
