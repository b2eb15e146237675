import { expect, test } from '@jest/globals';
import {
  anyWrite,
  outcomeFields,
  read,
  readFields,
  writes,
} from '../../testkit/graphql-operation.ts';
import { json } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startHeldStack, startStack } from '../support/stack.ts';

const share = shareGateway();
const uploaded = '... on WorkflowCsvUploaded { unresolved invoiceId message }';
const upload = `uploadWorkflowCsv(input: { fileName: "a", csv: "a" }) { ${outcomeFields} ${uploaded} }`;
const ofUpload = (unresolved: string | null) => ({ __typename: 'WorkflowCsvUploaded', unresolved });

/** Fields, each with the response around or beside a status record, and the member for status 0. */
const fieldsWithRecords: [field: string, toBody: (record: string) => string, success: object][] = [
  [
    `query { result: glCodes(target: EMAIL, project: "a") { ${readFields} ... on GlCodeList { codes { code } } } }`,
    (record) => `{"service_status":${record},"list":[{"Code":"1"}]}`,
    { __typename: 'GlCodeList', codes: [{ code: '1' }] },
  ],
  [`mutation { result: ${writes.saveApproverList} }`, String, { __typename: 'ApproversSaved' }],
  [`mutation { result: ${upload} }`, String, ofUpload(null)],
  [
    `mutation { result: ${upload} }`,
    (record) => record.replace('}', ',"unresolved":"row 2"}'),
    ofUpload('row 2'),
  ],
  [
    `mutation { result: ${anyWrite(`${outcomeFields} ... on WorkflowActionCompleted { action }`)} }`,
    String,
    { __typename: 'WorkflowActionCompleted', action: 'RESTART' },
  ],
];

test.each(fieldsWithRecords)('the member of %s has the fields of the record', async (...row) => {
  const [document, toBody, success] = row;
  const members: [status: string, member: object][] = [
    ['0', success],
    ['1', { __typename: 'LedgerFailed' }],
    ['2', { __typename: 'LedgerNoMoreInvoices' }],
    ['3', { __typename: 'LedgerNotPermitted' }],
    ['-7', { __typename: 'LedgerUnrecognizedStatus', status: -7 }],
    ['2147483648', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ];
  for (const [status, member] of members) {
    const record = `{"invoice_id":9223372036854775807,"message":"why","status":${status}}`;
    const { data, errors } = await share(json(toBody(record))).gateway.graphql(document);
    expect(errors).toBeUndefined();
    expect(data.result).toEqual({ ...member, invoiceId: '9223372036854775807', message: 'why' });
  }
});

test.each(['row 2', '', null])('an upload has `unresolved` without a record: %j', async (rows) => {
  const { gateway } = share(json({ unresolved: rows }));
  const { data } = await gateway.graphql(`mutation { result: ${upload} }`);
  expect(data.result).toEqual({ ...ofUpload(rows), invoiceId: null, message: null });
});

/** Sends a request to a service that does not respond, and disconnects as soon as it has arrived there. */
async function sendAndDisconnect(query: string, variables: Record<string, string> = {}) {
  const { service, gateway } = await startHeldStack(variables);
  const client = new AbortController();
  const headers = { 'x-request-id': 'request-1' };
  const response = gateway.post({ query }, headers, client.signal);
  const request = await service.arrived(1);
  client.abort();
  await expect(response).rejects.toThrow();
  return { service, gateway, request };
}

test('a read is cancelled when its client disconnects', async () => {
  const { service, gateway, request } = await sendAndDisconnect(read);
  await service.idle();
  expect(request.response.writableFinished).toBe(false);
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    requestId: 'request-1',
    operation: 'getGLCodes5',
    outcome: 'CLIENT_DISCONNECTED',
    clientDisconnected: false,
  });
});

test.each(Object.keys(writes))('%s is finished when its client disconnects', async (operation) => {
  const query = `mutation { ${writes[operation]} }`;
  const { service, gateway, request } = await sendAndDisconnect(query);
  const outcome = 'CLIENT_DISCONNECTED';
  await gateway.logLine({ msg: 'request', requestId: 'request-1', outcome });

  // Closing the gateway waits for the response.
  const closed = gateway.close();
  request.respond();
  await closed;

  expect(request.response.writableFinished).toBe(true);
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    level: 40,
    requestId: 'request-1',
    operation,
    outcome: 'answered',
    status: 200,
    clientDisconnected: true,
  });
  expect(service.received).toHaveLength(1);
});

test('the deadline ends a write whose client has disconnected, and the log says so', async () => {
  const variables = { UPSTREAM_TIMEOUT_MS: '500' };
  const { gateway } = await sendAndDisconnect(`mutation { ${writes.upgradeToHQ} }`, variables);
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    level: 40,
    operation: 'upgradeToHQ',
    outcome: 'UPSTREAM_TIMEOUT',
    clientDisconnected: true,
  });
});

const megabyte = 'm'.repeat(1_000_000);

test('the outcomes of writes reach the client, however long and however often selected', async () => {
  const { service, gateway } = await startStack(json({ status: 0, message: megabyte }));
  const names = Array.from({ length: 39 }, (_, n) => `m${n}`);
  const fields = names.map((name) => `${name}: message`).join(' ');
  const write = anyWrite(`__typename ... on LedgerStatus { ${fields} }`);

  const { status, data, errors } = await gateway.graphql(
    `mutation { a: ${write} b: ${write} c: ${write} d: ${write} e: ${write} }`,
    {},
    { 'idempotency-key': 'long' },
  );
  const settled = await gateway.graphql(
    `mutation { s: settleWrites(idempotencyKey: "long") { writes { outcome { __typename ... on LedgerStatus { ${fields} } } } } }`,
  );

  expect([status, errors]).toEqual([200, undefined]);
  const cut = Object.fromEntries(names.map((name) => [name, `${'m'.repeat(10_000)}…`]));
  const expected = { __typename: 'WorkflowActionCompleted', ...cut };
  const outcomes = settled.data.s.writes.map(({ outcome }: { outcome: object }) => outcome);
  expect([...Object.values(data), ...outcomes]).toEqual(Array(10).fill(expected));
  expect(service.received).toHaveLength(5);
});
