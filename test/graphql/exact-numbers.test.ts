import { expect, test } from '@jest/globals';
import { json } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway({ UPSTREAM_CSV_OPTION_PARAM: 'type' });
const start = () => share(json({ status: 0, unresolved: '' }));

/** Posts an operation with its variables as JSON text. */
async function post(query: string, variables = '{}') {
  const { service, gateway } = start();
  const { status, text } = await gateway.post(
    `{"query":${JSON.stringify(query)},"variables":${variables}}`,
  );
  const { data, errors } = JSON.parse(text);
  const sent = service.received.map(({ url, body }) => url + body);
  return { query, status, data, errors, sent };
}

type Result = Awaited<ReturnType<typeof post>>;

const approvers =
  'mutation ($a: [ApproverInput!]!) { saveApprovers(approvers: $a) { __typename } }';
const uploads = 'mutation ($a: WorkflowCsvInput!) { uploadWorkflowCsv(input: $a) { __typename } }';
const save = (variable: string) => post(approvers, `{"a":${variable}}`);
const upload = (input: string) => post(uploads, `{"a":${input}}`);
const saveOf = (approvers: string) => `saveApprovers(approvers: ${approvers}) { __typename }`;

/** Every way in which GraphQL can pass on a number, for a field of an approver. */
const ways: Record<string, (field: string, type: string, n: string) => Promise<Result>> = {
  'in a list': (field, _, n) => save(`[{"${field}":${n}}]`),
  'as the only item': (field, _, n) => save(`{"${field}":${n}}`),
  'as a literal': (field, _, n) => post(`mutation { ${saveOf(`[{ ${field}: ${n} }]`)} }`),
  'in a fragment': (field, _, n) =>
    post(`mutation { ...F } fragment F on Mutation { ${saveOf(`[{ ${field}: ${n} }]`)} }`),
  'as a variable': (field, type, n) =>
    post(`mutation ($n: ${type}) { ${saveOf(`[{ ${field}: $n }]`)} }`, `{"n":${n}}`),
  'as a default': (field, type, n) =>
    post(`mutation ($n: ${type} = ${n}) { ${saveOf(`[{ ${field}: $n }]`)} }`),
  'in a default': (field, _, n) =>
    post(`mutation ($a: [ApproverInput!] = [{ ${field}: ${n} }]) { ${saveOf('$a')} }`),
};

/** The ways in which the number stands in the document. */
const inDocument = ['as a literal', 'in a fragment', 'as a default', 'in a default'];

/** Expects that nothing was sent, and that these paths have a fault. */
function expectRejected(result: Result, ...paths: (string | number)[][]) {
  const extensions = { code: 'BAD_USER_INPUT', faults: paths.map((path) => ({ path })) };
  const expected = { status: 400, data: undefined, errors: [{ extensions }], sent: [] };
  expect(result).toMatchObject(expected);
}

/** Expects that the document is invalid because of this number, and that nothing was sent. */
function expectInvalid(result: Result, number: string) {
  const errors = [
    {
      message: 'A number in the document cannot be sent exactly.',
      locations: [{ line: 1, column: result.query.indexOf(number) + 1 }],
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    },
  ];
  expect(result).toMatchObject({ status: 400, data: undefined, errors, sent: [] });
}

const inexact = [
  ...['1e400', '-1e400', '1e-400', '9007199254740993', '-9007199254740993', '9007199254740993.0'],
  ...['9.007199254740993e15', '12345678901234567890', '0.1234567890123456789', '4e-324'],
  ...['-9223372036854775808', '12345678901234567890.0', '12345678901234567.5', '1E+400'],
  ...['1234567890123456789e2', '1e-1234567890123456', '9'.repeat(400)],
  // 2 to the 70th, which a double prints as other digits.
  '1180591620717411303424',
];

