import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { json, startService } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const saveApprovers =
  'mutation ($approvers: [ApproverInput!]!) { result: saveApprovers(approvers: $approvers) { __typename } }';
const upload =
  'mutation ($input: WorkflowCsvInput!) { result: uploadWorkflowCsv(input: $input) { __typename } }';

const glCodes = `query ($project: String!, $only: [String!], $search: String, $skip: Int! = 0, $first: Int) {
  result: glCodes(target: EMAIL, project: $project, only: $only, search: $search, skip: $skip, first: $first) { __typename }
}`;

const success = json({ status: 0, unresolved: '' });
const share = shareGateway({ UPSTREAM_CSV_OPTION_PARAM: 'type' });
const start = () => share(success);

/** Starts a gateway with its own environment. */
async function startWith(variables: Record<string, string>) {
  const service = await startService(success);
  return { service, gateway: await startTestGateway(service, variables) };
}

/** The keys of a path such as `approvers[0].name`. */
function keysOf(path: string): (string | number)[] {
  return path
    .split(/[.[\]]+/)
    .map((key) => (/^\d+$/.test(key) ? Number(key) : key))
    .filter((key) => key !== '');
}

/** Sends a request, and expects that the field at `path` is rejected and that nothing is sent. */
async function expectRejected(
  path: string,
  query: string,
  variables: Record<string, unknown>,
  environment?: Record<string, string>,
) {
  const { service, gateway } = environment ? await startWith(environment) : start();

  const { status, data, errors } = await gateway.graphql(query, variables);

  expect(status).toBe(200);
  expect(data).toEqual({ result: null });
  expect(errors).toEqual([
    expect.objectContaining({
      path: ['result'],
      message: expect.stringContaining(`"${path}"`),
      extensions: {
        code: 'BAD_USER_INPUT',
        requestId: expect.any(String),
        retryable: false,
        faults: [{ path: keysOf(path), message: expect.stringContaining(`"${path}"`) }],
      },
    }),
  ]);
  expect(service.received).toEqual([]);
}

const notIntegers = [
  'abc',
  '1.5',
  '',
  '007',
  ' 1',
  '1 ',
  '+1',
  '-',
  '-0',
  '1e3',
  '0x1F',
  '١',
  '1\n',
];

const notBase64 = [
  'a',
  'YQ',
  'YQ=',
  'YQ===',
  'YR==', // Has unused bits that are not zero.
  'YQ==YQ==',
  'Y Q=',
  'YQ==\n',
  '_w==',
  '-_8=',
  'ü',
  'data:text/csv;base64,YQ==',
];

const approverTexts = [
  'description',
  'email',
  'emailUpload',
  'myBankAccount',
  'myEmail',
  'name',
  'workflowName',
];

const text = (length: number) => 'x'.repeat(length);
const approver = (approver: object) => [saveApprovers, { approvers: [{}, approver] }] as const;
const file = (fields: object) =>
  [upload, { input: { fileName: 'a', csv: 'a', ...fields } }] as const;
const encodedFile = (fields: object) => [upload, { input: { fileName: 'a', ...fields } }] as const;
const codes = (variables: object) => [glCodes, { project: 'a', ...variables }] as const;

type Rejected = readonly [path: string, query: string, variables: Record<string, unknown>];

