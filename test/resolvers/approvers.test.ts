import { expect, test } from '@jest/globals';
import { outcomeFields } from '../support/graphql-operation.ts';
import { problemOfStatus } from '../support/outcome.ts';
import { json } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const mutation = `mutation ($approvers: [ApproverInput!]! = []) {
  saveApprovers(approvers: $approvers) { ${outcomeFields} }
}`;

const share = shareGateway();
const start = (body: unknown = { invoice_id: 1, message: '', status: 0 }) => share(json(body));

test('sends a POST with the unchanged token, and JSON', async () => {
  const { service, gateway } = start();

  await gateway.graphql(mutation, {}, { 'x-request-id': 'request-1' });

  expect(service.received).toEqual([
    expect.objectContaining({
      method: 'POST',
      url: '/saveApproverList',
      body: '[]',
      headers: expect.objectContaining({
        authorization: `Bearer ${gateway.token}`,
        'content-type': 'application/json',
        'content-length': '2',
        'x-request-id': 'request-1',
      }),
    }),
  ]);
});

test('sends the twelve fields by the names of the service, and identifiers as integers', async () => {
  const { service, gateway } = start();

  await gateway.graphql(mutation, {
    approvers: [
      {
        approverId: '9007199254740993',
        claimLimit: 1250.5,
        description: 'Says "yes" – 東京 🏭',
        email: 'ada@example.com',
        emailUpload: 'upload@example.com',
        isDisableApproval: false,
        isExpenseClaim: true,
        myBankAccount: 'DE00',
        myEmail: 'me@example.com',
        name: 'Ada',
        workflowId: '-9223372036854775808',
        workflowName: 'North',
      },
    ],
  });

  expect(service.received[0]?.body).toBe(
    '[{"approver_id":9007199254740993,"claim_limit":1250.5,' +
      '"description":"Says \\"yes\\" – 東京 🏭","email":"ada@example.com",' +
      '"email_upload":"upload@example.com","is_disable_approval":false,"is_expense_claim":true,' +
      '"my_bank_account":"DE00","my_email":"me@example.com","name":"Ada",' +
      '"workflow_id":-9223372036854775808,"workflow_name":"North"}]',
  );
});

test('an omitted field is not sent, and an explicit null is sent as null', async () => {
  const { service, gateway } = start();

  await gateway.graphql(mutation, {
    approvers: [
      {},
      { name: null, approverId: null, claimLimit: null, isExpenseClaim: null },
      { name: '', claimLimit: 0, workflowId: '0' },
    ],
  });

  expect(service.received[0]?.body).toBe(
    '[{},{"approver_id":null,"claim_limit":null,"is_expense_claim":null,"name":null},' +
      '{"claim_limit":0,"name":"","workflow_id":0}]',
  );
});

test('an omitted variable omits its field', async () => {
  const { service, gateway } = start();

  await gateway.graphql(
    'mutation ($name: String, $id: ID) { saveApprovers(approvers: [{ name: $name, approverId: $id, email: "a" }]) { __typename } }',
    { id: null },
  );

  expect(service.received[0]?.body).toBe('[{"approver_id":null,"email":"a"}]');
});

const identifiers = [
  '0',
  '7',
  '-7',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775807',
  '123456789012345678901234567890',
];

test.each(identifiers)(
  'the identifier %s is sent exactly as a string, as a number in the variables, and as a literal',
  async (id) => {
    const { service, gateway } = start();
    await gateway.graphql(mutation, { approvers: [{ approverId: id }] });
    const variables = `{"approvers":[{"approverId":${id}}]}`;
    await gateway.post(`{"query":${JSON.stringify(mutation)},"variables":${variables}}`);
    await gateway.graphql(
      `mutation { saveApprovers(approvers: [{ workflowId: ${id} }]) { __typename } }`,
    );
    const sent = service.received.map(({ body }) => body);
    expect(sent).toEqual([
      `[{"approver_id":${id}}]`,
      `[{"approver_id":${id}}]`,
      `[{"workflow_id":${id}}]`,
    ]);
  },
);

test('text with lone surrogates and digits is sent unchanged', async () => {
  const { service, gateway } = start();
  const name = '\ud800, 9007199254740993';
  await gateway.graphql(mutation, { approvers: [{ name }] });
  expect(JSON.parse(service.received[0]?.body ?? '')).toEqual([{ name }]);
});

test('sends a long list in one call, in the same order', async () => {
  const { service, gateway } = start();
  const approvers = Array.from({ length: 2000 }, (_, index) => ({ approverId: String(index) }));

  await gateway.graphql(mutation, { approvers });

  expect(service.received).toHaveLength(1);
  expect(JSON.parse(service.received[0]?.body ?? '')).toEqual(
    approvers.map((_, index) => ({ approver_id: index })),
  );
});

test.each([['0', { __typename: 'ApproversSaved' }], ...problemOfStatus])(
  'status %s is mapped to its outcome',
  async (status, expected) => {
    const { gateway } = start(
      `{"invoice_id":9223372036854775807,"message":"why","status":${status}}`,
    );

    const { data, errors } = await gateway.graphql(mutation);

    expect(errors).toBeUndefined();
    expect(data.saveApprovers).toEqual({
      ...expected,
      invoiceId: '9223372036854775807',
      message: 'why',
    });
  },
);

test('a record without a status is an unrecognized status', async () => {
  const { gateway } = start({});
  const { data } = await gateway.graphql(mutation);
  expect(data.saveApprovers).toEqual({
    __typename: 'LedgerUnrecognizedStatus',
    status: null,
    invoiceId: null,
    message: null,
  });
});
