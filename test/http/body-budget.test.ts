import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { read } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { metric } from '../support/metric.ts';
import { connectTo } from '../support/raw-request.ts';

/** A megabyte, in bytes. */
const MB = 1_000_000;

const uploadOf = (bytes: number) => ({
  query:
    'mutation ($c: String!) { uploadWorkflowCsv(input: { fileName: "a", contentBase64: $c }) { __typename } }',
  variables: { c: 'AAAA'.repeat(bytes / 4) },
});

/** A gateway that holds large bodies of up to 25 MB. */
async function start() {
  const service = await startHeldService();
  const gateway = await startGatewayProcess(service, {}, ['--max-old-space-size=128']);
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    gateway.post(body, { authorization: `Bearer ${gateway.token}`, ...headers });
  return { service, gateway, post };
}

test('bodies that exceed the memory for them are rejected, and accepted when there is room', async () => {
  const { service, gateway, post } = await start();
  const first = post(uploadOf(13 * MB));
  await service.arrived(1);

  const second = await post(uploadOf(13 * MB));
  expect(second.status).toBe(503);
  expect(second.headers.get('retry-after')).toBe('1');
  expect(JSON.parse(second.text)).toMatchObject({
    errors: [{ extensions: { code: 'OVERLOADED', retryable: true } }],
  });
  expect(await metric(gateway, 'ledger_gateway_requests_shed_total')).toBe(1);
  const small = post({ query: read });
  await service.arrived(2);

  service.release();
  expect((await first).status).toBe(200);
  expect((await small).status).toBe(200);
  expect((await post(uploadOf(13 * MB))).status).toBe(200);
});

test('a body counts while it is executed, although its client has disconnected', async () => {
  const { service, gateway, post } = await start();
  const body = JSON.stringify(uploadOf(13 * MB));
  const socket = connectTo(gateway.url);
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await service.arrived(1);
  socket.resetAndDestroy();
  await gateway.logLine({ msg: 'request', status: 499 });

  expect((await post(uploadOf(13 * MB))).status).toBe(503);
  service.release();
  await gateway.logLine({ msg: 'client disconnected before outcome of writes' });
  expect((await post(uploadOf(13 * MB))).status).toBe(200);
});

test('a body in chunks counts as it arrives', async () => {
  const { service, gateway, post } = await start();
  const first = post(uploadOf(13 * MB));
  await service.arrived(1);
  const socket = connectTo(gateway.url);
  socket.on('error', () => {});
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  for (let sent = 0; sent < 13; sent++) socket.write(`f4240\r\n${' '.repeat(MB)}\r\n`);
  const [response] = await once(socket, 'data');

  expect(String(response)).toMatch(/^HTTP\/1\.1 503 /);
  service.release();
  expect((await first).status).toBe(200);
});

test('a body in chunks of one byte takes little more memory than its bytes', async () => {
  const service = await startHeldService();
  const gateway = await startGatewayProcess(service, {}, ['--max-old-space-size=96']);
  const socket = connectTo(gateway.url);
  socket.on('error', () => {});
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  socket.write('1\r\n \r\n'.repeat(600_000));
  const body = '{"query":"{ __typename }"}';
  socket.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  const [response] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);

  expect(String(response)).toMatch(/^HTTP\/1\.1 200 /);
});
