import { expect, test } from '@jest/globals';
import { GatewayError } from '../../src/errors/gateway-error.ts';
import { WorkflowAction } from '../../src/generated/resolvers.ts';
import { argumentCheckOf } from '../../src/graphql/argument-checks.ts';
import { ledger } from '../../src/resolvers/ledger.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import {
  actionArguments,
  anyWrite,
  furtherArguments,
  writes,
} from '../../testkit/graphql-operation.ts';
import { json, type Received, startService } from '../../testkit/service.ts';
import { schema } from '../support/schema.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startStack } from '../support/stack.ts';

const save =
  'mutation ($approvers: [ApproverInput!]!) { result: saveApprovers(approvers: $approvers) { __typename } }';
const upload =
  'mutation ($input: WorkflowCsvInput!) { result: uploadWorkflowCsv(input: $input) { __typename } }';
const glCodes = `query ($target: IntegrationTarget! = EMAIL, $project: String! = "north", $hide: Boolean! = false) {
  result: glCodes(target: $target, project: $project, includeHide: $hide) {
    __typename ... on GlCodeList { codes { target project } }
  }
}`;

const success = json({
  status: 0,
  unresolved: '',
  service_status: { status: 0 },
  list: [{ Hide: 0 }],
});
const share = shareGateway({ UPSTREAM_CSV_OPTION_PARAM: 'type' });
const start = () => share(success);

const csvBody = '{"PictureName":"Zürich.csv","PictureStream":"YSzDvA0K5p2x5LqsLPCfj60K"}';

/** An operation: its document, and the request to the service. */
type Operation = [document: string, sent: Partial<Received> & { body: string }];
const post = (url: string, body: string) => ({ method: 'POST', url, body });

test.each<Operation>([
  [
    glCodes,
    { method: 'GET', url: '/getGLCodes5?target=5&project=north&includeHide=false', body: '' },
  ],
  [`mutation { ${writes.saveApproverList} }`, post('/saveApproverList', '[{"name":"Ada"}]')],
  [
    'mutation { uploadWorkflowCsv(input: { fileName: "Zürich.csv", csv: "a,ü\\r\\n東京,🏭\\n" }) { __typename } }',
    post('/updateWorkflowCSV', csvBody),
  ],
  // The parameters of actions are tested in test/upstream/operations.test.ts.
  ...ledger.operations.flatMap(({ name, action }): Operation[] => {
    if (action === undefined) return [];
    const field = `workflowAction(${actionArguments(action)}) { __typename }`;
    return [[`mutation { ${field} }`, { method: 'GET', path: `/${name}`, body: '' }]];
  }),
])('%s is sent with the unchanged token', async (document, expected) => {
  const { method, body } = expected;
  const { service, gateway } = start();
  const { errors } = await gateway.graphql(document, {}, { 'x-request-id': 'request-1' });

  expect(errors).toBeUndefined();
  expect(service.received).toEqual([expect.objectContaining(expected)]);
  const { headers = {} } = service.received[0] ?? {};
  expect(headers).toMatchObject({
    authorization: `Bearer ${gateway.token}`,
    'x-request-id': 'request-1',
    'user-agent': 'ledger-gateway',
    'accept-encoding': 'gzip, deflate',
    accept: expect.stringMatching(/^(?=.*application\/json)(?=.*text\/json)(?=.*text\/plain)/),
  });
  const bytes = String(Buffer.byteLength(body));
  const ofBody = { 'content-type': 'application/json', 'content-length': bytes };
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': coding } = headers;
  const sent = { 'content-type': type, 'content-length': length, 'transfer-encoding': coding };
  const ofGet = document === glCodes ? {} : { 'content-length': '0' };
  expect(sent).toEqual(method === 'POST' ? ofBody : ofGet);
});

test('the path of the base URL is kept', async () => {
  const service = await startService(success);
  const gateway = await startTestGateway({ url: `${service.url}api/v1` });
  await gateway.graphql(glCodes);
  expect(service.received[0]?.url).toMatch(/^\/api\/v1\/getGLCodes5\?/);
});

const file = { fileName: 'a', csv: 'a' };
const approver = {
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
};

