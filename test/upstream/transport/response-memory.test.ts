import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { startGatewayProcess } from '../../support/gateway-process.ts';
import { read } from '../../support/graphql-operation.ts';
import { json, startService } from '../../support/service.ts';

test('a response in chunks of one byte takes little more memory than its bytes', async () => {
  const service = await startService(async ({ socket }) => {
    if (!socket) return;
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    if (!socket.write('1\r\n \r\n'.repeat(1_500_000))) await once(socket, 'drain');
    socket.write('2\r\n{}\r\n0\r\n\r\n');
  });
  const variables = { UPSTREAM_TIMEOUT_MS: '60000' };
  const gateway = await startGatewayProcess(service, variables, ['--max-old-space-size=96']);
  const { text } = await gateway.post(
    { query: read },
    { authorization: `Bearer ${gateway.token}` },
  );
  expect(text).toContain('LedgerUnrecognizedStatus');
});

test('a response of millions of empty records is rejected before it is parsed', async () => {
  const list = `[${'{},'.repeat(5_000_000)}{}]`;
  const service = await startService(json(`{"service_status":{"status":0},"list":${list}}`));
  const variables = { UPSTREAM_TIMEOUT_MS: '60000' };
  const gateway = await startGatewayProcess(service, variables, ['--max-old-space-size=256']);
  const { text } = await gateway.post(
    { query: read },
    { authorization: `Bearer ${gateway.token}` },
  );
  expect(text).toContain('UPSTREAM_INVALID_RESPONSE');
});
