import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { read } from '../support/graphql-operation.ts';
import { json, startService } from '../support/service.ts';

test('with ADMIN_PORT, metrics are only on that port, which also has the health checks', async () => {
  const service = await startService(json({ service_status: { status: 0 }, list: [] }));
  const gateway = await startTestGateway(service, { ADMIN_PORT: '0' });
  const { address } = await gateway.logLine({ msg: 'admin server listens' });
  const statuses = (url: unknown) =>
    Promise.all(
      ['/metrics', '/livez', '/readyz', '/graphql'].map(
        async (path) => (await fetch(`${url}${path}`)).status,
      ),
    );

  expect(await statuses(gateway.url)).toEqual([404, 200, 200, 401]);
  expect(await statuses(address)).toEqual([200, 200, 200, 404]);
  await gateway.graphql(read);
  const text = await (await fetch(`${address}/metrics`)).text();
  expect(text).toContain('ledger_gateway_operations_total{');
});