/** Sends a mutation, and expects that the service gets this body, which may be too long to be shown. */
async function expectSent(query: string, variables: Record<string, unknown>, body: string) {
  const { service, gateway } = start();
  await gateway.graphql(query, variables);
  const [sent, ...others] = service.received.map(({ body }) => body);
  expect(others).toEqual([]);
  expect(sent === body || sent).toBe(true);
}

const nulls = { name: null, approverId: null, claimLimit: null, isExpenseClaim: null };
const empty = { name: '', claimLimit: 0, workflowId: '0' };
const ids = Array.from({ length: 2000 }, (_, n) => n);

test.each<[name: string, approvers: object[], body: string]>([
  [
    'the twelve fields of an approver, by the names of the service',
    [approver],
    '[{"approver_id":9007199254740993,"claim_limit":1250.5,' +
      '"description":"Says \\"yes\\" – 東京 🏭","email":"ada@example.com",' +
      '"email_upload":"upload@example.com","is_disable_approval":false,"is_expense_claim":true,' +
      '"my_bank_account":"DE00","my_email":"me@example.com","name":"Ada",' +
      '"workflow_id":-9223372036854775808,"workflow_name":"North"}]',
  ],
  [
    'nulls and empty values of an approver, and no field that is omitted',
    [{}, nulls, empty],
    '[{},{"approver_id":null,"claim_limit":null,"is_expense_claim":null,"name":null},' +
      '{"claim_limit":0,"name":"","workflow_id":0}]',
  ],
  ['digits in a text', [{ name: '9007199254740993' }], '[{"name":"9007199254740993"}]'],
  [
    'a long list in its order',
    ids.map((n) => ({ approverId: String(n) })),
    `[${ids.map((n) => `{"approver_id":${n}}`)}]`,
  ],
])('the service gets %s', (_, approvers, body) => expectSent(save, { approvers }, body));

test('the service gets no field whose variable is omitted', async () => {
  const fields = '{ name: $name, approverId: $id, email: "a" }';
  const query = `mutation ($name: String, $id: ID) { saveApprovers(approvers: [${fields}]) { __typename } }`;
  await expectSent(query, { id: null }, '[{"approver_id":null,"email":"a"}]');
});

const bodyOf = (content: string, fields = '') =>
  `{"PictureName":"a","PictureStream":"${content}"${fields}}`;
const statusOf = (fields: string) => bodyOf('YQ==', `,"service_status":{${fields}}`);
const large = 'row,ü\n'.repeat(500_000);
const largest = Buffer.alloc(12 * 2 ** 20, 'a,b\n').toString('base64');

test.each<[name: string, fields: object, body: string]>([
  ...['', '/w==', '+/8=', 'AAEC'].map((contentBase64): [string, object, string] => {
    return [`"${contentBase64}" as it is`, { csv: null, contentBase64 }, bodyOf(contentBase64)];
  }),
  ['a large file', { csv: large }, bodyOf(Buffer.from(large).toString('base64'))],
  ['a file of 12 MiB', { csv: null, contentBase64: largest }, bodyOf(largest)],
  ['a text without base64', { contentBase64: null }, bodyOf('YQ==')],
  ['an identifier', { invoiceId: '9007199254740993' }, statusOf('"invoice_id":9007199254740993')],
  ['a message', { message: 'hello' }, statusOf('"message":"hello"')],
  ['both, if empty', { invoiceId: null, message: '' }, statusOf('"invoice_id":null,"message":""')],
])('the service gets an upload with %s', (_, fields, body) =>
  expectSent(upload, { input: { ...file, ...fields } }, body),
);

/** The targets that have a label in docs/reference/service-api.md, section 2.7. Every other one is a named external system. */
const labels: Record<number, string> = {
  4: 'FILE_TRANSFER',
  5: 'EMAIL',
  6: 'GATEWAY',
  10: 'CUSTOM_WORKFLOW',
  22: 'ELECTRONIC_INVOICE',
  36: 'SAVE_AND_SEARCH',
  4001: 'STORAGE_DEVICE',
  [-1]: 'UNKNOWN',
};
// biome-ignore format: the list reads as in docs/reference/service-api.md
const targets = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21, 22, 23, 24, 26, 27, 33, 34, 35, 36, 37, 38, 39,
  40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 4001, -1,
];