const rejected: Rejected[] = [
  // Identifiers.
  ...notIntegers.flatMap((id): Rejected[] => [
    ['approvers[1].approverId', ...approver({ approverId: id })],
    ['approvers[1].workflowId', ...approver({ workflowId: id })],
    ['input.invoiceId', ...file({ invoiceId: id })],
  ]),
  ['approvers[1].approverId', ...approver({ approverId: `-${'9'.repeat(1001)}` })],
  ['approvers[1].workflowId', ...approver({ workflowId: `-${'9'.repeat(1001)}` })],
  ['input.invoiceId', ...file({ invoiceId: '1'.repeat(1001) })],
  // Content: exactly one of csv and contentBase64.
  ...notBase64.map(
    (contentBase64): Rejected => ['input.contentBase64', ...encodedFile({ contentBase64 })],
  ),
  ['input', ...file({ contentBase64: 'YQ==' })],
  ['input', ...file({ csv: '', contentBase64: '' })],
  ['input', ...encodedFile({})],
  ['input', ...file({ csv: null, contentBase64: null })],
  // Options that the service does not have.
  ...[0, 28, 29, 32, 98, 100, 161, 207, 361, 368, 422, 455, 460, 501, -7].map(
    (option): Rejected => ['input.option', ...file({ option })],
  ),
  // Long texts, and lone surrogates.
  ...approverTexts.map(
    (name): Rejected => [`approvers[1].${name}`, ...approver({ [name]: text(1001) })],
  ),
  ['input.fileName', ...file({ fileName: text(256) })],
  ['input.message', ...file({ message: text(10_001) })],
  ['input.csv', ...file({ csv: '\udc00' })],
  ['project', ...codes({ project: text(1025) })],
  ['project', ...codes({ project: 'a\ud800' })],
  ['only[1]', ...codes({ only: ['a', text(257)] })],
  ['only', ...codes({ only: Array(1001).fill('a') })],
  ['search', ...codes({ search: text(101) })],
  ['search', ...codes({ search: '\ud800' })],
  ['skip', ...codes({ skip: -1 })],
  ['first', ...codes({ first: -1 })],
];

test.each(rejected)('the input at %s is rejected: %#', (...input) => expectRejected(...input));

test.each([
  ['csv', { csv: 'a', contentBase64: null }],
  ['contentBase64', { csv: null, contentBase64: 'YQ==' }],
])('a null beside %s is ignored', async (_, content) => {
  const { service, gateway } = start();
  await gateway.graphql(upload, { input: { fileName: 'a', ...content } });
  expect(service.received.map(({ body }) => body)).toEqual([
    '{"PictureName":"a","PictureStream":"YQ=="}',
  ]);
});

/** The allowed options (docs/service-api.md, section 4.3). */
const ranges = [
  [1, 27],
  [30, 31],
  [99, 99],
  [101, 160],
  [208, 360],
  [369, 421],
  [423, 454],
  [461, 500],
  [-6, -1],
] as const;

test('every allowed option is sent under the configured name', async () => {
  const { service, gateway } = start();
  const options = ranges.flatMap(([first, last]) => [...new Set([first, last])]);

  for (const option of options) {
    await gateway.graphql(upload, { input: { fileName: 'a', csv: 'a', option } });
  }

  expect(service.received.map(({ url }) => url)).toEqual(
    options.map((option) => `/updateWorkflowCSV?type=${option}`),
  );
});

test.each([1, 0])('without a configured parameter name, option %d is rejected', async (option) => {
  const input = { fileName: 'a', csv: 'a', option };
  await expectRejected('input.option', upload, { input }, {});
});

test.each([{}, { option: null }])('without an option, no parameter is sent: %j', async (option) => {
  const { service, gateway } = await startWith({});
  await gateway.graphql(upload, { input: { fileName: 'a', csv: 'a', ...option } });
  expect(service.received.map(({ url }) => url)).toEqual(['/updateWorkflowCSV']);
});

test('an option can be a literal', async () => {
  const { service, gateway } = start();
  await gateway.graphql(
    'mutation { uploadWorkflowCsv(input: { fileName: "a", csv: "a", option: -6 }) { __typename } }',
  );
  expect(service.received[0]?.url).toBe('/updateWorkflowCSV?type=-6');
});

test('a parameter name with reserved characters is encoded', async () => {
  const { service, gateway } = await startWith({ UPSTREAM_CSV_OPTION_PARAM: 'a&b=c' });
  await gateway.graphql(upload, { input: { fileName: 'a', csv: 'a', option: 1 } });
  expect(service.received[0]?.url).toBe('/updateWorkflowCSV?a%26b%3Dc=1');
});

