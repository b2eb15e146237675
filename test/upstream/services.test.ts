import { expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { services as declared, type ServiceName } from '../../src/upstream/declarations.ts';
import { operations, pathsOf } from '../../src/upstream/operations.ts';
import { connectServices } from '../../src/upstream/services.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { sumOf } from '../../testkit/metric.ts';
import { json, type Reply, reply, startService, success } from '../../testkit/service.ts';
import { createMemory } from '../support/admission.ts';
import { createMetrics } from '../support/metrics.ts';
import { glCodesOf, openPolicy, scopeOf, upgradeToHq } from '../support/upstream-call.ts';

/** Connects two services, of which the second one has all writes of `upgradeToHQ`. */
async function startTwo(reply: Reply = success) {
  const ledger = await startService(reply);
  const second = await startService(json({ status: 0, message: 'second' }));
  const limits = { timeoutMs: 5000, maxResponseBytes: 1_000_000, maxConcurrency: 2 };
  const settings = { ...limits, ...declared.ledger, headers: {}, tls: {} };
  const metrics = createMetrics();
  const services = connectServices(
    {
      ledger: { ...settings, baseUrl: new URL(ledger.url) },
      second: { ...settings, baseUrl: new URL(second.url), headers: { 'x-second': 'yes' } },
    },
    {
      paths: pathsOf(),
      readCacheMs: 0,
      memory: createMemory(),
      log: pino({ level: 'silent' }),
      metrics,
      policy: openPolicy,
    },
  );
  closeAfterTest(() => services.close());
  const moved: { service: string } = operations.upgradeToHQ;
  const replaced = jest.replaceProperty(moved, 'service', 'second');
  closeAfterTest(() => replaced.restore());
  return { ledger, second, services, metrics };
}

test('a call goes to the service of its operation, with the headers and the metrics of that one', async () => {
  const { ledger, second, services, metrics } = await startTwo();
  await services.calls.read(glCodesOf(), scopeOf());
  const written = await services.calls.write(upgradeToHq, scopeOf());
  expect(written).toMatchObject({ message: 'second', status: 0 });
  expect(ledger.received.map(({ url, headers }) => [url, headers['x-second']])).toEqual([
    [expect.stringMatching(/^\/getGLCodes5/), undefined],
  ]);
  expect(second.received.map(({ url, headers }) => [url, headers['x-second']])).toEqual([
    ['/upgradeToHQ', 'yes'],
  ]);
  const text = await metrics.text();
  for (const service of ['ledger', 'second']) {
    expect(text).toContain(`ledger_gateway_calls_in_flight{service="${service}"} 0`);
  }
});

test('a service that fails opens its own circuit, and the other one is called', async () => {
  const failing = reply(503, '', { 'retry-after': '9' });
  const { second, services, metrics } = await startTwo(failing);
  for (let n = 0; n < 10; n++) {
    await services.calls.read(glCodesOf(String(n)), scopeOf()).catch(() => {});
  }
  const state = async (service: ServiceName | 'second') =>
    sumOf(await metrics.text(), 'ledger_gateway_circuit_state', { service });
  expect([await state('ledger'), await state('second')]).toEqual([2, 0]);
  expect(await services.calls.write(upgradeToHq, scopeOf())).toMatchObject({ message: 'second' });
  expect(second.received).toHaveLength(1);
});

test('an operation whose service has no settings is not sent', async () => {
  const { ledger, services } = await startTwo();
  const unknown: { service: string } = operations.getGLCodes5;
  const replaced = jest.replaceProperty(unknown, 'service', 'third');
  closeAfterTest(() => replaced.restore());
  const read = async () => services.calls.read(glCodesOf(), scopeOf());
  await expect(read()).rejects.toThrow('The service third has no settings.');
  expect(ledger.received).toEqual([]);
});
