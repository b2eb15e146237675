import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import { operations } from '../../../src/upstream/declarations.ts';
import type { WriteRequest } from '../../../src/upstream/operations.ts';
import { createPrivateCa } from '../../../testkit/certificate.ts';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { until } from '../../../testkit/eventually.ts';
import { startTcp } from '../../../testkit/tcp-server.ts';
import { scopeOf, startCalls, startOutcomes, upgradeToHq } from '../../support/upstream-call.ts';

/*
 * What the gateway changes inside of undici and of sockets, because there is no option for it. If a test fails after an update,
 * read the comments of the files in src/upstream/transport that have its words.
 */

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{"status":0}';

/** Starts a service that records the heads of requests, and sends each of these texts, one after another, to each request. */
async function startTexts(...texts: string[]) {
  const heads: string[] = [];
  const { url } = await startTcp((socket) =>
    socket.on('data', async (head) => {
      heads.push(String(head));
      for (const text of texts) await new Promise((resolve) => socket.write(text, resolve));
    }),
  );
  return { heads, ...startOutcomes(url) };
}

// got-client.ts

/** The values of a header in the head of a request. */
const valuesOf = (head: string, name: string) =>
  [...head.matchAll(new RegExp(`^${name}: (.*)\r$`, 'gim'))].map(([, value]) => value);

test('a GET that may change state says that it has no content, and other requests are as undici sends them', async () => {
  const { read, write, heads } = await startTexts(ok);
  const save: WriteRequest = { ...upgradeToHq, operation: operations.saveApproverList, body: '[]' };
  for (const send of [write, write, read, () => write(save)]) await send();
  const lengths = heads.map((head) => valuesOf(head, 'content-length'));
  expect(lengths).toEqual([['0'], ['0'], [], ['2']]);
});

// socket-changes.ts: acceptUnrequested

const proceed = 'HTTP/1.1 100 Continue\r\n\r\n';
const interim = `${proceed}HTTP/1.1 102 Processing\r\n\r\n${proceed}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n`;

test.each([
  ['before the response', [proceed + ok]],
  ['in a part of its own', [proceed, ok]],
  ['in two parts', [proceed.slice(0, 12), proceed.slice(12) + ok]],
  ['among other interim responses', [interim + ok]],
])('a 100 that nobody asked for is skipped %s', async (_, texts) => {
  const { read, write, heads } = await startTexts(...texts);
  expect([await write(), await write(), await read(), await read()]).toEqual(
    Array(4).fill('success'),
  );
  expect(heads).toHaveLength(4);
});

test('a 100 alone is no response', async () => {
  const { url } = await startTcp((socket) => socket.on('data', () => socket.end(proceed)));
  expect(await startOutcomes(url).write()).toBe('unknown: UPSTREAM_UNAVAILABLE');
});

// socket-changes.ts: readAfterFailedWrite

/**
 * Rejects a request when its first bytes have arrived, and closes the connection with the rest unread. This happens in a thread,
 * because the client must be writing meanwhile.
 */
const earlyRefusal = `
  const { parentPort, workerData: { cert, key } } = require('node:worker_threads');
  const onConnection = (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 413 Too Large\\r\\nconnection: close\\r\\ncontent-length: 0\\r\\n\\r\\n', () => socket.destroy());
    });
  };
  const server = key ? require('node:tls').createServer({ cert, key }, onConnection) : require('node:net').createServer(onConnection);
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

test.each(['http', 'https'])(
  'a refusal counts that arrives while the request is still being sent (%s)',
  async (protocol) => {
    const ca = await createPrivateCa();
    const files = protocol === 'https' ? await ca.issue('service') : {};
    const worker = new Worker(earlyRefusal, { eval: true, workerData: files });
    closeAfterTest(() => worker.terminate());
    const [port] = await once(worker, 'message');
    const { write } = startOutcomes(`${protocol}://127.0.0.1:${port}/`, { tls: { ca: ca.cert } });
    const upload: WriteRequest = {
      ...upgradeToHq,
      operation: operations.updateWorkflowCSV,
      body: 'x'.repeat(12_000_000),
    };
    const outcomes: string[] = [];
    for (let n = 0; n < 30; n++) outcomes.push(await write(upload));
    expect(outcomes).toEqual(Array(30).fill('UPSTREAM_BAD_REQUEST'));
  },
);

test('a service that closes the connection before the request has arrived, without a response, leaves the outcome unknown at once', async () => {
  const { url } = await startTcp((socket) => socket.once('data', () => socket.destroy()));
  const upload: WriteRequest = {
    ...upgradeToHq,
    operation: operations.updateWorkflowCSV,
    body: 'x'.repeat(12_000_000),
  };
  expect(await startOutcomes(url).write(upload)).toBe('unknown: UPSTREAM_UNAVAILABLE');
});

// connections.ts

test.each<[string, (socket: Socket) => unknown, 'surplus' | 'closedEarly']>([
  ['a response', (socket) => socket.write(ok), 'surplus'],
  ['the first bytes of one', (socket) => socket.write('HTTP/1'), 'surplus'],
  ['a response, and closes', (socket) => socket.end(ok), 'surplus'],
  ['other bytes', (socket) => socket.write('surplus'), 'surplus'],
  ['nothing, and closes', (socket) => socket.end(), 'closedEarly'],
  ['nothing, and resets', (socket) => socket.resetAndDestroy(), 'closedEarly'],
])('a service that sends %s on an idle connection is understood', async (_, react, event) => {
  const { url, sockets } = await startTcp((socket) => socket.on('data', () => socket.write(ok)));
  const { calls, counts } = startCalls({ url }, { keepAliveS: 60 });
  await calls.write(upgradeToHq, scopeOf());
  await immediate(); // A connection that ends earlier was not idle.
  for (const socket of sockets) react(socket);
  await until(() => counts.surplus + counts.closedEarly > 0);
  const none = { surplus: 0, closedEarly: 0 };
  expect(counts).toMatchObject({ ...none, [event]: 1 });
});

test.each([
  ['another response', ok],
  ['other bytes', 'surplus'],
])('%s together with the response is surplus', async (_, surplus) => {
  const { url } = await startTcp((socket) => socket.on('data', () => socket.write(ok + surplus)));
  const { calls, counts } = startCalls({ url });
  expect(await calls.write(upgradeToHq, scopeOf())).toMatchObject({ status: 0 });
  await until(() => counts.surplus > 0);
});

// connector.ts

test('all callers resume one TLS session, also after a garbage collection, for which undici has no reason to keep it', async () => {
  const ca = await createPrivateCa();
  const isReused: boolean[] = [];
  const { httpsUrl } = await startTcp(
    (socket) => {
      isReused.push(socket instanceof TLSSocket && socket.isSessionReused());
      socket.on('data', () => socket.end(ok));
    },
    await ca.issue('service'),
  );
  const { write } = startOutcomes(httpsUrl, { tls: { ca: ca.cert } });
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (const callers of [['ada'], ['bob', 'cyd'], ['dan', 'eve', 'ada']]) {
    const writes = callers.map((name) => write(upgradeToHq, scopeOf(name, undefined, name)));
    expect(await Promise.all(writes)).toEqual(callers.map(() => 'success'));
    for (let waits = 0; waits < 10; waits++) await immediate(); // The session arrives after the response.
    collect();
    await immediate();
  }
  expect(isReused).toEqual([false, ...Array(5).fill(true)]);
});
