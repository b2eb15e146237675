import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { write } from '../support/graphql-operation.ts';
import { json, startService } from '../support/service.ts';

test.each([
  'text/html',
  'text/event-stream',
  'multipart/mixed',
  'application/json;version=1',
  'application/json;q=0',
  'image/*',
])('a mutation that accepts only %s is rejected before sending', async (accept) => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);

  const { status, text } = await gateway.post({ query: write }, { accept });

  expect(status).toBe(406);
  expect(JSON.parse(text)).toEqual({
    errors: [
      expect.objectContaining({ extensions: expect.objectContaining({ code: 'BAD_REQUEST' }) }),
    ],
  });
  expect(service.received).toEqual([]);
});

test.each([
  ['*/*', 'application/json; charset=utf-8'],
  ['application/*', 'application/json; charset=utf-8'],
  ['application/json', 'application/json; charset=utf-8'],
  ['text/html, application/json;q=0.1', 'application/json; charset=utf-8'],
  ['application/graphql-response+json', 'application/graphql-response+json; charset=utf-8'],
  [
    'application/graphql-response+json, application/json;q=0.9',
    'application/graphql-response+json; charset=utf-8',
  ],
  ['', 'application/json; charset=utf-8'],
])('a mutation that accepts %s gets %s', async (accept, contentType) => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);

  const { status, headers } = await gateway.post({ query: write }, { accept });

  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe(contentType);
  expect(service.received).toHaveLength(1);
});
