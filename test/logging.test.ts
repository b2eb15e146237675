import { expect, test } from '@jest/globals';
import {
  closedPort,
  json,
  type LogLine,
  type Reply,
  read,
  reply,
  startService,
  startTestGateway,
  write,
} from './helper.ts';

/** Stands in every body, of callers and of the service; no log line may hold it. */
const secret = 'words-of-a-body';

async function start(reaction: Reply, variables: Record<string, string> = {}) {
  const service = await startService(reaction);
  const gateway = await startTestGateway(service, variables);
  /** The lines of one kind, once the request has its own. */
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

test('a request and its call are one line each', async () => {
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

test('a write is logged by its operation', async () => {
  const { gateway, lines } = await start(fine);
  await gateway.graphql(write);
  expect(await lines('call')).toEqual([
    expect.objectContaining({ operation: 'upgradeToHQ', outcome: 'answered', status: 200 }),
  ]);
});

test('each attempt at a call is a line, a warning where it failed', async () => {
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
  ['a bad token', 401, 'UNAUTHENTICATED', { authorization: 'Bearer bad' }, write],
  ['a document that is none', 400, 'GRAPHQL_PARSE_FAILED', {}, `{ ${secret}`],
  ['a field that is none', 400, 'GRAPHQL_VALIDATION_FAILED', {}, '{ nothing }'],
  [
    'bad input',
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
])('%s is told by its code', async (_, status, outcome, headers, query) => {
  const { gateway, lines } = await start(fine);
  await gateway.graphql(query, {}, headers);
  expect(await lines('request')).toEqual([expect.objectContaining({ status, outcome })]);
  expect(gateway.logText()).not.toContain(secret);
});

test.each(['/livez', '/nothing?token=words-of-a-body', '/graphql?query=words-of-a-body'])(
  'a request of %s is a line without its query',
  async (path) => {
    const { gateway, lines } = await start(fine);
    await fetch(gateway.url + path);
    expect(await lines('request')).toHaveLength(1);
    expect(gateway.logText()).not.toContain(secret);
  },
);

const faults: [name: string, Reply][] = [
  ['success', fine],
  ['a refusal', reply(403, secret)],
  ['a failure', reply(500, secret)],
  ['a redirect', reply(302, secret, { location: `/${secret}` })],
  ['no JSON', reply(200, secret)],
  ['half a JSON text', reply(200, `{"message":"${secret}`)],
  ['wrong types', json({ status: 0, message: [secret], unresolved: 1, service_status: secret })],
  ['a cut', (response) => void response.write(`{"message":"${secret}`, () => response.destroy())],
  ['a reset', (response) => void response.socket?.resetAndDestroy()],
];

test.each(faults)('neither token nor bodies are logged under %s', async (_, reaction) => {
  const { gateway } = await start(reaction);

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

test('neither token nor address is logged when the service cannot be reached', async () => {
  const port = await closedPort();
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

test('a request id cannot forge a line', async () => {
  const { gateway, lines } = await start(fine);
  await gateway.graphql('{ __typename }', {}, { 'x-request-id': 'a","level":60,"x":"' });
  const [line] = await lines('request');
  expect(line).toMatchObject({ level: 30, requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
});

test('LOG_LEVEL decides what is logged', async () => {
  const service = await startService(fine);
  const gateway = await startTestGateway(service, { LOG_LEVEL: 'silent' });
  await gateway.graphql(read);
  await gateway.close();
  expect(gateway.logText()).toBe('');
});

test('every line is JSON with a level and a time', async () => {
  const { gateway } = await start(fine);
  await gateway.graphql(read);
  await gateway.close();
  for (const line of gateway.logs) {
    expect(line).toMatchObject({ level: expect.any(Number), time: expect.any(Number) });
  }
});
