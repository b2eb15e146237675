import { expect, test } from '@jest/globals';
import { read, write } from '../../testkit/graphql-operation.ts';
import { metric, metricIs } from '../../testkit/metric.ts';
import { startService } from '../../testkit/service.ts';
import { startHeldStack } from '../support/stack.ts';
import { glCodesOf, scopeOf, startCalls, upgradeToHq } from '../support/upstream-call.ts';

const queued = 'ledger_gateway_calls_queued';
const inFlight = 'ledger_gateway_calls_in_flight';

/** A read of this project. Different projects are different calls. */
const readOf = (project: string) => read.replace('north', project);

test('one caller has at most half of UPSTREAM_MAX_CONCURRENCY calls in flight, and its writes go first', async () => {
  const { service, gateway } = await startHeldStack({ UPSTREAM_MAX_CONCURRENCY: '2' });
  const requests = [gateway.graphql(readOf('first'))];
  await service.arrived(1);
  requests.push(gateway.graphql(readOf('second')));
  await metricIs(gateway, queued, 1);
  requests.push(gateway.graphql(write));
  await metricIs(gateway, queued, 2);
  expect(await metric(gateway, inFlight)).toBe(1);

  service.release();
  for (const { errors } of await Promise.all(requests)) expect(errors).toBeUndefined();
  expect(service.most()).toBe(1);
  expect(service.received.map(({ path }) => path)).toEqual([
    '/getGLCodes5',
    '/upgradeToHQ',
    '/getGLCodes5',
  ]);
  expect([await metric(gateway, inFlight), await metric(gateway, queued)]).toEqual([0, 0]);
});

test('a call that waits for a quarter of its timeout gets UPSTREAM_BUSY, is not sent, and frees its key', async () => {
  const { service, gateway } = await startHeldStack({
    UPSTREAM_MAX_CONCURRENCY: '1',
    UPSTREAM_TIMEOUT_MS: '2000',
  });
  const key = { 'idempotency-key': 'busy' };
  const first = gateway.graphql(read);
  await service.arrived(1);
  const extensions = { code: 'UPSTREAM_BUSY', retryable: true };
  const late = [readOf('late'), write].map((query) => gateway.graphql(query, {}, key));
  for (const response of await Promise.all(late)) {
    expect(response).toMatchObject({
      status: 200,
      data: { result: null },
      errors: [{ extensions }],
    });
  }
  service.release();
  await first;
  expect(service.received).toHaveLength(1);
  expect(gateway.logs).toContainEqual(
    expect.objectContaining({ msg: 'call', outcome: 'UPSTREAM_BUSY', fault: 'queued too long' }),
  );
  const { data, headers } = await gateway.graphql(write, {}, key);
  expect(data.result.__typename).toBe('WorkflowActionCompleted');
  expect(headers.get('idempotent-replayed')).toBeNull();
});

test('a read whose client disconnects while it is queued leaves the queue, and is never sent', async () => {
  const service = await startService();
  const { calls } = startCalls(service, { maxConcurrency: 1 });
  const writing = calls.write(upgradeToHq, scopeOf());
  const client = new AbortController();
  const reading = calls.read(glCodesOf(), scopeOf('token', client.signal));
  expect(calls.admission.gate.waiting).toBe(1);
  client.abort();
  expect(calls.admission.gate.waiting).toBe(0);
  await expect(reading).rejects.toMatchObject({ code: 'CLIENT_DISCONNECTED' });
  service.release();
  await writing;
  expect(service.received).toHaveLength(1);
});
