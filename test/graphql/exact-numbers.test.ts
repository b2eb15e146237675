import { expect, test } from '@jest/globals';
import { json } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway({ UPSTREAM_CSV_OPTION_PARAM: 'type' });
const start = () => share(json({ status: 0, unresolved: '' }));

const fields = {
  approvers: 'a: saveApprovers(approvers: $approvers) { __typename }',
  upload: 'b: uploadWorkflowCsv(input: $input) { __typename }',
};

/** Posts a mutation with its variables as JSON text. */
async function post(query: string, variables = '{}') {
  const { service, gateway } = start();
  const { status, text } = await gateway.post(
    `{"query":${JSON.stringify(query)},"variables":${variables}}`,
  );
  const { data, errors } = JSON.parse(text);
  return { status, data, errors, sent: service.received.map(({ url, body }) => url + body) };
}

const saveApprovers = (variables: string) =>
  post(`mutation ($approvers: [ApproverInput!]!) { ${fields.approvers} }`, variables);
const upload = (input: string) =>
  post(`mutation ($input: WorkflowCsvInput!) { ${fields.upload} }`, `{"input":${input}}`);

/** Expects that nothing was sent, and that these paths have a fault. */
function expectRejected(
  { status, data, errors, sent }: Awaited<ReturnType<typeof post>>,
  ...paths: (string | number)[][]
) {
  expect(status).toBe(400);
  expect(data).toBeUndefined();
  expect(errors).toEqual([
    expect.objectContaining({ extensions: expect.objectContaining({ code: 'BAD_USER_INPUT' }) }),
  ]);
  const { faults } = errors[0].extensions;
  expect(faults.map(({ path }: { path: unknown }) => path)).toEqual(paths);
  expect(sent).toEqual([]);
}

const inexact = [
  '1e400',
  '-1e400',
  '1e-400',
  '9007199254740993',
  '-9007199254740993',
  '9007199254740993.0',
  '9.007199254740993e15',
  '12345678901234567890',
  '0.1234567890123456789',
  '1180591620717411303424',
];

const claimLimit = ['approvers', 0, 'claimLimit'];

test.each(inexact)('a claimLimit of %s is rejected wherever it appears', async (number) => {
  const inVariables = await saveApprovers(`{"approvers":[{"claimLimit":${number}}]}`);
  expectRejected(inVariables, claimLimit);
  const single = await saveApprovers(`{"approvers":{"claimLimit":${number}}}`);
  expectRejected(single, ['approvers', 'claimLimit']);
  const literal = `saveApprovers(approvers: [{ claimLimit: ${number} }]) { __typename }`;
  expectRejected(await post(`mutation { ${literal} }`), claimLimit);
  const fragment = `mutation { ...F } fragment F on Mutation { ${literal} }`;
  expectRejected(await post(fragment), claimLimit);
  const scalar = (variable: string) =>
    `mutation (${variable}) { saveApprovers(approvers: [{ claimLimit: $limit }]) { __typename } }`;
  expectRejected(await post(scalar(`$limit: Float = ${number}`)), claimLimit);
  expectRejected(await post(scalar('$limit: Float'), `{"limit":${number}}`), claimLimit);
  const nested = `mutation ($approvers: [ApproverInput!] = [{ claimLimit: ${number} }]) { ${fields.approvers} }`;
  // Again, because documents are cached.
  expectRejected(await post(nested), claimLimit);
  expectRejected(await post(nested), claimLimit);
});

test.each([
  ['0.1', '0.1'],
  ['-12.5', '-12.5'],
  ['1.50', '1.5'],
  ['-0', '0'],
  ['1E5', '100000'],
  ['9007199254740992', '9007199254740992'],
  ['9007199254740992.0', '9007199254740992'],
  ['9.007199254740992e15', '9007199254740992'],
  ['1000000000000000000000', '1e+21'],
  ['1e21', '1e+21'],
  ['100000000000000000000', '100000000000000000000'],
  ['1.7976931348623157e308', '1.7976931348623157e+308'],
  ['1.00000000000000000000', '1'],
])('a claimLimit of %s is sent as the same value, %s', async (given, expected) => {
  const sent = [`/saveApproverList[{"claim_limit":${expected}}]`];
  const inVariables = await saveApprovers(`{"approvers":[{"claimLimit":${given}}]}`);
  expect(inVariables.sent).toEqual(sent);
  const literal = `mutation { saveApprovers(approvers: [{ claimLimit: ${given} }]) { __typename } }`;
  expect((await post(literal)).sent).toEqual(sent);
});

test.each(['9007199254740993.0', '9.007199254740993e15', '12345678901234567890.0', '1e400'])(
  'an identifier of %s is rejected',
  async (number) => {
    const variables = `{"approvers":[{"approverId":${number}},{"workflowId":${number}}]}`;
    const paths = [
      ['approvers', 0, 'approverId'],
      ['approvers', 1, 'workflowId'],
    ];
    expectRejected(await saveApprovers(variables), ...paths);
    const input = `{"fileName":"a","csv":"a","invoiceId":${number}}`;
    expectRejected(await upload(input), ['input', 'invoiceId']);
    const scalar =
      'mutation ($id: ID) { saveApprovers(approvers: [{ approverId: $id }]) { __typename } }';
    expectRejected(await post(scalar, `{"id":${number}}`), ['approvers', 0, 'approverId']);
  },
);

