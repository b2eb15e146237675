import { expect, test } from '@jest/globals';
import { anyWrite } from '../../testkit/graphql-operation.ts';
import { json } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway();
const start = () => share(json({ status: 0 }));

test.each([
  anyWrite('... on LedgerStatus @include(if: $flag) { message }'),
  anyWrite('... on LedgerStatus @skip(if: $flag) { message }'),
  anyWrite('... on LedgerStatus { message @include(if: $flag) }'),
  `${anyWrite('__typename')} ... @include(if: $flag) { b: __typename }`,
  `${anyWrite('...F')} } fragment F on LedgerStatus { message @include(if: $flag)`,
])('a null for the condition in %s is rejected before sending', async (selection) => {
  const { service, gateway } = start();
  const query = `mutation ($flag: Boolean = true) { ${selection} }`;
  const { status, data, errors } = await gateway.graphql(query, { flag: null });
  expect([status, data]).toEqual([400, undefined]);
  const message = 'Variable "$flag" must not be null.';
  expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT' } }]);
  expect(service.received).toEqual([]);
});

test('a default and a null where null is allowed are accepted', async () => {
  const { service, gateway } = start();
  const query = `mutation ($flag: Boolean = true, $name: String = "Ada") {
    saveApprovers(approvers: [{ name: $name }]) { ... on LedgerStatus @include(if: $flag) { message } }
  }`;
  expect((await gateway.graphql(query, { name: null })).errors).toBeUndefined();
  expect(service.received.map(({ body }) => body)).toEqual(['[{"name":null}]']);
});

test('one error reports all faults of the variables, each with its path from the argument on', async () => {
  const { service, gateway } = start();
  const query = `mutation ($list: [ApproverInput!]!, $name: String, $flag: Boolean = true, $file: String!) {
    saveApprovers(approvers: $list) { __typename @include(if: $flag) }
    ...Others
  }
  fragment Others on Mutation {
    b: saveApprovers(approvers: [{}, { name: $name }]) { __typename }
    uploadWorkflowCsv(input: { fileName: $file }) { __typename }
  }`;
  const list = [{ name: 1, limit: 2 }, {}, 'x'];

  const { status, data, errors } = await gateway.graphql(query, { list, name: [], flag: null });

  expect([status, data]).toEqual([400, undefined]);
  const faults = [
    { path: ['approvers', 0, 'name'], message: expect.stringContaining('non string value: 1') },
    { path: ['approvers', 0], message: expect.stringContaining('"limit" is not defined') },
    { path: ['approvers', 2], message: expect.stringContaining('to be an object') },
    { path: ['approvers', 1, 'name'], message: expect.stringContaining('Variable "$name"') },
    { path: ['if'], message: 'Variable "$flag" must not be null.' },
    { path: ['input', 'fileName'], message: 'Variable "$file" is required.' },
  ];
  const message =
    'The input has 6 faults. The first: Variable "$list" is invalid at [0].name: String cannot represent a non string value: 1';
  expect(errors).toEqual([
    expect.objectContaining({ message, extensions: expect.objectContaining({ faults }) }),
  ]);
  expect(service.received).toEqual([]);
});

test('one error reports at most 100 faults of variables', async () => {
  const { gateway } = start();
  const query = 'mutation ($a: [ApproverInput!]!) { saveApprovers(approvers: $a) { __typename } }';
  const [error] = (await gateway.graphql(query, { a: Array(101).fill(1) })).errors ?? [];
  expect(error?.message).toMatch(/^The input has more than 100 faults\. /);
  expect(error?.extensions.faults).toHaveLength(100);
});
