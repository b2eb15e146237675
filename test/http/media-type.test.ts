import { expect, test } from '@jest/globals';
import { write } from '../support/graphql-operation.ts';
import { json } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const setReply = shareGateway();
const graphqlType = 'application/graphql-response+json; charset=utf-8';
const jsonType = 'application/json; charset=utf-8';

test.each([
  'text/html',
  'text/event-stream',
  'multipart/mixed',
  'application/json;version=1',
  'application/json;q=0',
  'image/*',
])('a mutation that accepts only %s is rejected before sending', async (accept) => {
  const { service, gateway } = setReply(json({ status: 0 }));
  const { status, text } = await gateway.post({ query: write }, { accept });
  expect(status).toBe(406);
  expect(JSON.parse(text).errors).toEqual([
    expect.objectContaining({ extensions: expect.objectContaining({ code: 'BAD_REQUEST' }) }),
  ]);
  expect(service.received).toEqual([]);
});

test.each([
  ['*/*', jsonType],
  ['application/*', jsonType],
  ['application/json', jsonType],
  ['text/html, application/json;q=0.1', jsonType],
  ['application/graphql-response+json', graphqlType],
  ['application/graphql-response+json, application/json;q=0.9', graphqlType],
  ['', jsonType],
])('a mutation that accepts %s gets %s', async (accept, contentType) => {
  const { service, gateway } = setReply(json({ status: 0 }));
  const { status, headers } = await gateway.post({ query: write }, { accept });
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe(contentType);
  expect(service.received).toHaveLength(1);
});