test('each of the 41 targets is sent as its integer and returned by its name', async () => {
  const { service, gateway } = start();
  for (const number of targets) {
    const target = labels[number] ?? `TARGET_${number}`;
    const { data } = await gateway.graphql(glCodes, { target });
    expect(data.result.codes).toEqual([{ target, project: 'north' }]);
  }
  const sent = service.received.map(({ url }) => new URL(url, service.url).searchParams);
  expect(sent.map((search) => Number(search.get('target')))).toEqual(targets);
  expect(targets).toHaveLength(41);
});

test.each([
  ['', ''],
  ['a b+c', 'a+b%2Bc'],
  ['?&=#/../%41', '%3F%26%3D%23%2F..%2F%2541'],
  ['Zürich 東京 🏭', 'Z%C3%BCrich+%E6%9D%B1%E4%BA%AC+%F0%9F%8F%AD'],
])('the project "%s" is sent and returned unchanged', async (project, encoded) => {
  const { service, gateway } = start();
  const { data } = await gateway.graphql(glCodes, { project, hide: true });
  const url = `/getGLCodes5?target=5&project=${encoded}&includeHide=true`;
  expect(service.received.map(({ url }) => url)).toEqual([url]);
  expect(data.result.codes).toEqual([{ target: 'EMAIL', project }]);
});

/** The allowed options (docs/reference/service-api.md, section 4.3), by their limits. */
const options = [1, 27, 30, 31, 99, 101, 160, 208, 360, 369, 421, 423, 454, 461, 500, -6, -1];

test('every allowed option is sent under the configured name', async () => {
  const { service, gateway } = start();
  for (const option of options) await gateway.graphql(upload, { input: { ...file, option } });
  await gateway.graphql(
    'mutation { uploadWorkflowCsv(input: { fileName: "a", csv: "a", option: -6 }) { __typename } }',
  );
  const sent = [...options, -6].map((option) => `/updateWorkflowCSV?type=${option}`);
  expect(service.received.map(({ url }) => url)).toEqual(sent);
});

const long = (length: number) => 'x'.repeat(length);
const approverTexts = 'description email emailUpload myBankAccount myEmail name workflowName';
const lines = (length: number) =>
  Object.fromEntries(approverTexts.split(' ').map((name) => [name, long(length)]));

const context = { csvOptionParam: 'type' };

/** The faults of the arguments of a root field, as `path: message`. */
function faultsOf(name: string, values: object): string[] {
  const roots = [schema.getQueryType(), schema.getMutationType()];
  const [field] = roots.flatMap((type) => type?.getFields()[name] ?? []);
  const limit = schema.getDirective('limit');
  if (!field || !limit) throw new Error(`No field ${name}`);
  try {
    argumentCheckOf(field.args, limit, ledger.argumentChecks[name])(values, context);
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'BAD_USER_INPUT') throw error;
    const faults = error.faults as { path: (string | number)[]; message: string }[];
    return faults.map(({ path, message }) => `${path.join('.')}: ${message}`);
  }
}

const ofApprover = (fields: object) => faultsOf('saveApprovers', { approvers: [{}, fields] });
const ofFile = (fields: object) =>
  faultsOf('uploadWorkflowCsv', { input: { fileName: 'a', ...fields } });
const ofCodes = (fields: object) => faultsOf('glCodes', { project: 'a', skip: 0, ...fields });

const notIntegers = 'abc|1.5|| 1|1 |007|+1|-|-0|1e3|0x1F|١|1\n'.split('|');

test.each([...notIntegers, `-${'9'.repeat(1001)}`])('%j is not an identifier', (id) => {
  const problem = id.length > 1000 ? 'has more than 1000 digits.' : 'is not an integer.';
  expect(ofApprover({ approverId: id, workflowId: id })).toEqual([
    `approvers.1.approverId: "approvers[1].approverId" ${problem}`,
    `approvers.1.workflowId: "approvers[1].workflowId" ${problem}`,
  ]);
  const ofInvoice = `input.invoiceId: "input.invoiceId" ${problem}`;
  expect(ofFile({ ...file, invoiceId: id })).toEqual([ofInvoice]);
});

