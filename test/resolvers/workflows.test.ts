import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { actions, outcomeFields } from '../support/graphql-operation.ts';
import { problemOfStatus } from '../support/outcome.ts';
import { json, startService } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const uploadMutation = `mutation ($input: WorkflowCsvInput! = { fileName: "a.csv", csv: "a" }) {
  uploadWorkflowCsv(input: $input) { ${outcomeFields} ... on WorkflowCsvUploaded { unresolved invoiceId message } }
}`;

const share = shareGateway({ UPSTREAM_CSV_OPTION_PARAM: 'type' });
const start = (body: unknown = { unresolved: '' }) => share(json(body));

test('sends a POST with the unchanged token, and the file as base64 of its UTF-8', async () => {
  const { service, gateway } = start();

  await gateway.graphql(
    uploadMutation,
    { input: { fileName: 'Zürich.csv', csv: 'a,ü\r\n東京,🏭\n' } },
    { 'x-request-id': 'request-1' },
  );

  const body = '{"PictureName":"Zürich.csv","PictureStream":"YSzDvA0K5p2x5LqsLPCfj60K"}';
  expect(service.received).toEqual([
    expect.objectContaining({
      method: 'POST',
      url: '/updateWorkflowCSV',
      body,
      headers: expect.objectContaining({
        authorization: `Bearer ${gateway.token}`,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'x-request-id': 'request-1',
      }),
    }),
  ]);
});

test.each(['', '/w==', '+/8=', 'AAEC'])('contentBase64 "%s" is sent unchanged', async (base64) => {
  const { service, gateway } = start();

  await gateway.graphql(uploadMutation, { input: { fileName: 'a', contentBase64: base64 } });

  expect(service.received[0]?.body).toBe(`{"PictureName":"a","PictureStream":"${base64}"}`);
});

test.each([
  ['neither field', {}, undefined],
  ['an identifier', { invoiceId: '9007199254740993' }, '{"invoice_id":9007199254740993}'],
  ['a message', { message: 'hello' }, '{"message":"hello"}'],
  ['both', { invoiceId: '-7', message: '' }, '{"invoice_id":-7,"message":""}'],
  ['nulls', { invoiceId: null, message: null }, '{"invoice_id":null,"message":null}'],
])('with %s, service_status has the given fields', async (_, given, sent) => {
  const { service, gateway } = start();

  await gateway.graphql(uploadMutation, { input: { fileName: 'a', csv: 'a', ...given } });

  const status = sent === undefined ? '' : `,"service_status":${sent}`;
  expect(service.received[0]?.body).toBe(`{"PictureName":"a","PictureStream":"YQ=="${status}}`);
});

const identifiers = ['7', '9007199254740993', '-9007199254740993', '9223372036854775807'];

test.each(identifiers)(
  'invoiceId %s is sent exactly as a number in the variables and as a literal',
  async (id) => {
    const { service, gateway } = start();
    const variables = `{"input":{"fileName":"a","csv":"","invoiceId":${id}}}`;
    await gateway.post(`{"query":${JSON.stringify(uploadMutation)},"variables":${variables}}`);
    await gateway.graphql(
      `mutation { uploadWorkflowCsv(input: { fileName: "a", csv: "", invoiceId: ${id} }) { __typename } }`,
    );
    expect(service.received).toHaveLength(2);
    for (const { body } of service.received) {
      expect(body).toContain(`"service_status":{"invoice_id":${id}}`);
    }
  },
);

test('a large file is sent completely', async () => {
  const { service, gateway } = start();
  const csv = 'row,ü\n'.repeat(500_000);

  await gateway.graphql(uploadMutation, { input: { fileName: 'large.csv', csv } });

  const sent = JSON.parse(service.received[0]?.body ?? '').PictureStream;
  expect(Buffer.from(sent, 'base64').toString('utf8') === csv).toBe(true);
});

