import { expect, test } from '@jest/globals';
import { json, outcomeFields, startService, startTestGateway } from './helper.ts';

const mutation = `mutation ($input: WorkflowCsvInput! = { fileName: "a.csv", csv: "a" }) {
  uploadWorkflowCsv(input: $input) { ${outcomeFields} ... on WorkflowCsvUploaded { unresolved } }
}`;

async function start(answer: unknown = { unresolved: '' }) {
  const service = await startService(json(answer));
  const gateway = await startTestGateway(service, { UPSTREAM_CSV_OPTION_PARAM: 'type' });
  return { service, gateway };
}

test('sends a POST with the token as it came, and the file as base64 of its UTF-8', async () => {
  const { service, gateway } = await start();

  await gateway.graphql(
    mutation,
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

test.each(['', '/w==', '+/8=', 'AAEC'])('contentBase64 "%s" is sent as it is', async (base64) => {
  const { service, gateway } = await start();

  await gateway.graphql(mutation, { input: { fileName: 'a', contentBase64: base64 } });

  expect(service.received[0]?.body).toBe(`{"PictureName":"a","PictureStream":"${base64}"}`);
});

test.each([
  ['neither field', {}, undefined],
  ['an identifier', { invoiceId: '9007199254740993' }, '{"invoice_id":9007199254740993}'],
  ['a message', { message: 'hello' }, '{"message":"hello"}'],
  ['both', { invoiceId: '-7', message: '' }, '{"invoice_id":-7,"message":""}'],
  ['nulls', { invoiceId: null, message: null }, '{"invoice_id":null,"message":null}'],
])('service_status is made of %s', async (_, given, sent) => {
  const { service, gateway } = await start();

  await gateway.graphql(mutation, { input: { fileName: 'a', csv: 'a', ...given } });

  const status = sent === undefined ? '' : `,"service_status":${sent}`;
  expect(service.received[0]?.body).toBe(`{"PictureName":"a","PictureStream":"YQ=="${status}}`);
});

const identifiers = ['7', '9007199254740993', '-9007199254740993', '9223372036854775807'];

test.each(identifiers)('invoiceId %s as a number in the variables leaves exactly', async (id) => {
  const { service, gateway } = await start();
  const variables = `{"input":{"fileName":"a","csv":"","invoiceId":${id}}}`;
  await gateway.post(`{"query":${JSON.stringify(mutation)},"variables":${variables}}`);
  expect(service.received[0]?.body).toContain(`"service_status":{"invoice_id":${id}}`);
});

test.each(identifiers)('invoiceId %s as a literal leaves exactly', async (id) => {
  const { service, gateway } = await start();
  await gateway.graphql(
    `mutation { uploadWorkflowCsv(input: { fileName: "a", csv: "", invoiceId: ${id} }) { __typename } }`,
  );
  expect(service.received[0]?.body).toContain(`"service_status":{"invoice_id":${id}}`);
});

test('a large file arrives whole', async () => {
  const { service, gateway } = await start();
  const csv = 'row,ü\n'.repeat(500_000);

  await gateway.graphql(mutation, { input: { fileName: 'large.csv', csv } });

  const sent = JSON.parse(service.received[0]?.body ?? '').PictureStream;
  expect(Buffer.from(sent, 'base64').toString('utf8') === csv).toBe(true);
});

test.each([
  ['text', { unresolved: 'row 2' }, 'row 2'],
  ['empty text', { unresolved: '' }, ''],
  ['null', { unresolved: null }, null],
])('what is unresolved is told: %s', async (_, answer, unresolved) => {
  const { gateway } = await start(answer);

  const { data, errors } = await gateway.graphql(mutation);

  expect(errors).toBeUndefined();
  expect(data.uploadWorkflowCsv).toEqual({ __typename: 'WorkflowCsvUploaded', unresolved });
});

test('a bare status 0 is an upload of which nothing is told', async () => {
  const { gateway } = await start({ invoice_id: 1, message: 'fine', status: 0 });
  const { data } = await gateway.graphql(mutation);
  expect(data.uploadWorkflowCsv).toEqual({ __typename: 'WorkflowCsvUploaded', unresolved: null });
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
])('a status record with status %s is read like any other', async (status, told) => {
  const { gateway } = await start(
    `{"invoice_id":9007199254740993,"message":"why","status":${status}}`,
  );

  const { data, errors } = await gateway.graphql(mutation);

  expect(errors).toBeUndefined();
  expect(data.uploadWorkflowCsv).toEqual({
    ...told,
    invoiceId: '9007199254740993',
    text: 'why',
    message: 'why',
  });
});
