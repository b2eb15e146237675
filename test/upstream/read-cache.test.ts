import { expect, test } from '@jest/globals';
import type { RequestScope } from '../../src/request-scope.ts';
import { ReadCache, type ReadSource } from '../../src/upstream/read-cache.ts';
import { until } from '../../testkit/eventually.ts';
import { speedUp } from '../../testkit/fast-timeouts.ts';
import { read as readOperation, write as writeOperation } from '../../testkit/graphql-operation.ts';
import { metric } from '../../testkit/metric.ts';
import { json, type Reply, reply, startService, success } from '../../testkit/service.ts';
import { createMemory } from '../support/admission.ts';
import { startStack } from '../support/stack.ts';
import { stopClock } from '../support/stopped-clock.ts';
import {
  glCodesOf,
  neverAborted,
  openPolicy,
  scopeOf,
  startCalls,
  upgradeToHq,
} from '../support/upstream-call.ts';

/** Calls to a service that holds its responses. */
async function start() {
  const service = await startService();
  const { calls, counts } = startCalls(service);
  return {
    service,
    calls,
    counts,
    read: (token: string, project?: string, signal = neverAborted) =>
      calls.read(glCodesOf(project), scopeOf(token, signal)),
    write: (token: string) => calls.write(upgradeToHq, scopeOf(token)),
  };
}

const list = { status: 0, list: [] };

test('a read joins one of the latest thousand', () => {
  const cache = new ReadCache(0, createMemory(Infinity));
  const sources: ReadSource[] = [];
  const read = (n: number) =>
    void cache.read(
      `${n}`,
      scopeOf(),
      () => new Promise(() => {}),
      (source) => sources.push(source),
    );
  for (let n = 0; n <= 1000; n++) read(n);
  for (const n of [1000, 0]) read(n);
  expect(sources.slice(-2)).toEqual(['joined', 'sent']);
});

const { search = '', ...glCodes } = glCodesOf();
const searches = [
  search,
  search.replace('target=5', 'target=4'),
  search.replace('north', 'north+ada'),
  search.replace('false', 'true'),
];

test.each<[string, (parts: Awaited<ReturnType<typeof start>>) => Promise<unknown>[]]>([
  [
    'reads with different tokens',
    ({ read }) => ['ada', 'bob', 'ad', 'ada2', ''].map((t) => read(t)),
  ],
  [
    'reads with different queries',
    ({ calls }) => searches.map((search) => calls.read({ ...glCodes, search }, scopeOf('ada'))),
  ],
  ['writes', ({ write }) => [write('ada'), write('ada')]],
])('%s never share a call', async (_, send) => {
  const parts = await start();
  const results = send(parts);
  await parts.service.arrived(results.length);
  parts.service.release();
  await Promise.all(results);
  expect(parts.counts).toMatchObject({ attempted: results.length, joined: 0 });
});

test.each(['ada', 'bob'])(
  'a read joins none from before the start or the end of a write of %s',
  async (writer) => {
    const { service, counts, read, write } = await start();
    const before = read('ada');
    await service.arrived(1);
    const writing = write(writer);
    const sent = await service.arrived(2);
    const during = read('ada');
    await service.arrived(3);
    sent.respond();
    await writing;
    const after = [read('ada'), read('ada')];
    await service.arrived(4);
    service.release();
    await Promise.all([before, during, ...after]);
    // The two reads after the write share one call.
    expect([counts.joined, service.received.length]).toEqual([1, 4]);
  },
);

test('a client that disconnects does not cancel the call for the others', async () => {
  const { service, counts, read } = await start();
  const client = new AbortController();
  const disconnected = read('ada', 'north', client.signal);
  const other = read('ada');
  const request = await service.arrived(1);
  client.abort();

  request.respond();
  expect(await other).toMatchObject(list);
  await Promise.allSettled([disconnected]);
  expect(service.received).toHaveLength(1);
  expect(counts).toMatchObject({ attempted: 1, joined: 1 });
});

test('when its last client disconnects, a call is cancelled, and the next read is a new call', async () => {
  const { service, calls, read } = await start();
  const clients = [new AbortController(), new AbortController()];
  const reads = clients.map(({ signal }) => read('ada', 'north', signal));
  const { response } = await service.arrived(1);
  for (const client of clients) client.abort();
  const other = read('ada');

  const rejected = { status: 'rejected', reason: { code: 'CLIENT_DISCONNECTED' } };
  expect(await Promise.allSettled(reads)).toMatchObject([rejected, rejected]);
  (await service.arrived(2)).respond();
  expect(await other).toMatchObject(list);
  await service.idle();
  expect(response.writableFinished).toBe(false);
  expect(calls.admission.gate.held).toBe(0);
});