test.each([
  ['text', { unresolved: 'row 2' }, 'row 2'],
  ['empty text', { unresolved: '' }, ''],
  ['null', { unresolved: null }, null],
])('the outcome has `unresolved`: %s', async (_, body, unresolved) => {
  const { gateway } = start(body);

  const { data, errors } = await gateway.graphql(uploadMutation);

  expect(errors).toBeUndefined();
  expect(data.uploadWorkflowCsv).toEqual({
    __typename: 'WorkflowCsvUploaded',
    unresolved,
    invoiceId: null,
    message: null,
  });
});

test.each([
  ['', null],
  [',"unresolved":"row 2"', 'row 2'],
])('a status record with status 0%s is an upload with its fields', async (rest, unresolved) => {
  const { gateway } = start(`{"invoice_id":9007199254740993,"message":"fine","status":0${rest}}`);
  const { data } = await gateway.graphql(uploadMutation);
  expect(data.uploadWorkflowCsv).toEqual({
    __typename: 'WorkflowCsvUploaded',
    unresolved,
    invoiceId: '9007199254740993',
    message: 'fine',
  });
});

test.each(problemOfStatus)(
  'a status record with status %s is mapped to its outcome',
  async (status, expected) => {
    const { gateway } = start(`{"invoice_id":9007199254740993,"message":"why","status":${status}}`);

    const { data, errors } = await gateway.graphql(uploadMutation);

    expect(errors).toBeUndefined();
    expect(data.uploadWorkflowCsv).toEqual({
      ...expected,
      invoiceId: '9007199254740993',
      message: 'why',
    });
  },
);

const actionMutation = `mutation ($action: WorkflowAction! = UPGRADE_TO_HQ) {
  workflowAction(action: $action) { ${outcomeFields} ... on WorkflowActionCompleted { action } }
}`;

test.each(Object.entries(actions))(
  '%s is a GET without query and body',
  async (operation, action) => {
    const { service, gateway } = share(json({ invoice_id: 12, message: 'done', status: 0 }));

    const { data } = await gateway.graphql(
      actionMutation,
      { action },
      { 'x-request-id': 'request-1' },
    );

    expect(data.workflowAction).toEqual({
      __typename: 'WorkflowActionCompleted',
      action,
      invoiceId: '12',
      message: 'done',
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
  },
);

test.each(problemOfStatus)('status %s is mapped to its outcome', async (status, expected) => {
  const { gateway } = share(json(`{"message":"why","status":${status}}`));

  const { data, errors } = await gateway.graphql(actionMutation);

  expect(errors).toBeUndefined();
  expect(data.workflowAction).toEqual({ ...expected, invoiceId: null, message: 'why' });
});

test.each(['9007199254740993', '-9007199254740993', '9223372036854775807'])(
  'an invoice_id of %s is returned exactly',
  async (invoiceId) => {
    const { gateway } = share(json(`{"status":0,"invoice_id":${invoiceId}}`));

    const { data } = await gateway.graphql(actionMutation);

    expect(data.workflowAction.invoiceId).toBe(invoiceId);
  },
);

test('several actions run in the order of the document', async () => {
  const { service, gateway } = share(json({ status: 0 }));

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

test('an action that WORKFLOW_ACTIONS does not list is a fault of the input, and nothing is sent', async () => {
  const service = await startService(json({ status: 0 }));
  const gateway = await startTestGateway(service, { WORKFLOW_ACTIONS: 'RESTART, UPGRADE_TO_HQ' });

  const { data, errors } = await gateway.graphql(`mutation {
    allowed: workflowAction(action: RESTART) { __typename }
    other: workflowAction(action: RESTORE_SOLUTION) { __typename }
  }`);

  expect(data).toEqual({ allowed: { __typename: 'WorkflowActionCompleted' }, other: null });
  const message = '"action" is not allowed by the configuration.';
  const faults = [{ path: ['action'], message }];
  expect(errors).toEqual([
    expect.objectContaining({
      path: ['other'],
      extensions: expect.objectContaining({ code: 'BAD_USER_INPUT', retryable: false, faults }),
    }),
  ]);
  expect(service.received.map(({ url }) => url)).toEqual(['/restartWorkflow2']);
});
