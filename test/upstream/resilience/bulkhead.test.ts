import { expect, test } from '@jest/globals';
import { Bulkhead } from '../../../src/upstream/resilience/bulkhead.ts';
import { UpstreamError } from '../../../src/upstream/upstream-error.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { read, write } from '../../support/graphql-operation.ts';
import { startHeldService } from '../../support/held-service.ts';
import { metric, metricIs } from '../../support/metric.ts';
import { neverAborted, scopeOf, startCalls, upgradeToHq } from '../../support/upstream-call.ts';

/** A bulkhead with named calls that run until they are ended. */
function createBulkhead(limit: number) {
  const bulkhead = new Bulkhead(limit);
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  return {
    bulkhead,
    started,
    run(effect: 'read' | 'write', name: string, signal = neverAborted): Promise<void> {
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

const notSent = (fault: string) => expect.objectContaining({ sent: 'no', fault });

test('calls up to the limit start at once, and the next one waits for a place', async () => {
  const { bulkhead, started, run, end } = createBulkhead(2);
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

test('writes start before reads, and otherwise in the order of arrival', async () => {
  const { started, run, end } = createBulkhead(1);
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

test('a call that fails hands its place to the next one', async () => {
  const { bulkhead, started, run, end, fail } = createBulkhead(1);
  const first = run('write', 'first');
  const second = run('write', 'second');
  fail('first');
  await expect(first).rejects.toThrow('first');
  end('second');
  await second;
  expect(started).toEqual(['first', 'second']);
  expect(bulkhead.inFlight).toBe(0);
});

test('a queue of 100 rejects reads at once, and a queue of 200 rejects writes', async () => {
  const { bulkhead, started, run, end } = createBulkhead(1);
  const running = run('read', 'running');
  const waiting = Array.from({ length: 100 }, (_, n) => run('read', `read ${n}`));
  await expect(run('read', 'late')).rejects.toThrow(notSent('too many calls queued'));

  waiting.push(...Array.from({ length: 100 }, (_, n) => run('write', `write ${n}`)));
  await expect(run('write', 'late')).rejects.toThrow(notSent('too many calls queued'));
  await expect(run('read', 'late')).rejects.toThrow(notSent('too many calls queued'));
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([1, 200]);

  for (const name of ['running', ...started]) end(name);
  for (let n = 0; n < 100; n++) {
    end(`read ${n}`);
    end(`write ${n}`);
  }
  await Promise.all([running, ...waiting]);
  expect(started).toHaveLength(201);
  expect([bulkhead.inFlight, bulkhead.queued]).toEqual([0, 0]);
});

test('a call aborted in the queue, or before it, never starts and takes no place', async () => {
  const { bulkhead, started, run, end } = createBulkhead(1);
  const running = run('read', 'running');
  const controller = new AbortController();
  const waiting = run('write', 'waiting', controller.signal);
  controller.abort();
  await expect(waiting).rejects.toThrow(notSent('aborted while queued'));
  await expect(run('write', 'late', controller.signal)).rejects.toThrow(
    notSent('aborted while queued'),
  );
  expect(bulkhead.queued).toBe(0);

  end('running');
  await running;
  expect(started).toEqual(['running']);
  expect(bulkhead.inFlight).toBe(0);
});

test('a rejected call is retryable, but not by the gateway itself', async () => {
  const { run, end } = createBulkhead(1);
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

test('a full queue rejects a read while it still accepts a write', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '1' });
  const fields = Array.from(
    { length: 101 },
    (_, n) => `r${n}: glCodes(target: EMAIL, project: "p${n}") { __typename }`,
  );
  const reading = gateway.graphql(`{ ${fields.join(' ')} }`);
  await metricIs(gateway, queued, 100);

  const { status, data, errors } = await gateway.graphql(readOf('late'));
  expect(status).toBe(200);
  expect(data).toEqual({ result: null });
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true });

  const writing = gateway.graphql(write);
  await metricIs(gateway, queued, 101);
  service.release();
  expect((await writing).data.result.__typename).toBe('WorkflowActionCompleted');
  expect((await reading).errors).toBeUndefined();
  expect(service.requests).toHaveLength(102);
});

test('a write whose deadline passes in the queue was not sent, and its error says so', async () => {
  const service = await startHeldService();
  const { calls } = startCalls(service, { maxConcurrency: 1, timeoutMs: 1000 });
  // Started together, so that the second one gets no place before its deadline.
  const [first, second] = await Promise.allSettled([
    calls.write(upgradeToHq, scopeOf()),
    calls.write(upgradeToHq, scopeOf()),
  ]);

  expect(first).toMatchObject({ status: 'fulfilled', value: { code: 'UPSTREAM_TIMEOUT' } });
  expect(second).toMatchObject({
    status: 'rejected',
    reason: { code: 'UPSTREAM_TIMEOUT', retryable: true, sent: 'no' },
  });
  await calls.idle();
  expect(service.requests).toHaveLength(1);
});

test('a read whose client disconnects while it is queued is never sent', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_CONCURRENCY: '1' });
  const first = gateway.graphql(write);
  await service.arrived(1);
  const client = new AbortController();
  const response = fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` },
    body: JSON.stringify({ query: read }),
    signal: client.signal,
  });
  await metricIs(gateway, queued, 1);
  client.abort();
  await expect(response).rejects.toThrow();
  await metricIs(gateway, queued, 0);

  service.release();
  await first;
  await gateway.close();
  expect(service.requests).toHaveLength(1);
});