test.each(['9007199254740993', '-123456789012345678901234567890', '1000000000000000000000'])(
  'an identifier of %s is sent exactly from any place',
  async (number) => {
    const sent = [`/saveApproverList[{"approver_id":${number}}]`];
    expect((await saveApprovers(`{"approvers":{"approverId":${number}}}`)).sent).toEqual(sent);
    const scalar = (variable: string) =>
      `mutation (${variable}) { saveApprovers(approvers: [{ approverId: $id }]) { __typename } }`;
    expect((await post(scalar('$id: ID'), `{"id":${number}}`)).sent).toEqual(sent);
    expect((await post(scalar(`$id: ID = ${number}`))).sent).toEqual(sent);
  },
);

test.each(['1e2', '99.0', '1E0', '1.000000000000000000000'])(
  'an identifier of %s has an exact value',
  async (number) => {
    const { sent } = await saveApprovers(`{"approvers":[{"approverId":${number}}]}`);
    expect(sent).toEqual([`/saveApproverList[{"approver_id":${Number(number)}}]`]);
  },
);

test.each(['1234567890123456', '9007199254740993', '1e400'])(
  'a number, %s, is not a text, a boolean, an enum or an object',
  async (number) => {
    const approver = `{"approvers":[{"name":${number},"isExpenseClaim":${number}}]}`;
    const paths = [
      ['approvers', 0, 'isExpenseClaim'],
      ['approvers', 0, 'name'],
    ];
    expectRejected(await saveApprovers(approver), ...paths);
    expectRejected(await saveApprovers(`{"approvers":[${number}]}`), ['approvers', 0]);
    expectRejected(await saveApprovers(`{"approvers":${number}}`), ['approvers']);
    expectRejected(await upload(number), ['input']);
    const action = 'mutation ($a: WorkflowAction!) { workflowAction(action: $a) { __typename } }';
    expectRejected(await post(action, `{"a":${number}}`), ['action']);
    const project = 'query ($a: String!) { glCodes(target: EMAIL, project: $a) { __typename } }';
    expectRejected(await post(project, `{"a":${number}}`), ['project']);
    const condition = `mutation ($a: Boolean!) { workflowAction(action: RESTART) @include(if: $a) { __typename } }`;
    expectRejected(await post(condition, `{"a":${number}}`), ['if']);
  },
);

test.each(['9007199254740993', '1e400', '99.00000000000000000001'])(
  'an option of %s is rejected',
  async (number) => {
    const input = `{"fileName":"a","csv":"a","option":${number}}`;
    expectRejected(await upload(input), ['input', 'option']);
    const literal = `mutation { uploadWorkflowCsv(input: { fileName: "a", csv: "a", option: ${number} }) { __typename } }`;
    const { status, sent } = await post(literal);
    expect([status, sent]).toEqual([400, []]);
  },
);

test.each(['99.0', '9.9e1', '99.00000000000000000000'])('an option of %s is 99', async (number) => {
  const { sent } = await upload(`{"fileName":"a","csv":"a","option":${number}}`);
  expect(sent).toEqual(['/updateWorkflowCSV?type=99{"PictureName":"a","PictureStream":"YQ=="}']);
});

test.each(['9007199254740993', '1e400'])(
  'a reference with %s as a code is rejected',
  async (number) => {
    const query =
      'query ($a: [_Any!]!) { _entities(representations: $a) { ... on GlCode { name } } }';
    const reference = `{"__typename":"GlCode","target":"EMAIL","project":"p","code":${number}}`;
    const { errors, sent } = await post(query, `{"a":[${reference}]}`);
    expect(errors[0].extensions).toMatchObject({
      code: 'BAD_USER_INPUT',
      faults: [{ path: ['code'] }],
    });
    expect(sent).toEqual([]);
  },
);

test.each(['operationName', 'query', 'variables', 'extensions'])(
  'a long number as %s is not a text or an object',
  async (name) => {
    const { service, gateway } = start();
    const query = name === 'query' ? '' : '"query":"query A { __typename }",';
    const { status } = await gateway.post(`{${query}"${name}":9007199254740993}`);
    expect(status).toBe(name === 'variables' || name === 'extensions' ? 200 : 400);
    expect(service.received).toEqual([]);
  },
);

test('the message of a fault shows a long number as it was written', async () => {
  const { errors } = await saveApprovers('{"approvers":[{"name":{"a":9007199254740993}}]}');
  expect(errors[0].message).toContain('non string value: { a: 9007199254740993 }');
});

test('numbers that no operation reads are ignored', async () => {
  const { gateway } = start();
  const { status } = await gateway.post(
    '{"query":"{ __typename }","variables":{"unused":1e400},"extensions":{"a":9007199254740993}}',
  );
  expect(status).toBe(200);
});

test('an identifier after a duplicate key is exact', async () => {
  const { sent } = await saveApprovers(
    '{"approvers":[{"approverId":1e400,"approverId":9007199254740993}]}',
  );
  expect(sent).toEqual(['/saveApproverList[{"approver_id":9007199254740993}]']);
});
