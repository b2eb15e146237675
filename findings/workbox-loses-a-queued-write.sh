#!/usr/bin/env bash
# Background Sync of Workbox, which sends a POST of an offline page later, removes it from its queue after any response, also 503 or 401.
# The page is not told, and the write is lost. The plugin that its guide recommends, so that a 5xx response counts as a failure, applies to
# the first attempt only, and not to those of the queue. A POST that has arrived, and whose response is lost, is sent again for seven days.
#
# How to read the table: "replies": how the server answers the attempts: the first one, and then one for each sync of the browser. It has
# read the request in each case, and "closes" means that it then closes the connection. "page": what the page gets. "arrived": how often
# the POST has arrived. "queued": how often it still is in the queue after the last sync. "with the plugin": with the `fetchDidSucceed` of
# the guide, which throws if the status is 500 or more.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script. The service worker's globals are stubs, and IndexedDB is
# fake-indexeddb.
#
#| replies                            page     arrived  queued
#| closes, 200                        error    2        0
#| closes, 503                        error    2        0
#| closes, 401                        error    2        0
#| closes, closes, closes, closes     error    4        1
#| 503, 200                           503      1        0
#| with the plugin: 503, 200          error    2        0
#| with the plugin: 503, 503          error    2        0
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm workbox-background-sync@7.4.1 workbox-core@7.4.1 workbox-strategies@7.4.1 fake-indexeddb@6.2.8

cat > "$folder/worker.js" <<'END'
import 'fake-indexeddb/auto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { runInThisContext } from 'node:vm';

let replies = [];
let arrived = 0;
const server = createServer(async (request, response) => {
  for await (const _ of request);
  arrived += 1;
  const reply = replies.shift();
  if (reply === 'closes') request.socket.end();
  else response.writeHead(reply).end('{}');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}/`;

// What a browser gives to a service worker.
const listeners = [];
class ExtendableEvent extends Event {
  waitUntil(promise) {
    this.promise = promise;
  }
}
Object.assign(globalThis, {
  self: globalThis,
  location: new URL(url),
  registration: { scope: url, sync: { register: async () => {} } },
  addEventListener: (type, listener) => type === 'sync' && listeners.push(listener),
  ExtendableEvent,
  FetchEvent: class extends ExtendableEvent {},
});
async function sync(name) {
  for (const listener of listeners) {
    const event = Object.assign(new ExtendableEvent('sync'), { tag: `workbox-background-sync:${name}` });
    listener(event);
    await event.promise?.catch(() => {});
  }
}

for (const name of ['core', 'background-sync', 'strategies']) {
  runInThisContext(readFileSync(`${import.meta.dirname}/node_modules/workbox-${name}/build/workbox-${name}.prod.js`, 'utf8'));
}
const { BackgroundSyncPlugin } = globalThis.workbox.backgroundSync;
const { NetworkOnly } = globalThis.workbox.strategies;

const statusPlugin = {
  async fetchDidSucceed({ response }) {
    if (response.status >= 500) throw new Error('Server error.');
    return response;
  },
};

const row = (...cells) => console.log(cells.map((cell, index) => String(cell).padEnd(index ? 8 : 34)).join(' ').trimEnd());
async function show(name, answers, plugins = []) {
  replies = [...answers];
  arrived = 0;
  let queue;
  // The function that is the default keeps no reference to the queue.
  const onSync = (event) => {
    queue = event.queue;
    return queue.replayRequests();
  };
  const strategy = new NetworkOnly({ plugins: [...plugins, new BackgroundSyncPlugin(name, { onSync })] });
  const request = new Request(url, { method: 'POST', body: '{}' });
  const page = await strategy.handle({ event: new ExtendableEvent('fetch'), request }).then(({ status }) => status, () => 'error');
  for (const _ of answers.slice(1)) await sync(name);
  row(name, page, arrived, await queue.size());
}

row('replies', 'page', 'arrived', 'queued');
await show('closes, 200', ['closes', 200]);
await show('closes, 503', ['closes', 503]);
await show('closes, 401', ['closes', 401]);
await show('closes, closes, closes, closes', ['closes', 'closes', 'closes', 'closes']);
await show('503, 200', [503, 200]);
await show('with the plugin: 503, 200', [503, 200], [statusPlugin]);
await show('with the plugin: 503, 503', [503, 503], [statusPlugin]);
process.exit();
END

measure() { "$node" "$folder/worker.js"; }
check
