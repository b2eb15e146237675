import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { read, write } from '../support/graphql-operation.ts';
import type { LogLine } from '../support/log-recorder.ts';
import { freePort } from '../support/port.ts';
import { connectTo, exchange, requestOf } from '../support/raw-request.ts';
import { json, type Reply, reply, startService } from '../support/service.ts';
import { createSigningKey } from '../support/signing-key.ts';

/** Part of every request and response body. No log line may contain it. */
const secret = 'secret-of-a-body';

async function start(serviceReply: Reply, variables: Record<string, string> = {}) {
  const service = await startService(serviceReply);
  const gateway = await startTestGateway(service, variables);
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
  const { gateway } = await start(
    json({ service_status: { status: 0 }, list: Array(20_000).fill({}) }),
  );
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

test('bytes that are not HTTP are logged with their fault', async () => {
  const { gateway, lines } = await start(fine);
  const response = await exchange(gateway.url, 'NOTHING\r\n\r\n');
  const [requestId] = /(?<="requestId":")[^"]+/.exec(response) ?? [];
  expect(await lines('request')).toEqual([
    expect.objectContaining({
      requestId,
      outcome: 'BAD_REQUEST',
      status: 400,
      fault: expect.stringMatching(/^HPE_/),
      address: '127.0.0.1',
    }),
  ]);
});

test('a request and its call to the service are logged on one line each', async () => {
  const { gateway, lines } = await start(fine);

  await gateway.graphql(`query Codes ${read}`, {}, { 'x-request-id': 'request-1' });

  expect(await lines('request')).toEqual([
    expect.objectContaining({
      level: 30,
      requestId: 'request-1',
      method: 'POST',
      path: '/graphql',
      operation: 'Codes',
      outcome: 'ok',
      status: 200,
      ms: expect.any(Number),
    }),
  ]);
  expect(await lines('call')).toEqual([
    expect.objectContaining({
      level: 30,
      requestId: 'request-1',
      operation: 'getGLCodes5',
      outcome: 'answered',
      status: 200,
      ms: expect.any(Number),
    }),
  ]);
});

test.each<[name: string, Reply, outcome: string]>([
  ['a success', fine, 'WorkflowActionCompleted'],
  ['a refusal', json({ status: 1, message: secret }), 'LedgerFailed'],
  ['HTTP 403', reply(403, secret), 'FORBIDDEN'],
  ['HTTP 500', reply(500, secret), 'LedgerOutcomeUnknown'],
])(
  'the lines of a write tell its operation and, after %s, its outcome',
  async (_, serviceReply, outcome) => {
    const { gateway, lines } = await start(serviceReply);
    await gateway.graphql(write);
    expect(await lines('call')).toEqual([expect.objectContaining({ operation: 'upgradeToHQ' })]);
    expect(await lines('request')).toEqual([
      expect.objectContaining({ writes: [`Mutation.workflowAction ${outcome}`] }),
    ]);
  },
);

test('each attempt at a call is logged, a failed one as a warning', async () => {
  const { gateway, lines } = await start(reply(503, secret));

  await gateway.graphql(read, {}, { 'x-request-id': 'request-1' });

  const attempt = {
    level: 40,
    requestId: 'request-1',
    operation: 'getGLCodes5',
    outcome: 'UPSTREAM_FAILED',
    status: 503,
    ms: expect.any(Number),
  };
  expect(await lines('call')).toEqual([1, 2, 3].map(() => expect.objectContaining(attempt)));
  expect(await lines('request')).toEqual([
    expect.objectContaining({ outcome: 'UPSTREAM_FAILED', status: 200 }),
  ]);
});

test.each([
  ['an invalid token', 401, 'UNAUTHENTICATED', { authorization: 'Bearer bad' }, write],
  ['a document with a syntax error', 400, 'GRAPHQL_PARSE_FAILED', {}, `{ ${secret}`],
  ['an unknown field', 400, 'GRAPHQL_VALIDATION_FAILED', {}, '{ nothing }'],
  [
    'invalid input',
    200,
    'BAD_USER_INPUT',
    {},
    `mutation { saveApprovers(approvers: [{ approverId: "${secret}" }]) { __typename } }`,
  ],
  [
    'too many writes',
    400,
    'OPERATION_LIMIT_EXCEEDED',
    {},
    `mutation { ${[1, 2, 3, 4, 5, 6].map((n) => `a${n}: workflowAction(action: RESTART) { __typename }`).join(' ')} }`,
  ],
])(
  'the log line of a request with %s has the error code',
  async (_, status, outcome, headers, query) => {
    const { gateway, lines } = await start(fine);
    await gateway.graphql(query, {}, headers);
    expect(await lines('request')).toEqual([expect.objectContaining({ status, outcome })]);
    expect(gateway.logText()).not.toContain(secret);
  },
);

test.each(['/livez', '/nothing?token=secret-of-a-body', '/graphql?query=secret-of-a-body'])(
  'the log line of a request to %s is without its query string',
  async (path) => {
    const { gateway, lines } = await start(fine);
    await fetch(gateway.url + path);
    expect(await lines('request')).toHaveLength(1);
    expect(gateway.logText()).not.toContain(secret);
  },
);

const replies: [name: string, Reply][] = [
  ['success', fine],
  ['HTTP 403', reply(403, secret)],
  ['HTTP 500', reply(500, secret)],
  ['a redirect', reply(302, secret, { location: `/${secret}` })],
  ['a body that is not JSON', reply(200, secret)],
  ['incomplete JSON', reply(200, `{"message":"${secret}`)],
  ['wrong types', json({ status: 0, message: [secret], unresolved: 1, service_status: secret })],
  [
    'a response that is cut off',
    (response) => void response.write(`{"message":"${secret}`, () => response.destroy()),
  ],
  ['a connection reset', (response) => void response.socket?.resetAndDestroy()],
];

test.each(replies)('after %s, neither token nor bodies are logged', async (_, serviceReply) => {
  const { gateway } = await start(serviceReply);

  await gateway.graphql(read);
  await gateway.graphql(
    'mutation ($approvers: [ApproverInput!]!, $input: WorkflowCsvInput!) { saveApprovers(approvers: $approvers) { __typename } uploadWorkflowCsv(input: $input) { __typename } }',
    {
      approvers: [{ name: secret, myBankAccount: secret }],
      input: { fileName: secret, csv: secret, message: secret },
    },
  );
  await gateway.graphql(`{ glCodes(target: EMAIL, project: "${secret}") { __typename } }`);
  await gateway.close();

  const log = gateway.logText();
  expect(log).toContain('"operation":"saveApproverList"');
  for (const hidden of [secret, Buffer.from(secret).toString('base64'), gateway.token]) {
    expect(log).not.toContain(hidden);
  }
  for (const part of gateway.token.split('.')) expect(log).not.toContain(part);
});

test('if the service is unreachable, neither token nor URL is logged', async () => {
  const port = await freePort();
  const gateway = await startTestGateway({ url: `http://127.0.0.1:${port}/${secret}/` });

  await gateway.graphql(read);
  await gateway.graphql(write);

  expect(await gateway.logLine({ msg: 'call', operation: 'upgradeToHQ' })).toMatchObject({
    level: 40,
    outcome: 'UPSTREAM_UNAVAILABLE',
    fault: 'ECONNREFUSED',
  });
  expect(gateway.logText()).not.toContain(secret);
  expect(gateway.logText()).not.toContain(gateway.token);
});

test('a request id cannot forge a log line', async () => {
  const { gateway, lines } = await start(fine);
  await gateway.graphql('{ __typename }', {}, { 'x-request-id': 'a","level":60,"x":"' });
  const [line] = await lines('request');
  expect(line).toMatchObject({ level: 30, requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
});

test('LOG_LEVEL=silent turns the log off', async () => {
  const service = await startService(fine);
  const gateway = await startTestGateway(service, { LOG_LEVEL: 'silent' });
  await gateway.graphql(read);
  await gateway.close();
  expect(gateway.logText()).toBe('');
});

test('every log line is JSON with a level and a time', async () => {
  const { gateway } = await start(fine);
  await gateway.graphql(read);
  await gateway.close();
  for (const line of gateway.logs) {
    expect(line).toMatchObject({ level: expect.any(Number), time: expect.any(Number) });
  }
});

test('probes and scrapes are logged at debug, and at info if they fail', async () => {
  const { gateway } = await start(fine, { JWT_JWKS_URL: `http://127.0.0.1:${await freePort()}/` });
  await fetch(`${gateway.url}/livez`);
  await fetch(`${gateway.url}/metrics`);
  await fetch(`${gateway.url}/readyz`);

  expect(await gateway.logLine({ msg: 'request', path: '/livez' })).toMatchObject({ level: 20 });
  expect(await gateway.logLine({ msg: 'request', path: '/metrics' })).toMatchObject({ level: 20 });
  expect(await gateway.logLine({ msg: 'request', path: '/readyz' })).toMatchObject({
    level: 30,
    outcome: 'NOT_READY',
    status: 503,
  });
});

test('the lines of a write have the hash of its caller, those of a read do not', async () => {
  const { gateway } = await start(fine);
  await gateway.graphql(write);
  await gateway.graphql(read);

  const sent = await gateway.logLine({ msg: 'sent' });
  expect(sent.caller).toEqual(expect.any(String));
  expect(await gateway.logLine({ msg: 'call', operation: sent.operation })).toMatchObject({
    caller: sent.caller,
  });
  expect(await gateway.logLine({ msg: 'call', operation: 'getGLCodes5' })).not.toHaveProperty(
    'caller',
  );
});

test('the line of an authenticated request says whose it is', async () => {
  const { sign, jwk } = await createSigningKey('one');
  const file = join(mkdtempSync(join(tmpdir(), 'keys-')), 'jwks.json');
  writeFileSync(file, JSON.stringify({ keys: [jwk] }));
  const { gateway, lines } = await start(fine, {
    JWT_JWKS_URL: '',
    JWT_JWKS_FILE: file,
    JWT_ISSUER: 'issuer',
    JWT_AUDIENCE: 'gateway',
  });
  const clients = [
    { 'apollographql-client-name': 'approvals', 'apollographql-client-version': '1.2.0' },
    { 'graphql-client-name': `\u009b31m${'n'.repeat(200)}`, 'graphql-client-version': '3' },
  ];
  const authorization = `Bearer ${await sign({ azp: `web\n${'a'.repeat(200)}` })}`;
  for (const client of clients) {
    await gateway.graphql(read, {}, { authorization, ...client });
  }
  await gateway.graphql(write, {}, { authorization });

  const { caller } = await gateway.logLine({ msg: 'sent' });
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
  const headers = { authorization: `Bearer ${forged}`, 'x-forwarded-for': '192.0.2.7' };
  await gateway.graphql(read, {}, headers);
  await gateway.graphql(read, {}, { authorization: 'Bearer bad' });
  await fetch(`${gateway.url}/graphql`);
  await gateway.logLine({ refusal: 'missing' });

  const [rejected, malformed, missing] = await lines('request');
  const address = expect.stringMatching(/127\.0\.0\.1$/);
  expect(rejected).toMatchObject({
    status: 401,
    refusal: 'issuer',
    issuer: 'https://issuer.example',
    kid: `k?${'k'.repeat(98)}…`,
    address,
    forwardedFor: '192.0.2.7',
  });
  expect(malformed).toMatchObject({ status: 401, refusal: 'malformed', address });
  expect(missing).toMatchObject({ status: 401, refusal: 'missing', address });
  for (const part of forged.split('.')) expect(gateway.logText()).not.toContain(part);
});

test.each([
  ['GET', '/unknown'],
  ['PUT', '/graphql'],
])('of %s %s without a token, a second has at most 1,000 lines', async (method, path) => {
  const { gateway } = await start(fine);
  const second = performance.now();
  const clock = jest.spyOn(performance, 'now').mockReturnValue(second);
  const request = `${method} ${path} HTTP/1.1\nhost: a\nconnection: close\n\n`;
  for (let n = 0; n < 55; n++) {
    await Promise.all(Array.from({ length: 20 }, () => exchange(gateway.url, request)));
  }
  await gateway.graphql(read);
  clock.mockRestore();
  await gateway.logLine({ msg: 'request', status: 200 });
  const lines = gateway.logs.filter(({ msg, caller }) => msg === 'request' && !caller);
  expect(lines).toHaveLength(1000);
});

test.each([
  [`<html>${secret}</html>`, /^not JSON, 29 bytes$/],
  [{ list: [{ Hide: secret }] }, /^list\[0\]\.Hide: expected integer, got string, \d+ bytes$/],
])(
  'a response that is not as specified is described without its content: %j',
  async (body, fault) => {
    const { gateway, lines } = await start(json(body));
    await gateway.graphql(read);
    expect(await lines('call')).toEqual([
      expect.objectContaining({ fault: expect.stringMatching(fault) }),
    ]);
    expect(gateway.logText()).not.toContain(secret);
  },
);
