import { expect, jest, test } from '@jest/globals';
import { startTestGateway } from '../../testkit/gateway.ts';
import { anyWrite, read, write } from '../../testkit/graphql-operation.ts';
import type { LogLine } from '../../testkit/log-recorder.ts';
import { freePort } from '../../testkit/port.ts';
import { json, type Reply, reply } from '../../testkit/service.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';
import { connectTo, exchange, requestOf, requestOnly } from '../support/raw-request.ts';
import { createSigningKey } from '../support/signing-key.ts';
import { startStack } from '../support/stack.ts';

/** Part of every request and response body. No log line may contain it. */
const secret = 'secret-of-a-body';

async function start(serviceReply: Reply, variables: Record<string, string> = {}) {
  const { service, gateway } = await startStack(serviceReply, variables);
  /** The lines with this message, after the request has been logged. */
  async function lines(msg: 'request' | 'call'): Promise<LogLine[]> {
    await gateway.logLine({ msg: 'request' });
    return gateway.logs.filter((line) => line.msg === msg);
  }
  return { service, gateway, lines };
}

const fine = json({
  status: 0,
  message: secret,
  unresolved: secret,
  service_status: { status: 0, message: secret },
  list: [{ Code: secret }],
});

test('clients that disconnect during long lists leave no line of an internal error', async () => {
  const list = Array(20_000).fill({});
  const { gateway } = await start(json({ service_status: { status: 0 }, list }));
  const sockets = Array.from({ length: 8 }, (_, n) => {
    const socket = connectTo(gateway.url);
    socket.write(requestOf(gateway, read.replace('north', `p${n}`)));
    return socket;
  });
  await gateway.logLine({ msg: 'call' });
  for (const socket of sockets) socket.resetAndDestroy();
  await gateway.close();

  expect(gateway.logs).toContainEqual(expect.objectContaining({ msg: 'request', status: 499 }));
  expect(gateway.logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

/** The lines of the request and of its calls. */
type Lines = [request: object, ...calls: object[]];

const answered = { level: 30, operation: 'getGLCodes5', outcome: 'answered', status: 200 };
const failed = { level: 40, operation: 'getGLCodes5', outcome: 'UPSTREAM_FAILED', status: 503 };
const failedRead = { outcome: 'UPSTREAM_FAILED', status: 200 };
const codes = { level: 30, method: 'POST', path: '/graphql', operation: 'Codes', outcome: 'ok' };
const ofWrite = (outcome: string): Lines => [
  { writes: [`Mutation.workflowAction ${outcome}`] },
  { operation: 'upgradeToHQ' },
];
const described = (fault: RegExp): Lines => [{}, { fault: expect.stringMatching(fault) }];
const notJson = json(`<html>${secret}</html>`);
const wrongType = json({ service_status: { status: 0 }, list: [{ Hide: secret }] });
const typeFault = /^list\[0\]\.Hide: expected integer, got string$/;
const badToken = { authorization: 'Bearer bad' };
const invalidId = `mutation { saveApprovers(approvers: [{ approverId: "${secret}" }]) { __typename } }`;
const fields = [1, 2, 3, 4, 5, 6].map((n) => `a${n}: ${anyWrite()}`);
const sixWrites = `mutation { ${fields.join(' ')} }`;
const unknown = ofWrite('LedgerOutcomeUnknown UPSTREAM_FAILED');

test.each<[string, Reply, string, Lines, headers?: Record<string, string>]>([
  ['a read', fine, `query Codes ${read}`, [{ ...codes, status: 200 }, answered]],
  ['a read that fails', reply(503, secret), read, [failedRead, failed, failed, failed]],
  ['a write', fine, write, ofWrite('WorkflowActionCompleted')],
  ['a refused write', json({ status: 1, message: secret }), write, ofWrite('LedgerFailed')],
  ['a forbidden write', reply(403, secret), write, ofWrite('FORBIDDEN')],
  ['a write that fails', reply(500, secret), write, unknown],
  ['a response that is no JSON', notJson, read, described(/^not JSON, 29 bytes$/)],
  ['a response with a wrong type', wrongType, read, described(typeFault)],
  ['an invalid token', fine, write, [{ status: 401, outcome: 'UNAUTHENTICATED' }], badToken],
  ['a syntax error', fine, `{ ${secret}`, [{ status: 400, outcome: 'GRAPHQL_PARSE_FAILED' }]],
  ['an unknown field', fine, '{ a }', [{ status: 400, outcome: 'GRAPHQL_VALIDATION_FAILED' }]],
  ['invalid input', fine, invalidId, [{ status: 200, outcome: 'BAD_USER_INPUT' }]],
  ['six writes', fine, sixWrites, [{ status: 400, outcome: 'OPERATION_LIMIT_EXCEEDED' }]],
])('%s has a line for the request and one for each call, without bodies', async (...row) => {
  const [, serviceReply, query, [request, ...calls], headers] = row;
  const { gateway, lines } = await start(serviceReply);
  await gateway.graphql(query, {}, { 'x-request-id': 'request-1', ...headers });

  const common = { requestId: 'request-1', ms: expect.any(Number) };
  expect(await lines('request')).toMatchObject([{ ...common, ...request }]);
  expect(await lines('call')).toMatchObject(calls.map((call) => ({ ...common, ...call })));
  expect(gateway.logText()).not.toContain(secret);
  for (const line of gateway.logs) {
    expect(line).toMatchObject({ level: expect.any(Number), time: expect.any(Number) });
  }
});

test('a write is found in the log by the identifiers of its request, and by the invoice of its response', async () => {
  const { service, gateway, respondWith } = await startStack(reply(500));
  const save = `mutation ($approvers: [ApproverInput!]!) { saveApprovers(approvers: $approvers) { __typename } }`;
  const approvers = [{ approverId: '9007199254740993', workflowId: '7', name: secret }];
  await gateway.graphql(save, { approvers });
  const unknown = { msg: 'outcome unknown', operation: 'saveApproverList' };
  const ids = { approver_id: ['9007199254740993'], workflow_id: ['7'] };
  expect(await gateway.logLine(unknown)).toMatchObject({ ids });
  respondWith(reply(409));
  await gateway.graphql(save, { approvers }, { 'x-request-id': 'refused' });
  const refused = { msg: 'call', outcome: 'UPSTREAM_BAD_REQUEST', requestId: 'refused' };
  expect(await gateway.logLine(refused)).toMatchObject({ ids });
  respondWith(json({ status: 0 }));
  await gateway.graphql(save, { approvers }, { 'x-request-id': 'done' });
  expect(await gateway.logLine({ msg: 'sent', requestId: 'done' })).toMatchObject({ ids });
  expect(await gateway.logLine({ msg: 'call', requestId: 'done' })).not.toHaveProperty('ids');
  respondWith(reply(500));
  // A line of the log is short.
  const many = Array.from({ length: 400 }, (_, n) => ({ approverId: String(10_000 + n) }));
  await gateway.graphql(save, { approvers: many }, { 'x-request-id': 'many' });
  const long = await gateway.logLine({ ...unknown, requestId: 'many' });
  expect(long).toMatchObject({ omittedIds: 200 });
  expect(Object(long.ids).approver_id).toHaveLength(200);

  respondWith(json({ invoice_id: 48214, status: 1 }));
  await gateway.graphql(write, {}, { 'x-request-id': 'failed' });
  respondWith(json({ invoice_id: secret, status: 1 }));
  await gateway.graphql(write, {}, { 'x-request-id': 'no-number' });
  const writesOf = async (requestId: string) =>
    (await gateway.logLine({ msg: 'request', requestId })).writes;
  expect(await writesOf('failed')).toEqual(['Mutation.workflowAction LedgerFailed invoice=48214']);
  expect(await writesOf('no-number')).toEqual(['Mutation.workflowAction LedgerFailed']);
  expect(gateway.logText()).not.toContain(secret);
  expect(service.received).toHaveLength(6);
});

test('if the service is unreachable, its URL is not logged', async () => {
  const port = await freePort();
  const gateway = await startTestGateway({ url: `http://127.0.0.1:${port}/${secret}/` });
  await gateway.graphql(write);
  const line = { level: 40, outcome: 'UPSTREAM_UNAVAILABLE', fault: 'ECONNREFUSED' };
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject(line);
  expect(gateway.logText()).not.toContain(secret);
});

test('LOG_LEVEL=silent turns the log off', async () => {
  const { gateway } = await start(fine, { LOG_LEVEL: 'silent' });
  await gateway.graphql(read);
  await gateway.close();
  expect(gateway.logText()).toBe('');
});

test('probes and scrapes are logged at debug, and at info if they fail', async () => {
  const { gateway } = await start(fine, { JWT_JWKS_URL: `http://127.0.0.1:${await freePort()}/` });
  for (const [path, line] of [
    ['/livez', { level: 20 }],
    ['/metrics', { level: 20 }],
    ['/readyz', { level: 30, outcome: 'NOT_READY', status: 503 }],
  ] as const) {
    await fetch(gateway.url + path);
    expect(await gateway.logLine({ msg: 'request', path })).toMatchObject(line);
  }
});

test('the lines of an authenticated request and its writes say whose they are', async () => {
  const { sign, jwk } = await createSigningKey('one');
  const file = await temporaryFile(JSON.stringify({ keys: [jwk] }));
  const own = { JWT_ISSUER: 'issuer', JWT_AUDIENCE: 'gateway' };
  const { gateway, lines } = await start(fine, { JWT_JWKS_URL: '', JWT_JWKS_FILE: file, ...own });
  const clients = [
    { 'apollographql-client-name': 'approvals', 'apollographql-client-version': '1.2.0' },
    { 'graphql-client-name': `\u009b31m${'n'.repeat(200)}`, 'graphql-client-version': '3' },
  ];
  const authorization = `Bearer ${await sign({ azp: `web\n${'a'.repeat(200)}` })}`;
  for (const client of clients) await gateway.graphql(read, {}, { authorization, ...client });
  await gateway.graphql(write, {}, { authorization });

  const { caller } = await gateway.logLine({ msg: 'sent' });
  expect(caller).toEqual(expect.any(String));
  // Not each attempt.
  for (const call of await lines('call')) expect(call).not.toHaveProperty('caller');
  const same = { caller, azp: expect.stringMatching(/^web\?a{96}…$/) };
  const [first, second] = await lines('request');
  expect(first).toMatchObject({ ...same, client: 'approvals', clientVersion: '1.2.0' });
  expect(second).toMatchObject({ ...same, client: `?31m${'n'.repeat(96)}…`, clientVersion: '3' });
  for (const line of [first, second]) expect(line).not.toHaveProperty('address');
});

test('the line of a rejected token says where it comes from, without the token', async () => {
  const { gateway, lines } = await start(fine);
  const { sign } = await createSigningKey('other');
  const forged = await sign({ iss: 'https://issuer.example' }, { kid: `k\n${'k'.repeat(200)}` });
  const forwardedFor = '192.0.2.7';
  const headers = { authorization: `Bearer ${forged}`, 'x-forwarded-for': forwardedFor };
  await gateway.graphql(read, {}, headers);
  await gateway.graphql(read, {}, { authorization: 'Bearer bad' });
  await fetch(`${gateway.url}/graphql`);
  await gateway.logLine({ refusal: 'missing' });

  const [rejected, malformed, missing] = await lines('request');
  const address = expect.stringMatching(/127\.0\.0\.1$/);
  const claimed = { issuer: 'https://issuer.example', kid: `k?${'k'.repeat(98)}…` };
  const common = { status: 401, address };
  expect(rejected).toMatchObject({ ...common, refusal: 'issuer', ...claimed, forwardedFor });
  expect(malformed).toMatchObject({ ...common, refusal: 'malformed' });
  expect(missing).toMatchObject({ ...common, refusal: 'missing' });
  for (const part of forged.split('.')) expect(gateway.logText()).not.toContain(part);
});

test.each([
  ['GET', '/unknown'],
  ['PUT', '/graphql'],
])('of %s %s without a token, a second has at most 1,000 lines', async (method, path) => {
  const { gateway } = await start(fine);
  const second = performance.now();
  const clock = jest.spyOn(performance, 'now').mockReturnValue(second);
  const last = requestOnly(`${method} ${path}`);
  const pipelined = last.replace('connection: close\n', '').repeat(9) + last;
  const send = () => exchange(gateway.url, pipelined);
  for (let n = 0; n < 10; n++) await Promise.all(Array.from({ length: 11 }, send));
  await gateway.graphql(read);
  clock.mockRestore();
  await gateway.logLine({ msg: 'request', status: 200 });
  const lines = gateway.logs.filter(({ msg, caller }) => msg === 'request' && !caller);
  expect(lines).toHaveLength(1000);
});