test.each(Object.entries(ways))(
  'a claimLimit that a double changes is rejected %s',
  async (way, send) => {
    const path = way === 'as the only item' ? ['approvers'] : ['approvers', 0];
    // The last one again, because documents are cached.
    for (const number of [...inexact, '1180591620717411303424']) {
      const result = await send('claimLimit', 'Float', number);
      if (inDocument.includes(way)) expectInvalid(result, number);
      else expectRejected(result, [...path, 'claimLimit']);
    }
  },
);

const exact = `0.1 -12.5 1.50 -0 1E5 9007199254740992 9007199254740992.0 9.007199254740992e15
  1000000000000000000000 1e21 100000000000000000000 1.7976931348623157e308 1.00000000000000000000
  20000000000000000 0.30000000000000004 5e-324 0e400 0e-99999999999999999999
  0.0000000000000000000000000001 1e-5`;

test.each(exact.split(/\s+/).map((text) => [text, JSON.stringify(Number(text))]))(
  'a claimLimit of %s is sent as the same value, %s',
  async (given, expected) => {
    for (const way of ['in a list', 'as a literal']) {
      const { sent = [] } = (await ways[way]?.('claimLimit', 'Float', given)) ?? {};
      expect([way, ...sent]).toEqual([way, `/saveApproverList[{"claim_limit":${expected}}]`]);
    }
  },
);

const uploadOf = (id: string) =>
  `mutation { uploadWorkflowCsv(input: { fileName: "a", csv: "", invoiceId: ${id} }) { __typename } }`;

test.each([
  '0',
  '-7',
  '9007199254740991',
  '-9007199254740991',
  '1e2',
  '99.0',
  '1E0',
  '1.000000000000000000000',
])('an identifier of the number %s is sent as the same integer', async (id) => {
  const number = String(Number(id));
  const { sent } = await save(`[{"approverId":${id},"workflowId":${id}}]`);
  expect(sent).toEqual([`/saveApproverList[{"approver_id":${number},"workflow_id":${number}}]`]);
  const uploaded = await upload(`{"fileName":"a","csv":"","invoiceId":${id}}`);
  expect(uploaded.sent).toEqual([
    expect.stringContaining(`"service_status":{"invoice_id":${number}}`),
  ]);
});

test.each(['-7', '9007199254740993', '-9223372036854775808', '1000000000000000000000'])(
  'an identifier of %s is sent exactly as a text, and as a literal of a document',
  async (id) => {
    const sent = `/saveApproverList[{"approver_id":${id}}]`;
    for (const [way, send] of Object.entries(ways)) {
      expect([way, ...(await send('approverId', 'ID', `"${id}"`)).sent]).toEqual([way, sent]);
      if (!inDocument.includes(way)) continue;
      expect([way, ...(await send('approverId', 'ID', id)).sent]).toEqual([way, sent]);
    }
    const uploads = [
      await upload(`{"fileName":"a","csv":"","invoiceId":"${id}"}`),
      await post(uploadOf(id)),
      await post(uploadOf(`"${id}"`)),
    ];
    const status = `"service_status":{"invoice_id":${id}}`;
    for (const { sent } of uploads) expect(sent).toEqual([expect.stringContaining(status)]);
  },
);

// Routers written in JavaScript read all of these as another integer, and write that.
test.each([
  ...['9007199254740992', '-9007199254740992', '9007199254740993', '12345678901234567000'],
  ...['1e16', '1e20', '1e21', '1E300', '9007199254740992.0', '9.007199254740992e15'],
])('an identifier of the number %s in variables is rejected, and asks for a text', async (id) => {
  const message = expect.stringContaining('must be a text');
  const expectFaults = (result: Result, ...paths: (string | number)[][]) => {
    expectRejected(result, ...paths);
    const { faults } = result.errors[0].extensions;
    expect(faults).toEqual(paths.map((path) => ({ path, message })));
  };
  expectFaults(
    await save(`[{"approverId":${id}},{"name":"a","workflowId":${id}}]`),
    ['approvers', 0, 'approverId'],
    ['approvers', 1, 'workflowId'],
  );
  expectFaults(await save(`{"approverId":${id}}`), ['approvers', 'approverId']);
  expectFaults(await upload(`{"fileName":"a","csv":"a","invoiceId":${id}}`), [
    'input',
    'invoiceId',
  ]);
  const scalar = `mutation ($id: ID) { ${saveOf('[{ approverId: $id }]')} }`;
  expectFaults(await post(scalar, `{"id":${id}}`), ['approvers', 0, 'approverId']);
});

