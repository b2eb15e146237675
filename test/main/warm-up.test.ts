import { expect, test } from '@jest/globals';
import { startGatewayProcess } from '../../testkit/gateway-process.ts';
import { sumOf } from '../../testkit/metric.ts';
import { startService } from '../../testkit/service.ts';

const warmUp = /warm-up/;

test('a gateway executes the examples before it listens, and the service, log and metrics show nothing of it', async () => {
  const service = await startService();
  const gateway = await startGatewayProcess(service);
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();

  expect(gateway.logs[0]).toMatchObject({ msg: 'starting' });
  // It would say that an example was not executed.
  expect(gateway.output()).not.toMatch(warmUp);
  expect(service.received).toEqual([]);
  expect(sumOf(metrics, 'ledger_gateway_token_verifications_total')).toBe(0);
  expect(metrics).not.toMatch(/^ledger_gateway_upstream_\w+_total{[^}]*} [1-9]/m);
});

test('a gateway starts without it', async () => {
  const broken = `data:text/javascript,${encodeURIComponent('globalThis.fetch = () => Promise.reject(new Error("broken"));')}`;
  const gateway = await startGatewayProcess(await startService(), {}, ['--import', broken]);
  expect(await gateway.logLine({ msg: 'warm-up failed' })).toMatchObject({
    level: 40,
    fault: 'Error: broken',
  });
  expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
});
