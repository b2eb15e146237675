import { expect, test } from '@jest/globals';
import { eventually } from '../../testkit/eventually.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { read, write } from '../../testkit/graphql-operation.ts';
import { metric } from '../../testkit/metric.ts';
import { startService, success } from '../../testkit/service.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';
import { startHeldStack, startStack } from '../support/stack.ts';

const forwarding = { FORWARD_HEADERS: 'X-Tenant, x-region' };

test('the service gets the headers of the file and those of the client that are configured', async () => {
  const service = await startService(success);
  const file = await temporaryFile('Subscription-Key: secret-key \r\nX-Region: north\n\n');
  const gateway = await startTestGateway(service, { ...forwarding, UPSTREAM_HEADERS_FILE: file });

  const sent = { 'x-tenant': 'a', 'x-region': 'south', 'x-other': 'b' };
  for (const operation of [read, write]) await gateway.graphql(operation, {}, sent);

  const own = { authorization: `Bearer ${gateway.token}`, 'subscription-key': 'secret-key' };
  for (const { headers } of service.received) {
    expect(headers).toMatchObject({ ...own, 'x-tenant': 'a', 'x-region': 'north' });
    expect(headers).not.toHaveProperty('x-other');
  }
  expect(service.received).toHaveLength(2);
  expect(gateway.logText()).toContain('subscription-key');
  expect(gateway.logText()).not.toContain('secret-key');
});

test('reads share a call only if their forwarded headers are equal', async () => {
  const { service, gateway } = await startHeldStack(forwarding);
  const tenants = ['a', 'a', 'b'];
  const responses = tenants.map((tenant) => gateway.graphql(read, {}, { 'x-tenant': tenant }));
  await service.arrived(2);
  const shared = () =>
    metric(gateway, 'ledger_gateway_calls_shared_total', { operation: 'getGLCodes5' });
  await eventually(async () => expect(await shared()).toBe(1));
  service.release();
  await Promise.all(responses);
  const sent = service.received.map(({ headers }) => headers['x-tenant']);
  expect(sent.sort()).toEqual(['a', 'b']);
});

test('the same idempotency key with another forwarded header is another request', async () => {
  const { service, gateway } = await startStack(success, forwarding);
  const codes: unknown[] = [];
  for (const tenant of ['a', 'b', 'a']) {
    const headers = { 'idempotency-key': 'intent-1', 'x-tenant': tenant };
    codes.push((await gateway.graphql(write, {}, headers)).errors?.[0]?.extensions.code);
  }
  expect(codes).toEqual([undefined, 'IDEMPOTENCY_KEY_REUSED', undefined]);
  expect(service.received).toHaveLength(1);
});

const invalidTexts = ['authorization: secret', 'x-request-id: secret', 'secret', 'x-tenant:'];
const invalidFiles = ['/nowhere', ...(await Promise.all(invalidTexts.map(temporaryFile)))];

test.each([
  ['FORWARD_HEADERS', 'x-tenant,Authorization'],
  ['FORWARD_HEADERS', 'x tenant'],
  ...invalidFiles.map((path): [string, string] => ['UPSTREAM_HEADERS_FILE', path]),
])('%s=%s is an error that does not show a value', async (name, value) => {
  const started = startTestGateway({ url: 'http://localhost/' }, { [name]: value });
  await expect(started).rejects.toThrow(new RegExp(`${name} must be .*none is Authorization`));
  await expect(started).rejects.not.toThrow(/secret/);
});
