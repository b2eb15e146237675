import { expect, test } from '@jest/globals';
import { type AspNetSettings, aspNet, aspNetAnswers, aspNetRecord } from '../../testkit/aspnet.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { read, writes } from '../../testkit/graphql-operation.ts';
import { startService } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

/* What docs/how-to/behind-asp-net-core.md says: what the gateway tells its client when the service is written with ASP.NET Core. */

const setReply = shareGateway();
const documents = { getGLCodes5: read, ...fieldsOf(writes) };

function fieldsOf(fields: Record<string, string>): Record<string, string> {
  const entries = Object.entries(fields).map(([name, field]) => [
    name,
    `mutation { result: ${field} }`,
  ]);
  return Object.fromEntries(entries);
}

/** What a client is told: the member with its texts, or the code of the error with its message. */
type Gateway = ReturnType<typeof setReply>['gateway'];
async function told(gateway: Pick<Gateway, 'graphql'>, document: string): Promise<string> {
  const { data, errors } = await gateway.graphql(document);
  const [error] = errors ?? [];
  if (error) return `${error.extensions.code}: ${error.message}`;
  const { __typename, code } = data.result;
  return code === undefined ? __typename : `${__typename} ${code}`;
}

const success = {
  getGLCodes5: 'GlCodeList',
  saveApproverList: 'ApproversSaved',
  updateWorkflowCSV: 'WorkflowCsvUploaded',
};

test.each<[string, AspNetSettings, changed: Record<string, string>]>([
  ['the documented names', {}, {}],
  [
    'the default names',
    { naming: 'camelCase' },
    {
      getGLCodes5:
        'UPSTREAM_INVALID_RESPONSE: The list of the service is invalid: row 1 has no code.',
    },
  ],
  ['labels of statuses', { enumsAsText: true }, {}],
  ['numbers as texts', { numbersAsText: true }, {}],
  ['no nulls', { ignore: 'WhenWritingNull' }, {}],
  [
    'no default values',
    { ignore: 'WhenWritingDefault' },
    {
      getGLCodes5: 'LedgerUnrecognizedStatus',
      saveApproverList: 'LedgerUnrecognizedStatus',
      workflowAction: 'LedgerUnrecognizedStatus',
    },
  ],
])('the operations with %s', async (_, settings, changed) => {
  const { gateway, service } = setReply(aspNet(settings));
  for (const [name, document] of Object.entries(documents)) {
    const isAction = !(name in success);
    const expected = { ...success, workflowAction: 'WorkflowActionCompleted', ...changed };
    const [, member] = Object.entries(expected).find(
      ([key]) => key === (isAction ? 'workflowAction' : name),
    ) ?? [name];
    expect([name, await told(gateway, document)]).toEqual([name, member]);
  }
  expect(service.received).toHaveLength(Object.keys(documents).length);
});

const unknown = (code: string) => `LedgerOutcomeUnknown ${code}`;
const invalid = 'UPSTREAM_INVALID_RESPONSE: The service sent an invalid response.';
const failed = 'UPSTREAM_FAILED: The service failed.';
const rejected = 'UPSTREAM_BAD_REQUEST: The service rejected the request.';
const action = `mutation { result: ${writes.upgradeToHQ} }`;

test.each<[keyof typeof aspNetAnswers, write: string, read?: string]>([
  ['nullResult', unknown('UPSTREAM_INVALID_RESPONSE'), invalid],
  ['okWithoutRecord', unknown('UPSTREAM_INVALID_RESPONSE'), invalid],
  ['badRequestText', rejected],
  ['expired', 'UNAUTHENTICATED: The service does not accept the token.'],
  ['forbidden', 'FORBIDDEN: The service does not permit this operation.'],
  ['notFound', 'UPSTREAM_BAD_REQUEST: The service did not find what the request names.'],
  ['wrongMethod', 'UPSTREAM_BAD_REQUEST: The service does not offer this operation.'],
  ['conflict', rejected],
  ['tooLargeBody', 'UPSTREAM_BAD_REQUEST: The request is too large for the service.'],
  ['tooLongUrl', 'UPSTREAM_BAD_REQUEST: A text of the request is too long for the service.'],
  [
    'wrongMediaType',
    'UPSTREAM_BAD_REQUEST: The service does not accept the format of the request.',
  ],
  ['limited', 'RATE_LIMITED: The service receives too many requests, and rejected this one.'],
  ['toHttps', 'UPSTREAM_BAD_REQUEST: The service is at another address.'],
  ['exception', unknown('UPSTREAM_FAILED'), failed],
  ['developmentPage', unknown('UPSTREAM_FAILED'), failed],
  ['limitedByDefault', unknown('UPSTREAM_FAILED'), failed],
  ['timeout', unknown('UPSTREAM_FAILED'), failed],
])('%s: a write and a read', async (answer, write, readResult = write) => {
  const service = await startService(aspNetAnswers[answer]);
  const gateway = await startTestGateway(service);
  expect([await told(gateway, action), await told(gateway, read)]).toEqual([write, readResult]);
  expect(gateway.logText()).not.toContain('secret');
});

test.each([
  [400, 1, 'LedgerFailed'],
  [403, 3, 'LedgerNotPermitted'],
  [409, 1, 'LedgerFailed'],
  [500, 1, unknown('UPSTREAM_FAILED')],
])('the status %d with a record of the status %d', async (httpStatus, status, member) => {
  const { gateway } = setReply(aspNetRecord(httpStatus, status));
  expect(await told(gateway, action)).toBe(member);
  const { data } = await gateway.graphql(action);
  expect(data.result.message).toContain('It failed.');
});

test.each<[string, string, (string | number)[], string]>([
  [
    'an id above 32 bits',
    'mutation { result: saveApprovers(approvers: [{}, { approverId: "2147483648" }]) { __typename } }',
    ['approvers', 1, 'approverId'],
    'The JSON value could not be converted to System.Int32.',
  ],
  [
    'null for an int',
    'mutation { result: saveApprovers(approvers: [{ approverId: null }]) { __typename } }',
    ['approvers', 0, 'approverId'],
    'The JSON value could not be converted to System.Int32.',
  ],
  [
    'a blank project',
    '{ result: glCodes(target: EMAIL, project: " ") { __typename } }',
    ['project'],
    'The project field is required.',
  ],
])('%s is a fault beside its field', async (_, document, path, message) => {
  const { gateway } = setReply(aspNet());
  const { errors } = await gateway.graphql(document);
  expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_BAD_REQUEST' } }]);
  expect(errors?.[0]?.extensions.faults).toContainEqual({ path, message });
});

test('a project of 903 characters of three bytes fits a request line of Kestrel, and one of 904 does not', async () => {
  const { gateway } = setReply(aspNet());
  const query =
    'query ($p: String!) { result: glCodes(target: EMAIL, project: $p) { __typename } }';
  const codes = [];
  for (const length of [903, 904]) {
    const { errors } = await gateway.graphql(query, { p: '北'.repeat(length) });
    codes.push(errors?.[0]?.message);
  }
  expect(codes).toEqual([undefined, 'A text of the request is too long for the service.']);
});