/** The bits of `YR==` that are not used are not zero. */
const notBase64 =
  'a|YQ|YQ=|YQ===|YR==|YQ==YQ==|Y Q=|YQ==\n|_w==|-_8=|ü|data:text/csv;base64,YQ=='.split('|');

test.each(notBase64)('%j is not base64', (contentBase64) => {
  const problem = 'is not base64 (RFC 4648, section 4, with padding).';
  const fault = `input.contentBase64: "input.contentBase64" ${problem}`;
  expect(ofFile({ contentBase64 })).toEqual([fault]);
});

const notOptions = [0, 28, 29, 32, 98, 100, 161, 207, 361, 368, 422, 455, 460, 501, -7];

test.each(notOptions)('the service has no option %d', (option) => {
  const problem = 'is not an option of the service.';
  expect(ofFile({ ...file, option })).toEqual([`input.option: "input.option" ${problem}`]);
});

const longMessage = long(10_001);
const both = 'input: "input" must not have both csv and contentBase64';

test.each<[fault: string, faults: string[]]>([
  [both, ofFile({ ...file, contentBase64: 'YQ==' })],
  [both, ofFile({ csv: '', contentBase64: '' })],
  ['input: "input" must have csv or contentBase64', ofFile({})],
  ['input: "input" must have csv or contentBase64', ofFile({ csv: null, contentBase64: null })],
  ['input.fileName: "input.fileName" has more than 255', ofFile({ ...file, fileName: long(256) })],
  ['input.message: "input.message" has more than 10000', ofFile({ csv: '', message: longMessage })],
  ['input.csv: "input.csv" is not well-formed', ofFile({ csv: '\udc00' })],
  ['only.0: "only[0]" is not well-formed', ofCodes({ only: ['\udc00'] })],
  ['project: "project" has more than 1024', ofCodes({ project: long(1025) })],
  ['project: "project" is not well-formed', ofCodes({ project: 'a\ud800' })],
  ['only.1: "only[1]" has more than 256', ofCodes({ only: ['a', long(257), long(258)] })],
  ['only: "only" has more than 1000 items', ofCodes({ only: Array(1001).fill('a') })],
  ['search: "search" has more than 256', ofCodes({ search: long(257) })],
  ['search: "search" is not well-formed', ofCodes({ search: '\ud800' })],
  ['skip: "skip" is negative', ofCodes({ skip: -1 })],
  ['first: "first" is negative', ofCodes({ first: -1 })],
])('%s is the only fault', (fault, faults) => {
  expect(faults).toEqual([expect.stringContaining(fault)]);
});

test('values of the largest allowed size are accepted, and larger texts are not', () => {
  const ids = { approverId: '9'.repeat(1000), workflowId: `-${'9'.repeat(1000)}` };
  expect(ofApprover({ ...lines(1000), ...ids })).toEqual([]);
  expect(ofFile({ fileName: long(255), csv: long(20_000), message: long(10_000) })).toEqual([]);
  const only = Array(1000).fill(long(256));
  expect(ofCodes({ project: long(1024), search: long(256), only })).toEqual([]);
  const faults = approverTexts.split(' ').map((name) => expect.stringContaining(`1.${name}: `));
  expect(ofApprover(lines(1001))).toEqual(faults);
});

test('a lone surrogate is refused in each text of an approver and of a file', () => {
  const lone = (name: string) => ({ [name]: 'a\ud83d' });
  for (const name of approverTexts.split(' ')) {
    const problem = `"approvers[1].${name}" is not well-formed Unicode text.`;
    expect(ofApprover(lone(name))).toEqual([`approvers.1.${name}: ${problem}`]);
  }
  for (const name of ['fileName', 'message']) {
    const problem = `"input.${name}" is not well-formed Unicode text.`;
    expect(ofFile({ ...file, ...lone(name) })).toEqual([`input.${name}: ${problem}`]);
  }
});

test('the name of the option is encoded, and a null is not sent', async () => {
  const { service, gateway } = await startStack(success, { UPSTREAM_CSV_OPTION_PARAM: '$[a]' });
  for (const option of [1, null]) await gateway.graphql(upload, { input: { ...file, option } });
  const paths = ['/updateWorkflowCSV?%24%5Ba%5D=1', '/updateWorkflowCSV'];
  expect(service.received.map(({ url }) => url)).toEqual(paths);
});

