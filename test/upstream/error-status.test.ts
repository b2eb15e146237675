import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { operations } from '../../src/upstream/declarations.ts';
import { interpretError } from '../../src/upstream/error-status.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { read, writes } from '../../testkit/graphql-operation.ts';
import { type Reply, reply } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const setReply = shareGateway();

const upgrade = `mutation { result: ${writes.upgradeToHQ} }`;
const save = `mutation { result: ${writes.saveApproverList} }`;
const upload = `mutation { result: ${writes.updateWorkflowCSV} }`;
const replyJson = (status: number, body: unknown, headers = {}) =>
  reply(status, JSON.stringify(body), headers);
const record = (status: unknown) => ({ invoice_id: 5, message: 'It says why.', status });

// A refusal with a status record is that record.

test.each([
  [400, 1, 'LedgerFailed'],
  [403, 3, 'LedgerNotPermitted'],
  [404, 2, 'LedgerNoMoreInvoices'],
  [409, 'FAILED', 'LedgerFailed'],
])(
  'a %d with a record of the status %j is that record, and replayed for the key',
  async (...row) => {
    const [httpStatus, status, __typename] = row;
    const { gateway, service } = setReply(replyJson(httpStatus, record(status)));
    const key = { 'idempotency-key': crypto.randomUUID() };
    const expected = { __typename, message: 'It says why.', invoiceId: '5' };
    for (const document of [upgrade, upgrade, upload]) {
      const { data, errors } = await gateway.graphql(document, {}, document === upgrade ? key : {});
      expect([data.result, errors]).toEqual([expected, undefined]);
    }
    expect(service.received).toHaveLength(2);
  },
);

test.each([
  ['', record(1)],
  ['nested', { service_status: record(1), list: [] }],
])('a read has the record of its refusal, too (%s)', async (_, body) => {
  const { gateway } = setReply(replyJson(400, body));
  const { data } = await gateway.graphql(read);
  expect(data.result).toEqual({ __typename: 'LedgerFailed' });
});

test('a refusal that is compressed is read', async () => {
  const body = gzipSync(JSON.stringify(record(3)));
  const { gateway } = setReply((response) =>
    response.writeHead(403, { 'content-encoding': 'gzip' }).end(body),
  );
  const { data } = await gateway.graphql(upgrade);
  expect(data.result).toMatchObject({ __typename: 'LedgerNotPermitted', message: 'It says why.' });
});

test('a refusal that reports success contradicts itself, so the outcome is unknown', async () => {
  const { gateway } = setReply(replyJson(400, record(0)));
  const { data } = await gateway.graphql(upgrade);
  expect(data.result).toMatchObject({
    code: 'UPSTREAM_INVALID_RESPONSE',
    message:
      'The service rejected the request and reported success. The operation may or may not have taken effect. The gateway did not repeat it.',
  });
});

test.each([
  [401, record(1), 'UNAUTHENTICATED'],
  [429, record(1), 'RATE_LIMITED'],
  [400, record(7), 'UPSTREAM_BAD_REQUEST'],
  [400, { title: 'Bad Request', status: 400 }, 'UPSTREAM_BAD_REQUEST'],
  [403, ['FAILED'], 'FORBIDDEN'],
  [403, { service_status: null }, 'FORBIDDEN'],
])('a %d with %j is an error', async (status, body, code) => {
  const { gateway } = setReply(replyJson(status, body));
  const { errors } = await gateway.graphql(upgrade);
  expect(errors).toMatchObject([{ extensions: { code } }]);
});

test.each<[string, Reply]>([
  [
    'breaks off',
    (response) => response.writeHead(400).write('{"status":1', () => response.destroy()),
  ],
  [
    'is too long',
    (response) => void response.writeHead(400).write(`{"status":1}${' '.repeat(70_000)}`),
  ],
  ['has an unknown coding', reply(400, JSON.stringify(record(1)), { 'content-encoding': 'x' })],
])('the status of a refusal counts if its body %s', async (_, reaction) => {
  const { gateway } = setReply(reaction);
  const { errors } = await gateway.graphql(upgrade);
  expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_BAD_REQUEST' } }]);
});

