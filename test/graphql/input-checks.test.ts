import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { json, startService } from '../support/service.ts';

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

test('one error reports all faults of the variables, each with its path from the argument on', async () => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);
  const query = `mutation ($list: [ApproverInput!]!, $name: String, $flag: Boolean = true, $file: String!) {
    saveApprovers(approvers: $list) { __typename @include(if: $flag) }
    ...Others
  }
  fragment Others on Mutation {
    b: saveApprovers(approvers: [{}, { name: $name }]) { __typename }
    uploadWorkflowCsv(input: { fileName: $file }) { __typename }
  }`;

  const { status, data, errors } = await gateway.graphql(query, {
    list: [{ name: 1, limit: 2 }, {}, 'x'],
    name: [],
    flag: null,
  });

  expect(status).toBe(400);
  expect(data).toBeUndefined();
  expect(errors).toHaveLength(1);
  expect(errors?.[0]?.message).toBe(
    'The input has 6 faults. The first: Variable "$list" is invalid at [0].name: String cannot represent a non string value: 1',
  );
  expect(errors?.[0]?.extensions.faults).toEqual([
    { path: ['approvers', 0, 'name'], message: expect.stringContaining('non string value: 1') },
    { path: ['approvers', 0], message: expect.stringContaining('"limit" is not defined') },
    { path: ['approvers', 2], message: expect.stringContaining('to be an object') },
    { path: ['approvers', 1, 'name'], message: expect.stringContaining('Variable "$name"') },
    { path: ['input', 'fileName'], message: 'Variable "$file" is required.' },
    { path: ['if'], message: 'Variable "$flag" must not be null.' },
  ]);
  expect(service.received).toEqual([]);
});

test('one error reports at most 100 faults of variables', async () => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);
  const query = 'mutation ($a: [ApproverInput!]!) { saveApprovers(approvers: $a) { __typename } }';

  const { errors } = await gateway.graphql(query, { a: Array(101).fill(1) });

  expect(errors?.[0]?.message).toMatch(/^The input has more than 100 faults\. /);
  expect(errors?.[0]?.extensions.faults).toHaveLength(100);
});