test('an option is BAD_USER_INPUT while the name of its parameter is not configured, and a null is not', async () => {
  const { service, gateway } = await startStack(success);
  const message =
    '"input.option" cannot be sent: the name of its query parameter is not configured.';
  const ofOption = { path: ['input', 'option'], message };
  const ofInvoice = { path: ['input', 'invoiceId'], message: expect.any(String) };
  for (const [further, faults] of [
    [{}, [ofOption]],
    [{ invoiceId: 'x' }, [ofInvoice, ofOption]],
  ] as const) {
    const { errors } = await gateway.graphql(upload, { input: { ...file, option: 1, ...further } });
    const extensions = { code: 'BAD_USER_INPUT', faults };
    expect(errors).toMatchObject([{ extensions }]);
  }
  expect(service.received).toEqual([]);
  await gateway.graphql(upload, { input: { ...file, option: null } });
  expect(service.received).toHaveLength(1);
});

test('a null for an argument that has a default is BAD_USER_INPUT, and nothing is sent', async () => {
  const { service, gateway } = start();
  const query = glCodes.replace('$hide: Boolean! = false', '$hide: Boolean');
  const { errors } = await gateway.graphql(query, { hide: null });
  const extensions = { code: 'BAD_USER_INPUT', faults: [{ path: ['includeHide'] }] };
  expect(errors).toMatchObject([{ message: expect.stringContaining('includeHide'), extensions }]);
  expect(service.received).toEqual([]);
});

test('one error reports all faults of an input', async () => {
  const { service, gateway } = start();
  // 128 characters of two UTF-16 code units.
  const ofFile = { fileName: '😀'.repeat(128), csv: '\udc00', contentBase64: 'a' };
  const input = { ...ofFile, invoiceId: 'x', option: 0 };
  const { errors } = await gateway.graphql(upload, { input });
  const first = '"input.fileName" has more than 255 characters.';
  const names = ['fileName', 'csv', 'invoiceId', 'contentBase64', 'option'];
  const faults = [...names.map((name) => ({ path: ['input', name] })), { path: ['input'] }];
  const message = `The input has 6 faults. The first: ${first}`;
  expect(errors).toMatchObject([{ message, extensions: { faults } }]);
  expect(service.received).toEqual([]);
});

test('an action that WORKFLOW_ACTIONS does not list is a fault of its field only, and is not sent', async () => {
  const variables = { WORKFLOW_ACTIONS: 'RESTART, UPGRADE_TO_HQ' };
  const { service, gateway } = await startStack(success, variables);
  const { status, data, errors } = await gateway.graphql(`mutation {
    other: workflowAction(${actionArguments('RESTORE_SOLUTION')}) { __typename }
    allowed: ${anyWrite()}
  }`);

  expect(status).toBe(200);
  expect(data).toEqual({ allowed: { __typename: 'WorkflowActionCompleted' }, other: null });
  const message = '"action" is not allowed by the configuration.';
  const faults = [{ path: ['action'], message }];
  const extensions = { code: 'BAD_USER_INPUT', retryable: false, faults };
  expect(errors).toMatchObject([{ path: ['other'], message, extensions }]);
  expect(service.received.map(({ path }) => path)).toEqual(['/restartWorkflow2']);
});

test('an argument that belongs to other workflow actions is a fault, and nothing is sent', async () => {
  const { service, gateway } = start();
  const all = Object.assign({}, ...Object.values(furtherArguments));
  for (const action of Object.values(WorkflowAction)) {
    for (const name of Object.keys(all)) {
      if (name in (furtherArguments[action] ?? {})) continue;
      const ofOther = actionArguments(action, { [name]: all[name] });
      const { errors } = await gateway.graphql(
        `mutation { workflowAction(${ofOther}) { __typename } }`,
      );
      const faults = [{ path: [name] }];
      expect([ofOther, errors]).toMatchObject([
        ofOther,
        [{ extensions: { code: 'BAD_USER_INPUT', faults } }],
      ]);
    }
  }
  expect(service.received).toEqual([]);
});