// A failure leaves the outcome unknown.

test('the words of a failure are shown with the unknown outcome, also to a repeat, and with the error of a read', async () => {
  const { gateway } = setReply(replyJson(500, record(1)));
  const key = { 'idempotency-key': crypto.randomUUID() };
  for (let n = 0; n < 2; n += 1) {
    const { data } = await gateway.graphql(upgrade, {}, key);
    expect(data.result).toMatchObject({
      code: 'UPSTREAM_FAILED',
      message:
        'The service failed and says: "It says why." The operation may or may not have taken effect. The gateway did not repeat it.',
    });
  }
  const { errors } = await gateway.graphql(read);
  expect(errors).toMatchObject([
    {
      message: 'The service failed and says: "It says why."',
      extensions: { code: 'UPSTREAM_FAILED' },
    },
  ]);
});

// Messages of their own.

test.each([
  [404, 'The service did not find what the request names.'],
  [405, 'The service does not offer this operation.'],
  [413, 'The request is too large for the service.'],
  [414, 'A text of the request is too long for the service.'],
  [415, 'The service does not accept the format of the request.'],
  [422, 'The service rejected the request.'],
])('a %d has its own message', async (status, message) => {
  const { gateway } = setReply(reply(status));
  const { errors } = await gateway.graphql(save);
  expect(errors).toMatchObject([{ message, extensions: { code: 'UPSTREAM_BAD_REQUEST' } }]);
});

test.each([307, 308])(
  'a %d says that nothing was done, and the log what to correct',
  async (status) => {
    const location = 'https://ledger.example.com/secret?token=1';
    const service = setReply(reply(status, '', { location })).service;
    const gateway = await startTestGateway(service);
    const { errors } = await gateway.graphql(upgrade);
    expect(errors).toMatchObject([
      {
        message: 'The service is at another address.',
        extensions: { code: 'UPSTREAM_BAD_REQUEST', retryable: false },
      },
    ]);
    expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
      fault: `status ${status} to https://ledger.example.com: correct UPSTREAM_BASE_URL`,
    });
    expect(gateway.logText()).not.toContain('secret');
  },
);

// The faults of a request, by application/problem+json.

const problem = 'application/problem+json; charset=utf-8';
const faultsOf = (name: keyof typeof operations, errors: unknown, type = problem) => {
  const response = { statusCode: 400, headers: { 'content-type': type }, body: { errors } };
  const request = { operation: operations[name], search: name.endsWith('CSV') ? '?type=5' : '' };
  const found = interpretError(request, response);
  return 'faults' in found ? found.faults : 'no error';
};

test.each<[keyof typeof operations, string, PropertyKey[]]>([
  ['saveApproverList', '$[0].approver_id', ['approvers', 0, 'approverId']],
  ['saveApproverList', '[12].Is_Disable_Approval', ['approvers', 12, 'isDisableApproval']],
  ['saveApproverList', '$[3].claimLimit', ['approvers', 3, 'claimLimit']],
  ['saveApproverList', '$[3]', ['approvers', 3]],
  ['saveApproverList', '$[3].other.name', ['approvers', 3]],
  ['saveApproverList', 'body', ['approvers']],
  ['saveApproverList', '$', ['approvers']],
  ['saveApproverList', '$[99999999999].name', ['approvers']],
  ['updateWorkflowCSV', '$.PictureName', ['input', 'fileName']],
  ['updateWorkflowCSV', 'pictureStream', ['input']],
  ['updateWorkflowCSV', 'service_status.invoice_id', ['input', 'invoiceId']],
  // The name of this parameter is configured, and that of the request.
  ['updateWorkflowCSV', 'Type', ['input', 'option']],
  ['updateWorkflowCSV', 'option', ['input']],
  ['updateWorkflowCSV', 'service_status', ['input']],
  ['getGLCodes5', 'project', ['project']],
  ['getGLCodes5', 'IncludeHide', ['includeHide']],
  ['upgradeToHQ', 'anything', []],
])('%s: the fault of %s has the path of the argument', (operation, path, expected) => {
  expect(faultsOf(operation, { [path]: ['It is wrong.'] })).toEqual([
    { path: expected, message: 'It is wrong.' },
  ]);
});

