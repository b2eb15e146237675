import { expect, test } from '@jest/globals';
import { startTestGateway } from '../../support/gateway.ts';
import { json, startService } from '../../support/service.ts';

const field = (selection: string) => `workflowAction(action: RESTART) { ${selection} }`;

test.each([
  ['@include', field('... on LedgerStatus @include(if: $flag) { message }')],
  ['@skip', field('... on LedgerStatus @skip(if: $flag) { message }')],
  ['@include on a field', field('... on LedgerStatus { message @include(if: $flag) }')],
  ['@include on a root field', `${field('__typename')} ... @include(if: $flag) { b: __typename }`],
])('a null for %s is rejected before sending', async (_, selection) => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);

  const query = `mutation ($flag: Boolean = true) { ${selection} }`;
  const { status, data, errors } = await gateway.graphql(query, { flag: null });

  expect(status).toBe(400);
  expect(data).toBeUndefined();
  expect(errors?.[0]).toMatchObject({
    message: 'Variable "$flag" must not be null.',
    extensions: { code: 'BAD_USER_INPUT' },
  });
  expect(service.received).toEqual([]);
});

test('a null for a condition inside a fragment is rejected before sending', async () => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);

  const { errors } = await gateway.graphql(
    `mutation ($flag: Boolean = true) { ${field('...Status')} }
     fragment Status on LedgerStatus { message @include(if: $flag) }`,
    { flag: null },
  );

  expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  expect(service.received).toEqual([]);
});

test('a default and a null where null is allowed are accepted', async () => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);
  const query = `mutation ($flag: Boolean = true, $name: String = "Ada") {
    saveApprovers(approvers: [{ name: $name }]) { ... on LedgerStatus @include(if: $flag) { message } }
  }`;

  expect((await gateway.graphql(query, { name: null })).errors).toBeUndefined();
  expect(service.received.map(({ body }) => body)).toEqual(['[{"name":null}]']);
});
