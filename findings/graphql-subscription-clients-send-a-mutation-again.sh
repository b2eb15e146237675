#!/usr/bin/env bash
# graphql-ws, graphql-sse and subscriptions-transport-ws can also send queries and mutations. If the connection is lost before the result,
# they connect again and send a mutation again, without an error. The first two do so by default. The limits of graphql-ws
# (`retryAttempts`, 5 by default) and of subscriptions-transport-ws (`reconnectionAttempts`) do not end this, because each successful
# connection starts the count again. @trpc/client does not send it again.
#
# How to read the table: how often one mutation arrives at the server, and the result. "1 lost": the server reads the first one, and
# closes the connection. "8 lost": it does so with the first eight. "reconnect, 2" are `reconnect: true` and
# `reconnectionAttempts: 2`.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                                  1 lost     8 lost
#| graphql-ws 6.4.2                                 2 done     9 done
#| graphql-ws, retryAttempts: 1                     2 done     9 done
#| graphql-ws, retryAttempts: 0                     1 error    1 error
#| graphql-sse 2.6.1                                2 done     6 error
#| subscriptions-transport-ws 0.11.0, reconnect, 2  2 done     9 done
#| @trpc/client 11.25.2, wsLink                     1 error    1 error
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm graphql@16.15.0 graphql-ws@6.4.2 graphql-sse@2.6.1 subscriptions-transport-ws@0.11.0 ws@8.23.0 @trpc/client@11.25.2 \
  @trpc/server@11.25.2

cat > "$folder/clients.js" <<'END'
import { once } from 'node:events';
import http from 'node:http';
import { createTRPCClient, createWSClient, wsLink } from '@trpc/client';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient } from 'graphql-ws';
import transport from 'subscriptions-transport-ws';
import { WebSocket, WebSocketServer } from 'ws';

globalThis.WebSocket = WebSocket;
const arrivals = new Map();
const data = { data: { a: 1 } };

// Counts a mutation. The path says which one it is and how many are lost: `/NAME/N`.
function isLost(path) {
  const count = (arrivals.get(path) ?? 0) + 1;
  arrivals.set(path, count);
  return count <= Number(path.split('/')[2]);
}

const server = http.createServer(async (request, response) => {
  for await (const _ of request);
  if (isLost(request.url)) return request.socket.destroy();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`event: next\ndata: ${JSON.stringify(data)}\n\nevent: complete\ndata: \n\n`);
});
new WebSocketServer({ server, handleProtocols: ([first]) => first }).on('connection', (socket, { url }) => {
  const send = (message) => socket.send(JSON.stringify(message));
  socket.on('message', (text) => {
    const message = String(text) === 'PING' ? {} : JSON.parse(text);
    if (message.type === 'connection_init') return send({ type: 'connection_ack' });
    if (!['subscribe', 'start'].includes(message.type) && message.method !== 'mutation') return;
    if (isLost(url.split('?')[0])) return socket.terminate();
    send({ id: message.id, type: message.type === 'start' ? 'data' : 'next', payload: data, result: { type: 'data', data } });
    send({ id: message.id, type: 'complete' });
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `127.0.0.1:${server.address().port}`;

const query = 'mutation { a }';
const subscribe = (client) =>
  new Promise((complete, error) => client.subscribe({ query }, { next() {}, complete, error }));
const observe = (options) => (url) =>
  new Promise((complete, error) =>
    new transport.SubscriptionClient(`ws://${url}`, options, WebSocket).request({ query }).subscribe({ complete, error }),
  );
const clients = {
  'graphql-ws 6.4.2': (url) => subscribe(createClient({ url: `ws://${url}` })),
  'graphql-ws, retryAttempts: 1': (url) => subscribe(createClient({ url: `ws://${url}`, retryAttempts: 1 })),
  'graphql-ws, retryAttempts: 0': (url) => subscribe(createClient({ url: `ws://${url}`, retryAttempts: 0 })),
  'graphql-sse 2.6.1': (url) => subscribe(createSseClient({ url: `http://${url}` })),
  'subscriptions-transport-ws 0.11.0, reconnect, 2': observe({ reconnect: true, reconnectionAttempts: 2 }),
  '@trpc/client 11.25.2, wsLink': (url) =>
    createTRPCClient({ links: [wsLink({ client: createWSClient({ url: `ws://${url}` }) })] }).a.mutate(),
};

async function send(name, lost) {
  const path = `/${Object.keys(clients).indexOf(name)}/${lost}`;
  const result = await clients[name](origin + path).then(
    () => 'done',
    () => 'error',
  );
  return `${arrivals.get(path)} ${result}`.padEnd(11);
}

console.log(`${''.padEnd(48)} 1 lost     8 lost`);
const rows = Object.keys(clients).map(async (name) => {
  const cells = await Promise.all([send(name, 1), send(name, 8)]);
  return `${name.padEnd(48)} ${cells.join('')}`.trimEnd();
});
for (const row of await Promise.all(rows)) console.log(row);
process.exit();
END

measure() { timeout 120 "$node" "$folder/clients.js"; }
check
