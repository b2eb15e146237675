import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Bulkhead } from '../../../src/upstream/resilience/bulkhead.ts';
import { UpstreamError } from '../../../src/upstream/upstream-error.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { read, write } from '../../support/graphql-operation.ts';
import { startHeldService } from '../../support/held-service.ts';
import { testIssuer } from '../../support/issuer.ts';
import { metric, metricIs } from '../../support/metric.ts';

/** A bulkhead with named calls that run until they are ended. A name starts with its caller: `ada 1`. */
function createBulkhead(limit: number, maxWaitMs = 3_600_000) {
  const bulkhead = new Bulkhead(limit, maxWaitMs);
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const running = new Map<string, Promise<void>>();
  return {
    bulkhead,
    started,
    run(effect: 'read' | 'write', name: string, signal = new AbortController().signal) {
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      const result = bulkhead.run(name.split(' ')[0] ?? '', effect, signal, () => {
        started.push(name);
        return end.promise;
      });
      running.set(name, result);
      return result;
    },
    /** Ends a call, and waits until the place has been handed on. */
    async end(name: string): Promise<void> {
      ends.get(name)?.resolve();
      await running.get(name);
      await setImmediate();
    },
    fail: (name: string) => ends.get(name)?.reject(new Error(name)),
  };
}

const notSent = (fault: string) => expect.objectContaining({ sent: 'no', fault });
const busy = (fault: string) =>
  expect.objectContaining({ code: 'UPSTREAM_BUSY', sent: 'no', fault });

