import { expect, test } from '@jest/globals';
import { Bulkhead } from '../../src/upstream/bulkhead.ts';
import { UpstreamError } from '../../src/upstream/errors.ts';
import { readStatus } from '../../src/upstream/wire.ts';
import { read, startTestGateway, write } from '../helper.ts';
import { metric, metricIs, never, startCalls, startHeldService, writeOf } from './held.ts';

/** Runs calls in a bulkhead: which have started, and how to end them. */
function startTasks(limit: number) {
  const bulkhead = new Bulkhead(limit);
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  return {
    bulkhead,
    started,
    run(effect: 'read' | 'write', name: string, signal = never): Promise<void> {
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      return bulkhead.run(effect, signal, () => {
        started.push(name);
        return end.promise;
      });
    },
    end: (name: string) => ends.get(name)?.resolve(),
    fail: (name: string) => ends.get(name)?.reject(new Error(name)),
  };
}

const refusal = (fault: string) => expect.objectContaining({ effect: 'none', fault });

test('calls up to the limit start at once and the next one waits for a place', async () => {
  const { bulkhead, started, run, end } = startTasks(2);
  const first = run('read', 'first');
  const second = run('write', 'second');
  const third = run('read', 'third');
  expect(started).toEqual(['first', 'second']);
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([2, 1]);

  end('first');
  await first;
  end('third');
  await third;
  expect(started).toEqual(['first', 'second', 'third']);
  end('second');
  await second;
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([0, 0]);
});

test('writes go before reads, and each in the order they came', async () => {
  const { started, run, end } = startTasks(1);
  const all = [
    run('read', 'running'),
    run('read', 'read 1'),
    run('read', 'read 2'),
    run('write', 'write 1'),
    run('write', 'write 2'),
  ];
  for (const name of ['running', 'read 1', 'read 2', 'write 1', 'write 2']) end(name);
  await Promise.all(all);
  expect(started).toEqual(['running', 'write 1', 'write 2', 'read 1', 'read 2']);
});

test('a call that fails gives its place to the next', async () => {
  const { bulkhead, started, run, end, fail } = startTasks(1);
  const first = run('write', 'first');
  const second = run('write', 'second');
  fail('first');
  await expect(first).rejects.toThrow('first');
  end('second');
  await second;
  expect(started).toEqual(['first', 'second']);
  expect(bulkhead.inFlight).toBe(0);
});

test('a line of a hundred refuses reads and one of two hundred refuses writes, at once', async () => {
  const { bulkhead, started, run, end } = startTasks(1);
  const running = run('read', 'running');
  const line = Array.from({ length: 100 }, (_, n) => run('read', `read ${n}`));
  await expect(run('read', 'late')).rejects.toThrow(refusal('too many calls waiting'));

  line.push(...Array.from({ length: 100 }, (_, n) => run('write', `write ${n}`)));
  await expect(run('write', 'late')).rejects.toThrow(refusal('too many calls waiting'));
  await expect(run('read', 'late')).rejects.toThrow(refusal('too many calls waiting'));
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([1, 200]);

  for (const name of ['running', ...started]) end(name);
  for (let n = 0; n < 100; n++) {
    end(`read ${n}`);
    end(`write ${n}`);
  }
  await Promise.all([running, ...line]);
  expect(started).toHaveLength(201);
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([0, 0]);
});

test('a call that ends in line, or before it, never starts and holds no place', async () => {
  const { bulkhead, started, run, end } = startTasks(1);
  const running = run('read', 'running');
  const ending = new AbortController();
  const waiting = run('write', 'waiting', ending.signal);
  ending.abort();
  await expect(waiting).rejects.toThrow(refusal('ended before its turn'));
  await expect(run('write', 'late', ending.signal)).rejects.toThrow(
    refusal('ended before its turn'),
  );
  expect(bulkhead.queued).toBe(0);

  end('running');
  await running;
  expect(started).toEqual(['running']);
  expect(bulkhead.inFlight).toBe(0);
});