test.each([400, 403, 409, 413, 422])(
  'the faults of a %d are passed on and logged',
  async (status) => {
    const errors = { '$[0].email': ['It is wrong.'] };
    const { service } = setReply(replyJson(status, { errors }, { 'content-type': problem }));
    const gateway = await startTestGateway(service);
    const { errors: found } = await gateway.graphql(save);
    const faults = [{ path: ['approvers', 0, 'email'], message: 'It is wrong.' }];
    const code = status === 403 ? 'FORBIDDEN' : 'UPSTREAM_BAD_REQUEST';
    expect(found).toMatchObject([{ extensions: { code, faults } }]);
    const fault = `status ${status}, approvers[0].email`;
    expect(await gateway.logLine({ msg: 'call' })).toMatchObject({ fault });
  },
);

test('after a 500, the log has the paths of the faults, and not their texts', async () => {
  const errors = { '$[0].email': ['Ada is wrong.'] };
  const { service } = setReply(replyJson(500, { errors }, { 'content-type': problem }));
  const gateway = await startTestGateway(service);
  const { data } = await gateway.graphql(save);
  expect(data.result).toMatchObject({ code: 'UPSTREAM_FAILED' });
  const fault = 'status 500, approvers[0].email';
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({ fault });
  expect(gateway.logText()).not.toContain('Ada');
});

test('faults with a pointer are read, too', () => {
  const errors = [
    { detail: 'must be positive', pointer: '#/0/claim_limit' },
    { detail: 'is wrong' },
    { detail: 5, pointer: '#/0/name' },
    'text',
    null,
  ];
  expect(faultsOf('saveApproverList', errors)).toEqual([
    { path: ['approvers', 0, 'claimLimit'], message: 'must be positive' },
    { path: ['approvers'], message: 'is wrong' },
  ]);
});

test('at most ten faults of 300 characters are passed on', () => {
  const errors = Object.fromEntries(
    Array.from({ length: 8 }, (_, n) => [`$[${n}].name`, ['x'.repeat(301), 'y']]),
  );
  const faults = faultsOf('saveApproverList', errors);
  expect(faults).toHaveLength(10);
  expect(faults?.[0]).toMatchObject({ message: `${'x'.repeat(299)}…` });
  expect(faults?.[9]).toEqual({ path: ['approvers', 4, 'name'], message: 'y' });
});

test.each<[string, unknown, string]>([
  ['another content type', { project: ['No.'] }, 'application/json'],
  ['no faults', {}, problem],
  ['texts that are none', { project: [1, null], target: {} }, problem],
  ['a text', 'No.', problem],
  ['null', null, problem],
])('there are no faults with %s', (_, errors, type) => {
  expect(faultsOf('getGLCodes5', errors, type)).toBeUndefined();
});

test('the client gets the faults, and the log their paths only', async () => {
  const text = 'The JSON value could not be converted to System.Int32.';
  const body = {
    title: 'One or more validation errors occurred.',
    status: 400,
    errors: { '$[0].approver_id': [text], a: ['The a field is required.'] },
  };
  const { service } = setReply(replyJson(400, body, { 'content-type': problem }));
  const gateway = await startTestGateway(service);
  const { errors } = await gateway.graphql(save);
  expect(errors).toMatchObject([
    {
      message: 'The service rejected the request.',
      extensions: {
        code: 'UPSTREAM_BAD_REQUEST',
        faults: [
          { path: ['approvers', 0, 'approverId'], message: text },
          { path: ['approvers'], message: 'The a field is required.' },
        ],
      },
    },
  ]);
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    fault: 'status 400, approvers[0].approverId, approvers',
  });
  expect(gateway.logText()).not.toContain('System.Int32');
});