/** The names of so many calls of a caller. */
const calls = (caller: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${caller} ${n + 1}`);

test('calls up to the limit start at once, and the next one waits for a place', async () => {
  const { bulkhead, started, run, end } = createBulkhead(2);
  void run('read', 'ada 1');
  void run('write', 'ada 2');
  void run('read', 'ada 3');
  expect(started).toEqual(['ada 1', 'ada 2']);
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([2, 1]);

  await end('ada 1');
  expect(started).toEqual(['ada 1', 'ada 2', 'ada 3']);
  await end('ada 3');
  await end('ada 2');
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([0, 0]);
});

test('writes start before reads, and otherwise in the order of arrival', async () => {
  const { started, run, end } = createBulkhead(1);
  const names = ['ada 1', 'ada read 1', 'ada read 2', 'ada write 1', 'ada write 2'];
  for (const name of names) void run(name.includes('write') ? 'write' : 'read', name);
  for (const name of names) void end(name);
  await setImmediate();
  expect(started).toEqual(['ada 1', 'ada write 1', 'ada write 2', 'ada read 1', 'ada read 2']);
});

test('while writes wait, every fourth place goes to a read', async () => {
  const { started, run, end } = createBulkhead(1);
  const names = [...calls('ada write', 8), ...calls('ada read', 4)];
  for (const name of ['ada 0', ...names]) void run(name.includes('write') ? 'write' : 'read', name);
  for (const name of ['ada 0', ...names]) void end(name);
  await setImmediate();
  expect(started.slice(1).map((name) => name.split(' ')[1])).toEqual([
    ...['write', 'write', 'write', 'read'],
    ...['write', 'write', 'write', 'read'],
    ...['write', 'write', 'read', 'read'],
  ]);
});

test('a call that fails hands its place to the next one', async () => {
  const { bulkhead, started, run, end, fail } = createBulkhead(1);
  const first = run('write', 'ada 1');
  void run('write', 'ada 2');
  fail('ada 1');
  await expect(first).rejects.toThrow('ada 1');
  await end('ada 2');
  expect(started).toEqual(['ada 1', 'ada 2']);
  expect(bulkhead.inFlight).toBe(0);
});

test('a call that waits too long is rejected and never starts', async () => {
  const { bulkhead, started, run, end } = createBulkhead(1, 20);
  void run('read', 'ada 1');
  const waiting = [run('write', 'ada 2'), run('read', 'bob 1')];
  for (const call of waiting) await expect(call).rejects.toEqual(busy('queued too long'));
  expect(bulkhead.queued).toBe(0);
  await expect(run('read', 'ada 3')).rejects.toEqual(busy('queued too long'));
  await end('ada 1');
  expect(started).toEqual(['ada 1']);
  expect(bulkhead.inFlight).toBe(0);
});

test('a queue of 10,000 calls is full, and one caller may have a quarter of them', async () => {
  const { bulkhead, run, end } = createBulkhead(1);
  void run('read', 'ada 0');
  for (const name of calls('ada', 2500)) void run('read', name);
  await expect(run('write', 'ada 2501')).rejects.toEqual(busy('queue full'));
  for (const caller of ['bob', 'cleo', 'dan']) {
    for (const name of calls(caller, 2500)) void run('write', name);
  }
  await expect(run('write', 'eve 1')).rejects.toEqual(busy('queue full'));
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([1, 10_000]);
  for (const caller of ['ada', 'bob', 'cleo', 'dan']) {
    for (const name of calls(caller, 2500)) void end(name);
  }
  await end('ada 0');
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([0, 0]);
});

test('a call aborted in the queue, or before it, never starts and takes no place', async () => {
  const { bulkhead, started, run, end } = createBulkhead(1);
  void run('read', 'ada 1');
  const controller = new AbortController();
  const waiting = run('write', 'ada 2', controller.signal);
  controller.abort();
  await expect(waiting).rejects.toEqual(notSent('aborted while queued'));
  await expect(run('write', 'ada 3', controller.signal)).rejects.toEqual(
    notSent('aborted while queued'),
  );
  expect(bulkhead.queued).toBe(0);
  await end('ada 1');
  expect(started).toEqual(['ada 1']);
  expect(bulkhead.inFlight).toBe(0);
});

test('a rejected call is retryable, but not by the gateway itself', async () => {
  const { run, end } = createBulkhead(1, 1);
  void run('read', 'ada 1');
  const error = await run('write', 'ada 2').catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(UpstreamError);
  expect(error).toMatchObject({ code: 'UPSTREAM_BUSY', retryable: true, transient: false });
  await end('ada 1');
});

// The share of a caller.

test.each([
  [1, 1],
  [2, 2],
  [3, 3],
  [4, 3],
  [8, 6],
  [256, 192],
])('of %i places, one caller alone takes %i', (limit, most) => {
  const { bulkhead, run } = createBulkhead(limit);
  for (const name of calls('ada', limit)) void run('read', name);
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([most, limit - most]);
});

test.each([4, 8, 256])('of %i places, four callers take all', (limit) => {
  const { bulkhead, run } = createBulkhead(limit);
  for (const caller of ['ada', 'bob', 'cleo', 'dan']) {
    for (const name of calls(caller, limit / 4)) void run('read', name);
  }
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([limit, 0]);
});

test('a caller without calls gets a place at once while another one has many', () => {
  const { started, run } = createBulkhead(8);
  for (const name of calls('ada', 100)) void run('write', name);
  for (const name of calls('bob', 2)) void run('read', name);
  expect(started).toEqual([...calls('ada', 6), 'bob 1', 'bob 2']);
});

test('a freed place goes to a caller below its share first, even to a read', async () => {
  const { started, run, end } = createBulkhead(8);
  for (const name of calls('ada', 10)) void run('write', name);
  for (const name of calls('bob', 2)) void run('read', name);
  for (const name of calls('cleo', 1)) void run('read', name);
  await end('ada 1');
  expect(started.slice(8)).toEqual(['cleo 1']);
});

test('callers that wait take turns', async () => {
  const { started, run, end } = createBulkhead(1);
  void run('read', 'ada 0');
  for (const caller of ['ada', 'bob', 'cleo']) {
    for (const name of calls(caller, 2)) void run('read', name);
  }
  for (let n = 0; n < 6; n++) await end(started.at(-1) ?? '');
  expect(started).toEqual(['ada 0', 'ada 1', 'bob 1', 'cleo 1', 'ada 2', 'bob 2', 'cleo 2']);
});

test('places above the share of a caller go to the others as they are freed', async () => {
  const { bulkhead, started, run, end } = createBulkhead(8);
  for (const name of calls('ada', 20)) void run('read', name);
  for (const name of calls('bob', 20)) void run('read', name);
  for (const name of calls('ada', 4)) await end(name);
  // A quarter is free again for the next caller, and the rest is divided.
  expect(started.slice(8)).toEqual(['ada 7', 'bob 3']);
  expect(bulkhead.inFlight).toBe(6);
});

// Through the gateway.

const queued = 'ledger_gateway_calls_queued';
const inFlight = 'ledger_gateway_calls_in_flight';

/** A read of this project. Different projects are different calls. */
const readOf = (project: string) => read.replace('north', project);

test('the service receives at most UPSTREAM_MAX_CONCURRENCY calls at the same time', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '3' });
  const requests = Array.from({ length: 12 }, (_, n) =>
    gateway.graphql(n % 2 === 0 ? write : readOf(`p${n}`)),
  );
  await metricIs(gateway, queued, 9);
  expect(await metric(gateway, inFlight)).toBe(3);
  expect(service.requests).toHaveLength(3);

  service.release();
  for (const { errors } of await Promise.all(requests)) expect(errors).toBeUndefined();
  expect(service.requests).toHaveLength(12);
  expect(service.most()).toBe(3);
  expect([await metric(gateway, inFlight), await metric(gateway, queued)]).toEqual([0, 0]);
});

test('a write in the queue is sent before a read that has waited longer', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '1' });
  const requests = [gateway.graphql(readOf('first'))];
  await service.arrived(1);
  requests.push(gateway.graphql(readOf('second')));
  await metricIs(gateway, queued, 1);
  requests.push(gateway.graphql(write));
  await metricIs(gateway, queued, 2);

  service.release();
  await Promise.all(requests);
  expect(service.requests.map(({ received: { url } }) => url.split('?')[0])).toEqual([
    '/getGLCodes5',
    '/upgradeToHQ',
    '/getGLCodes5',
  ]);
});

test('a call that waits for a quarter of its timeout gets UPSTREAM_BUSY and is not sent', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, {
    UPSTREAM_MAX_CONCURRENCY: '1',
    UPSTREAM_TIMEOUT_MS: '2000',
  });
  const first = gateway.graphql(read);
  await service.arrived(1);
  for (const query of [readOf('late'), write]) {
    const { status, data, errors } = await gateway.graphql(query);
    expect(status).toBe(200);
    expect(data).toEqual({ result: null });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'UPSTREAM_BUSY', retryable: true });
  }
  service.release();
  await first;
  expect(service.requests).toHaveLength(1);
  expect(gateway.logs).toContainEqual(
    expect.objectContaining({ msg: 'call', outcome: 'UPSTREAM_BUSY', fault: 'queued too long' }),
  );
});

test('many references of one caller leave a place for another caller', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '8' });
  const fields = Array.from(
    { length: 100 },
    (_, n) => `r${n}: glCodes(target: EMAIL, project: "p${n}") { __typename }`,
  );
  const reading = gateway.graphql(`{ ${fields.join(' ')} }`);
  await metricIs(gateway, queued, 94);

  const authorization = `Bearer ${await (await testIssuer()).token({ sub: 'bob' })}`;
  const other = gateway.graphql(read, {}, { authorization });
  (await service.arrived(7)).respond();
  expect((await other).errors).toBeUndefined();
  service.release();
  expect((await reading).errors).toBeUndefined();
});

test('a write that got no place frees its idempotency key', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, {
    UPSTREAM_MAX_CONCURRENCY: '1',
    UPSTREAM_TIMEOUT_MS: '2000',
  });
  const first = gateway.graphql(read);
  await service.arrived(1);
  const key = { 'idempotency-key': 'busy' };
  const { errors } = await gateway.graphql(write, {}, key);
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'UPSTREAM_BUSY', retryable: true });
  service.release();
  await first;
  const { data, headers } = await gateway.graphql(write, {}, key);
  expect(data.result.__typename).toBe('WorkflowActionCompleted');
  expect(headers.get('idempotent-replayed')).toBeNull();
  expect(service.requests).toHaveLength(2);
});

test('a read whose client disconnects while it is queued is never sent', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '1' });
  const first = gateway.graphql(write);
  await service.arrived(1);
  const client = new AbortController();
  const response = gateway.post({ query: read }, {}, client.signal);
  await metricIs(gateway, queued, 1);
  client.abort();
  await expect(response).rejects.toThrow();
  await metricIs(gateway, queued, 0);

  service.release();
  await first;
  await gateway.close();
  expect(service.requests).toHaveLength(1);
});
