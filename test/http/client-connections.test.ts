import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { read } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { metric } from '../support/metric.ts';
import { connectTo } from '../support/raw-request.ts';

test('each request whose client disconnects is logged and counted once', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const body = JSON.stringify({ query: read });
  const request = [
    'POST /graphql HTTP/1.1',
    'host: gateway',
    `authorization: Bearer ${gateway.token}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
  const socket = connectTo(gateway.url);
  socket.write(request + request); // Two pipelined requests.
  await service.arrived(1);
  socket.destroy();
  await service.idle();

  await gateway.graphql('{ __typename }');
  await gateway.logLine({ msg: 'request', status: 200 });
  const lines = gateway.logs.filter(({ msg, status }) => msg === 'request' && status === 499);
  expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(2);
  expect(lines).toHaveLength(2);
  expect(await metric(gateway, 'ledger_gateway_http_requests_total', { status: '499' })).toBe(2);
});