test.each(['"1"', '1.5', 'true', '[1]', '{}'])(
  'an option of %s is not an integer',
  async (option) => {
    const { service, gateway } = start();
    const variables = `{"input":{"fileName":"a","csv":"a","option":${option}}}`;
    const { status, text } = await gateway.post(
      `{"query":${JSON.stringify(upload)},"variables":${variables}}`,
    );
    expect(status).toBe(400);
    expect(JSON.parse(text).errors[0].extensions.code).toBe('BAD_USER_INPUT');
    expect(service.received).toEqual([]);
  },
);

test('invalid input of one field does not affect the others', async () => {
  const { service, gateway } = start();

  const { data, errors } = await gateway.graphql(
    `mutation {
      invalid: saveApprovers(approvers: [{ approverId: "x" }]) { __typename }
      valid: saveApprovers(approvers: [{ approverId: "1" }]) { __typename }
    }`,
  );

  expect(data).toEqual({ invalid: null, valid: { __typename: 'ApproversSaved' } });
  expect(errors?.map(({ path }) => path)).toEqual([['invalid']]);
  expect(service.received).toHaveLength(1);
});

test('a null for an argument that is not nullable is BAD_USER_INPUT', async () => {
  const { service, gateway } = start();
  const query =
    'query ($hide: Boolean) { result: glCodes(target: EMAIL, project: "p", includeHide: $hide) { __typename } }';
  const { errors } = await gateway.graphql(query, { hide: null });
  expect(errors?.[0]).toMatchObject({
    message: expect.stringContaining('Argument "includeHide"'),
    extensions: { code: 'BAD_USER_INPUT', faults: [{ path: ['includeHide'] }] },
  });
  expect(service.received).toEqual([]);
});

test('texts of the longest allowed length are sent', async () => {
  const { service, gateway } = start();
  const approver = {
    ...Object.fromEntries(approverTexts.map((name) => [name, text(1000)])),
    approverId: '9'.repeat(1000),
    workflowId: `-${'9'.repeat(1000)}`,
  };
  const input = { fileName: text(255), csv: text(20_000), message: text(10_000) };

  const responses = [
    await gateway.graphql(saveApprovers, { approvers: [approver] }),
    await gateway.graphql(upload, { input }),
    await gateway.graphql(glCodes, { project: text(1024) }),
  ];

  expect(responses.map(({ errors }) => errors)).toEqual([undefined, undefined, undefined]);
  expect(service.received).toHaveLength(3);
});

test('one error reports all faults of an upload', async () => {
  const { service, gateway } = start();
  const input = {
    fileName: text(256),
    csv: '\udc00',
    contentBase64: 'a',
    invoiceId: 'x',
    option: 0,
  };

  const { errors } = await gateway.graphql(upload, { input });

  expect(errors?.[0]?.message).toBe(
    'The input has 6 faults. The first: "input.fileName" has more than 255 characters.',
  );
  expect(errors?.[0]?.extensions.faults).toEqual([
    { path: ['input', 'fileName'], message: '"input.fileName" has more than 255 characters.' },
    {
      path: ['input'],
      message: '"input" has both csv and contentBase64; give exactly one of them.',
    },
    { path: ['input', 'csv'], message: '"input.csv" is not well-formed Unicode text.' },
    {
      path: ['input', 'contentBase64'],
      message: '"input.contentBase64" is not base64 (RFC 4648, section 4, with padding).',
    },
    { path: ['input', 'invoiceId'], message: '"input.invoiceId" is not an integer.' },
    { path: ['input', 'option'], message: '"input.option" is not an option of the service.' },
  ]);
  expect(service.received).toEqual([]);
});

test('one error reports at most 100 faults', async () => {
  const { service, gateway } = start();
  const approvers = Array(60).fill({ approverId: 'x', workflowId: 'x' });

  const { errors } = await gateway.graphql(saveApprovers, { approvers });

  expect(errors?.[0]?.message).toBe(
    'The input has more than 100 faults. The first: "approvers[0].approverId" is not an integer.',
  );
  expect(errors?.[0]?.extensions.faults).toHaveLength(100);
  expect(service.received).toEqual([]);
});
