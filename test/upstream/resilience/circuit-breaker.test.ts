import { expect, test } from '@jest/globals';
import { read as readQuery } from '../../../testkit/graphql-operation.ts';
import { metric } from '../../../testkit/metric.ts';
import { type Reply, reply, startService, success } from '../../../testkit/service.ts';
import { startStack } from '../../support/stack.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { retryable, startOutcomes } from '../../support/upstream-call.ts';

const advance = stopClock();

/** Advances the time until an open circuit allows a probe. */
const makeProbeDue = () => advance(4000);

/** The service asks to retry after the deadline, so a read gets one attempt. */
const fault = reply(503, '', { 'retry-after': '3600' });
const rejected = retryable('UPSTREAM_UNAVAILABLE');
const failed = 'UPSTREAM_FAILED';

/** Starts calls to a service whose reply can be changed. */
async function start(first: Reply = fault, timeoutMs = 5000) {
  const { url, received, respondWith } = await startService(first);
  const { calls, read, write } = startOutcomes(url, { timeoutMs });
  return {
    read,
    write,
    state: () => calls.admission.circuit.state,
    /** The requests that the service received, in order. */
    urls: () => received.map(({ url }) => url),
    respondWith,
    /** Reads several times, one after another, since concurrent equal reads would share a call. */
    async times(count: number): Promise<void> {
      for (let n = 0; n < count; n++) await read();
    },
  };
}

/** Starts calls, opens their circuit, and changes the reply of the service. */
async function startOpen(then: Reply, timeoutMs?: number) {
  const service = await start(fault, timeoutMs);
  await service.times(10);
  expect(service.state()).toBe('open');
  service.respondWith(then);
  return { ...service, urls: () => service.urls().slice(10) };
}

const probe = '/getGLCodes5?target=-1&project=&includeHide=false';

// Closed to open.

test('ten faults in a row open the circuit, and then no call is sent', async () => {
  const { read, write, times, state, urls } = await start();
  await times(2);
  expect(state()).toBe('closed');
  while (urls().length < 10) await read();
  expect(state()).toBe('open');
  expect([await read(), await write()]).toEqual([rejected, rejected]);
  expect(urls()).toHaveLength(10);
});

test('the state of the circuit has a metric, and that it opens and closes is logged and counted', async () => {
  const { gateway, respondWith } = await startStack(fault, { LOG_LEVEL: 'info' });
  const state = () => metric(gateway, 'ledger_gateway_circuit_state');
  for (let n = 0; n < 10; n++) await gateway.graphql(readQuery);
  expect(await state()).toBe(2);
  makeProbeDue();
  expect(await state()).toBe(1);
  respondWith(success);
  await gateway.graphql(readQuery);
  expect(await state()).toBe(0);
  for (const to of ['open', 'closed']) {
    expect(await metric(gateway, 'ledger_gateway_circuit_transitions_total', { to })).toBe(1);
  }
  const messages = gateway.logs.map(({ msg }) => String(msg));
  const transitions = messages.filter((msg) => msg.startsWith('circuit '));
  expect(transitions).toEqual(['circuit opened', 'circuit closed']);
});

// Open to closed.

test.each<[string, Reply, string]>([
  ['succeeds', success, 'success'],
  ['gets 500, since the service responds', reply(500), retryable(failed)],
])('a read serves as the probe, and closes the circuit if it %s', async (_, probed, outcome) => {
  const { read, write, respondWith, state, urls } = await startOpen(probed);
  makeProbeDue();
  expect(await read()).toBe(outcome);
  expect([state(), urls().length]).toEqual(['closed', 1]);
  respondWith(success);
  expect(await write()).toBe('success');
});

test('a write is sent once, after a read that serves as the probe, even if that is refused', async () => {
  const refuseProbe: Reply = (...received) =>
    (received[1].url === probe ? reply(400) : success)(...received);
  const { write, state, urls } = await startOpen(refuseProbe, 5001); // Half of it is no integer.
  makeProbeDue();
  expect(await write()).toBe('success');
  expect(urls()).toEqual([probe, '/upgradeToHQ']);
  expect(state()).toBe('closed');
});

test.each<[string, Reply]>([
  ['fails', fault],
  ['hangs, in time to report that it was not sent', () => {}],
])('a write is not sent if the probe before it %s', async (_, then) => {
  const { write, state, urls } = await startOpen(then, 600);
  makeProbeDue();
  expect(await write()).toBe(rejected);
  expect(urls()).toEqual([probe]);
  expect(state()).toBe('open');
});

test('only one probe is sent at a time, and other calls are rejected at once', async () => {
  const { respondWith, read, write, state, urls } = await startOpen(success);
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  respondWith(async (...received) => {
    arrived.resolve();
    await released.promise;
    await success(...received);
  });
  makeProbeDue();
  const probing = write();
  await arrived.promise;
  expect(state()).toBe('open');
  for (const call of [read, write, read, write]) expect(await call()).toBe(rejected);
  expect(urls()).toHaveLength(1);

  released.resolve();
  expect(await probing).toBe('success');
  expect(state()).toBe('closed');
  expect(urls()).toEqual([probe, '/upgradeToHQ']);
});