test('a read whose client has already disconnected is cancelled at once', async () => {
  const service = await startService();
  const { calls } = startCalls(service, { timeoutMs: 500 });
  const reading = calls.read(glCodesOf(), scopeOf('ada', AbortSignal.abort()));
  await expect(reading).rejects.toMatchObject({ code: 'CLIENT_DISCONNECTED' });
  expect(calls.admission.gate.held).toBe(0);
});

test('each request that shares a list reserves memory for it: its text, the text prepared for searches, and its items', async () => {
  const list = Array(1000).fill('{"Code":""}').join();
  const text = `{"service_status":{"status":0},"list":[${list}]}`;
  const { calls } = startCalls(await startService(json(text)));
  const scopes = [scopeOf(), scopeOf()];
  await Promise.all(scopes.map((scope) => calls.read(glCodesOf(), scope)));
  const bytes = text.length * 4 + 1000 * 200;
  expect(scopes.map(({ reservation }) => reservation.peakBytes)).toEqual([bytes, bytes]);
});

test('a failure is shared by the reads of one call, and not by later reads', async () => {
  const { service, read } = await start();
  const failing = [read('ada'), read('ada')];
  const { response } = await service.arrived(1);
  response.writeHead(500).end();
  const rejected = { status: 'rejected', reason: { code: 'UPSTREAM_FAILED' } };
  expect(await Promise.allSettled(failing)).toMatchObject([rejected, rejected]);
  service.release();
  await read('ada');
  expect(service.received).toHaveLength(2);
});

// Kept lists.

const advance = stopClock();

const KEPT_MS = 5000;
const codes = { service_status: { status: 0 }, list: [{ Code: '4010' }, { Code: '4020' }] };

/** Calls that keep lists, of a service with this reply. The last of `projects` was read last. */
async function startKeeping(
  reply: Reply = json(codes),
  options: Parameters<typeof startCalls>[1] = {},
) {
  const service = await startService(reply);
  const started = startCalls(service, { readCacheMs: KEPT_MS, ...options });
  const read = (project?: string, scope = scopeOf()) =>
    started.calls.read(glCodesOf(project), scope);
  return {
    ...started,
    service,
    read,
    write: (scope = scopeOf()) => started.calls.write(upgradeToHq, scope),
    /** How many of these reads, one after another, are sent to the service. */
    async sent(...reads: (() => Promise<unknown>)[]): Promise<number> {
      const before = service.received.length;
      for (const read of reads) await read();
      return service.received.length - before;
    },
  };
}

test('a list is kept until its time is over, counted from the beginning of its call', async () => {
  const { read, sent, counts } = await startKeeping();
  const list = await read();
  expect(list).toMatchObject({ status: 0, list: codes.list });
  advance(KEPT_MS - 1);
  expect(await read()).toBe(list);
  advance(2);
  expect(await sent(read, read)).toBe(1);
  expect(counts).toMatchObject({ sent: 2, kept: 2, joined: 0 });
});

test('a list that arrives after its time is not kept', async () => {
  const service = await startService();
  const { calls, readCache } = startCalls(service, { readCacheMs: KEPT_MS });
  const reading = calls.read(glCodesOf(), scopeOf());
  const request = await service.arrived(1);
  advance(KEPT_MS);
  request.respond();
  expect(await reading).toMatchObject({ status: 0 });
  expect(readCache.borrowed).toBe(0);
});

test.each<[string, Reply]>([
  ['an error', reply(500)],
  ['a problem', json({ service_status: { status: 1 }, list: codes.list })],
  ['a list without a status', json({ list: codes.list })],
])('%s is not kept', async (_, response) => {
  const { read, sent, readCache } = await startKeeping(response);
  const settled = () => read().catch(() => undefined);
  expect(await sent(settled, settled)).toBe(2);
  expect(readCache.borrowed).toBe(0);
});

test('by default, nothing is kept', async () => {
  const { gateway, service } = await startStack(json(codes));
  for (let n = 0; n < 2; n++) await gateway.graphql(readOperation);
  expect(service.received).toHaveLength(2);
  expect(await metric(gateway, 'ledger_gateway_read_cache_hits_total')).toBe(0);
});

test('the memory of a list is free when its time is over, also if nobody reads it again', async () => {
  speedUp('setTimeout', KEPT_MS + 1, 0);
  const { read, readCache } = await startKeeping();
  await read();
  expect(readCache.borrowed).toBeGreaterThan(0);
  advance(KEPT_MS + 1);
  await until(() => readCache.borrowed === 0);
});

// Writes.