test('the last of two identifiers with the same name counts', async () => {
  const { sent } = await save('[{"approverId":1e400,"approverId":1}]');
  expect(sent).toEqual(['/saveApproverList[{"approver_id":1}]']);
});

test.each(['9007199254740993.0', '9.007199254740993e15', '0.12345678901234567890', '1e400'])(
  'an identifier of %s is rejected',
  async (number) => {
    const both = await save(`[{"approverId":${number}},{"workflowId":${number}}]`);
    expectRejected(both, ['approvers', 0, 'approverId'], ['approvers', 1, 'workflowId']);
    const input = `{"fileName":"a","csv":"a","invoiceId":${number}}`;
    expectRejected(await upload(input), ['input', 'invoiceId']);
    const scalar = `mutation ($id: ID) { ${saveOf('[{ approverId: $id }]')} }`;
    expectRejected(await post(scalar, `{"id":${number}}`), ['approvers', 0, 'approverId']);
  },
);

test.each(['1234567890123456', '9007199254740993', '1e400'])(
  'a number, %s, is not a text, a boolean, an enum or an object',
  async (number) => {
    const paths = ['isExpenseClaim', 'name'].map((field) => ['approvers', 0, field]);
    expectRejected(await save(`[{"name":${number},"isExpenseClaim":${number}}]`), ...paths);
    expectRejected(await save(`[${number}]`), ['approvers', 0]);
    expectRejected(await save(number), ['approvers']);
    expectRejected(await upload(number), ['input']);
    for (const [query, name] of [
      ['mutation ($a: WorkflowAction!) { workflowAction(action: $a) { __typename } }', 'action'],
      ['query ($a: String!) { glCodes(target: EMAIL, project: $a) { __typename } }', 'project'],
      ['query ($a: Boolean!) { __typename @include(if: $a) }', 'if'],
    ] as const) {
      expectRejected(await post(query, `{"a":${number}}`), [name]);
    }
  },
);

const notOptions = '9007199254740993 1e400 99.00000000000000000001 1.5 "1" true [1] {}'.split(' ');

test.each(notOptions)('an option of %s is rejected', async (option) => {
  const input = `{"fileName":"a","csv":"a","option":${option}}`;
  expectRejected(await upload(input), ['input', 'option']);
  const literal = `uploadWorkflowCsv(input: { fileName: "a", csv: "a", option: ${option} })`;
  const { status, sent } = await post(`mutation { ${literal} { __typename } }`);
  expect([status, sent]).toEqual([400, []]);
});

test.each(['99.0', '9.9e1', '99.00000000000000000000'])('an option of %s is 99', async (number) => {
  const { sent } = await upload(`{"fileName":"a","csv":"a","option":${number}}`);
  expect(sent).toEqual(['/updateWorkflowCSV?type=99{"PictureName":"a","PictureStream":"YQ=="}']);
});

test.each(['9007199254740993', '1e400'])('%s is not the code of a reference', async (number) => {
  const query = 'query ($a: [_Any!]!) { _entities(representations: $a) { __typename } }';
  const reference = `{"__typename":"GlCode","target":"EMAIL","project":"p","code":${number}}`;
  const { errors, sent } = await post(query, `{"a":[${reference}]}`);
  const extensions = { code: 'BAD_USER_INPUT', faults: [{ path: ['code'] }] };
  expect(errors).toMatchObject([{ extensions }]);
  expect(sent).toEqual([]);
});
