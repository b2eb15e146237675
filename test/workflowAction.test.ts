import { expect, test } from '@jest/globals';
import { actions, json, outcomeFields, startService, startTestGateway } from './helper.ts';

const mutation = `mutation ($action: WorkflowAction! = UPGRADE_TO_HQ) {
  workflowAction(action: $action) { ${outcomeFields} ... on WorkflowActionCompleted { action } }
}`;

test.each(Object.entries(actions))('%s is a bare GET', async (operation, action) => {
  const service = await startService(json({ invoice_id: 12, message: 'done', status: 0 }));
  const gateway = await startTestGateway(service);

  const { data } = await gateway.graphql(mutation, { action }, { 'x-request-id': 'request-1' });

  expect(data.workflowAction).toEqual({
    __typename: 'WorkflowActionCompleted',
    action,
    invoiceId: '12',
    text: 'done',
  });
  expect(service.received).toEqual([
    expect.objectContaining({
      method: 'GET',
      url: `/${operation}`,
      body: '',
      headers: expect.objectContaining({
        authorization: `Bearer ${gateway.token}`,
        'x-request-id': 'request-1',
      }),
    }),
  ]);
  const headers = Object.keys(service.received[0]?.headers ?? {});
  for (const name of ['content-type', 'content-length', 'transfer-encoding'])
    expect(headers).not.toContain(name);
});

test.each([
  ['1', { __typename: 'LedgerFailed' }],
  ['2', { __typename: 'LedgerNoMoreInvoices' }],
  ['3', { __typename: 'LedgerNotPermitted' }],
  ['7', { __typename: 'LedgerUnrecognizedStatus', status: 7 }],
  ['-1', { __typename: 'LedgerUnrecognizedStatus', status: -1 }],
  ['2147483648', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['"0"', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['1.5', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['null', { __typename: 'LedgerUnrecognizedStatus', status: null }],
])('status %s is told as it came', async (status, told) => {
  const service = await startService(json(`{"message":"why","status":${status}}`));
  const gateway = await startTestGateway(service);

  const { data, errors } = await gateway.graphql(mutation);

  expect(errors).toBeUndefined();
  expect(data.workflowAction).toEqual({ ...told, invoiceId: null, text: 'why', message: 'why' });
});

test.each(['9007199254740993', '-9007199254740993', '9223372036854775807'])(
  'an invoice_id of %s arrives exactly',
  async (invoiceId) => {
    const service = await startService(json(`{"status":0,"invoice_id":${invoiceId}}`));
    const gateway = await startTestGateway(service);

    const { data } = await gateway.graphql(mutation);

    expect(data.workflowAction.invoiceId).toBe(invoiceId);
  },
);

test('several actions are done in the order of the document', async () => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service);

  await gateway.graphql(
    `mutation { ${Object.values(actions)
      .slice(0, 5)
      .map((action) => `${action}: workflowAction(action: ${action}) { __typename }`)
      .join(' ')} }`,
  );

  expect(service.received.map(({ url }) => url)).toEqual(
    Object.keys(actions)
      .slice(0, 5)
      .map((operation) => `/${operation}`),
  );
});