test.each<[string, RequestScope]>([
  ['of its caller, with another token', scopeOf('other')],
  ['of its caller, whose tokens have no `sub`', scopeOf('other', neverAborted, null)],
])('a list is dropped by a write %s, and not by one of another caller', async (_, writer) => {
  const reader = scopeOf('token', neverAborted, writer.caller.subject);
  const { read, write, sent } = await startKeeping();
  const one = () => read('north', reader);
  await one();
  await write(scopeOf('bob', neverAborted, 'bob'));
  expect(await sent(one)).toBe(0);
  await write(writer);
  expect(await sent(one)).toBe(1);
});

test('a list that was read before a write ended is not kept, nor returned while the write is in flight', async () => {
  const service = await startService();
  const { calls } = startCalls(service, { readCacheMs: KEPT_MS });
  const read = () => calls.read(glCodesOf(), scopeOf());
  const kept = read();
  (await service.arrived(1)).respond();
  await kept;
  const early = read();
  await early;
  expect(service.received).toHaveLength(1);

  const writing = calls.write(upgradeToHq, scopeOf());
  const write = await service.arrived(2);
  const during = read(); // The kept list is gone.
  const duringRequest = await service.arrived(3);
  write.respond();
  await writing;
  duringRequest.respond();
  await during;
  const after = read(); // The list that was read during the write was not kept.
  (await service.arrived(4)).respond();
  await after;
  await read();
  expect(service.received).toHaveLength(4);
});

test('the repeat of a write that sends nothing drops no list', async () => {
  const { gateway, service } = await startStack(success, { READ_CACHE_S: '60' });
  const header = { 'idempotency-key': 'once' };
  const send = () => gateway.graphql(writeOperation, undefined, header);
  await send();
  await gateway.graphql(readOperation);
  const { headers } = await send();
  expect(headers.get('idempotent-replayed')).toBe('true');
  await gateway.graphql(readOperation);
  expect(service.received).toHaveLength(2);
});

// Policy and headers.

test('a kept list is not returned where the policy forbids to read it', async () => {
  const policy = { ...openPolicy };
  const { read } = await startKeeping(json(codes), { policy });
  await read();
  const forbidden = new Error('forbidden');
  policy.check = () => {
    throw forbidden;
  };
  await expect(read()).rejects.toBe(forbidden);
});

test('a list is kept for the forwarded headers of its request, and reads are counted', async () => {
  const { gateway, service } = await startStack(json(codes), {
    READ_CACHE_S: '60',
    FORWARD_HEADERS: 'X-Tenant',
  });
  for (const tenant of ['a', 'b', 'a', 'b', 'a']) {
    await gateway.graphql(readOperation, undefined, { 'x-tenant': tenant });
  }
  expect(service.received.map(({ headers }) => headers['x-tenant'])).toEqual(['a', 'b']);
  const counted = (name: string) => metric(gateway, `ledger_gateway_read_cache_${name}`);
  expect([await counted('hits_total'), await counted('misses_total')]).toEqual([3, 2]);
  expect(await counted('bytes')).toBeGreaterThan(0);
});

// Memory.

test('a kept list counts with its text, the text prepared for searches, and its items', async () => {
  const { read, readCache } = await startKeeping();
  await read();
  const textBytes = JSON.stringify(codes).length;
  // Both texts may take two bytes for each character.
  expect(readCache.borrowed).toBe(textBytes * 4 + codes.list.length * 200);
});

test('what needs the memory of kept lists gets it at once, the least recently used list first', async () => {
  const memory = createMemory(1_000_000);
  const { read, sent, readCache } = await startKeeping(json(codes), { memory });
  for (const project of ['a', 'b', 'c', 'a']) await read(project);
  const listBytes = readCache.borrowed / 3;
  expect(memory.held).toBe(0);

  memory.take('caller', memory.limit - listBytes * 2.5);
  expect(readCache.borrowed).toBe(listBytes * 2);
  expect(
    await sent(
      () => read('c'),
      () => read('a'),
    ),
  ).toBe(0);
  expect(memory.tryEnter('other', listBytes)).toBe(true);
  expect(readCache.borrowed).toBe(listBytes);
  expect(await sent(() => read('a'))).toBe(0);
  memory.take('caller', listBytes * 1.5);
  expect(readCache.borrowed).toBe(0);
  expect(
    await sent(
      () => read('a'),
      () => read('a'),
    ),
  ).toBe(2); // There is no memory to keep it.
});

test('kept lists take at most half of the memory, and the latest ones stay', async () => {
  const measuring = await startKeeping();
  await measuring.read();
  const listBytes = measuring.readCache.borrowed;
  const memory = createMemory(listBytes * 5);
  const { read, sent, readCache } = await startKeeping(json(codes), { memory });
  for (const project of ['a', 'b', 'c']) await read(project);
  expect(readCache.borrowed).toBe(listBytes * 2);
  expect(
    await sent(
      () => read('b'),
      () => read('c'),
    ),
  ).toBe(0);
  expect(await sent(() => read('a'))).toBe(1);
});