test('a refusal is an error that may be retried and had no effect', async () => {
  const { run, end } = startTasks(1);
  const running = run('read', 'running');
  const error = await run('write', 'late', AbortSignal.abort()).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(UpstreamError);
  expect(error).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true, transient: false });
  end('running');
  await running;
});

// Through the gateway.

const queued = 'ledger_gateway_calls_queued';
const inFlight = 'ledger_gateway_calls_in_flight';

/** A read that no other one is equal to. */
const readOf = (project: string) => read.replace('north', project);

test('the service meets no more calls at once than UPSTREAM_MAX_CONCURRENCY', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '3' });
  const asked = Array.from({ length: 12 }, (_, n) =>
    gateway.graphql(n % 2 === 0 ? write : readOf(`p${n}`)),
  );
  await metricIs(gateway, queued, 9);
  expect(await metric(gateway, inFlight)).toBe(3);
  expect(service.calls).toHaveLength(3);

  service.release();
  for (const { errors } of await Promise.all(asked)) expect(errors).toBeUndefined();
  expect(service.calls).toHaveLength(12);
  expect(service.most()).toBe(3);
  expect([await metric(gateway, inFlight), await metric(gateway, queued)]).toEqual([0, 0]);
});

test('a write that waits is sent before a read that waits longer', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '1' });
  const asked = [gateway.graphql(readOf('first'))];
  await service.arrived(1);
  asked.push(gateway.graphql(readOf('second')));
  await metricIs(gateway, queued, 1);
  asked.push(gateway.graphql(write));
  await metricIs(gateway, queued, 2);

  service.release();
  await Promise.all(asked);
  expect(service.calls.map(({ received: { url } }) => url.split('?')[0])).toEqual([
    '/getGLCodes5',
    '/upgradeToHQ',
    '/getGLCodes5',
  ]);
});

test('a read that finds the line full is refused while a write still finds a place in it', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '1' });
  const asked = Array.from({ length: 101 }, (_, n) => gateway.graphql(readOf(`p${n}`)));
  await metricIs(gateway, queued, 100);

  const { status, data, errors } = await gateway.graphql(readOf('late'));
  expect(status).toBe(200);
  expect(data).toEqual({ result: null });
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true });

  const written = gateway.graphql(write);
  await metricIs(gateway, queued, 101);
  service.release();
  expect((await written).data.result.__typename).toBe('WorkflowActionCompleted');
  for (const { errors } of await Promise.all(asked)) expect(errors).toBeUndefined();
  expect(service.calls).toHaveLength(102);
});

test('a write whose deadline passes in line was never sent, and is told so', async () => {
  const service = await startHeldService();
  const calls = startCalls(service, { maxConcurrency: 1, timeoutMs: 400 });
  // Begun in the same moment, so that the place is not handed on before the deadline of the second.
  const [first, second] = await Promise.allSettled([
    calls.call(writeOf('token'), readStatus, never),
    calls.call(writeOf('token'), readStatus, never),
  ]);

  const late = { code: 'UPSTREAM_TIMEOUT', retryable: true };
  expect(first).toMatchObject({ reason: { ...late, effect: 'possible' } });
  expect(second).toMatchObject({ reason: { ...late, effect: 'none' } });
  await calls.settled();
  expect(service.calls).toHaveLength(1);
});

test('a read whose caller leaves while it waits is never sent', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '1' });
  const first = gateway.graphql(write);
  await service.arrived(1);
  const leaving = new AbortController();
  const left = fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` },
    body: JSON.stringify({ query: read }),
    signal: leaving.signal,
  });
  await metricIs(gateway, queued, 1);
  leaving.abort();
  await expect(left).rejects.toThrow();
  await metricIs(gateway, queued, 0);

  service.release();
  await first;
  await gateway.close();
  expect(service.calls).toHaveLength(1);
});
