import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { read, write, writes } from '../support/graphql-operation.ts';
import { json, type Reply, reply, startService } from '../support/service.ts';
import { startTcp } from '../support/tcp-server.ts';

/** Text in the error bodies of the service, which must not reach a client. */
const internal = 'internal-to-the-service';
const success = { service_status: { status: 0 }, list: [], status: 0 };

type Case = [response: string, Reply, code: string, retryable: boolean];

/** Responses by which the service refuses an operation: a write gets the same error as a read. */
const refusals: Case[] = [
  ['400', reply(400, internal), 'UPSTREAM_BAD_REQUEST', false],
  ['401', reply(401, internal, { 'www-authenticate': 'Bearer' }), 'UNAUTHENTICATED', false],
  ['403', reply(403, internal), 'FORBIDDEN', false],
  ['404', reply(404, internal), 'UPSTREAM_BAD_REQUEST', false],
  ['409', reply(409, internal), 'UPSTREAM_BAD_REQUEST', false],
  ['451', reply(451, internal), 'UPSTREAM_BAD_REQUEST', false],
  ['429', reply(429, internal), 'UPSTREAM_BAD_REQUEST', true],
];

/** Responses after which the outcome of a write is unknown. */
const unusable: Case[] = [
  ...[408, 418, 460, 499].map(
    (status): Case => [`${status}`, reply(status, internal), 'UPSTREAM_FAILED', true],
  ),
  ['500', reply(500, internal), 'UPSTREAM_FAILED', true],
  ['501', reply(501, internal), 'UPSTREAM_FAILED', true],
  ['502', reply(502, internal), 'UPSTREAM_FAILED', true],
  ['503', reply(503, internal), 'UPSTREAM_FAILED', true],
  ['504', reply(504, internal), 'UPSTREAM_FAILED', true],
  ...[301, 302, 303, 307, 308].map(
    (status): Case => [
      `${status}`,
      reply(status, internal, { location: '/elsewhere' }),
      'UPSTREAM_INVALID_RESPONSE',
      false,
    ],
  ),
  ['304', reply(304), 'UPSTREAM_INVALID_RESPONSE', false],
  ['204', reply(204), 'UPSTREAM_INVALID_RESPONSE', false],
  ...Object.entries({
    'an empty body': '',
    HTML: `<!doctype html><title>${internal}</title>`,
    'half of a JSON object': '{"service_status": {"sta',
    'JSON followed by other text': `${JSON.stringify(success)} ${internal}`,
    'the JSON value null': 'null',
    'a JSON array': '[]',
    'a JSON string': `"${internal}"`,
    'a message that is not text': `{"message":1,"service_status":{"message":1}}`,
    'a message that is a large number': `{"status":0,"message":9007199254740993,"service_status":{"status":0,"message":9007199254740993}}`,
    'an invoice_id that is not an integer': `{"status":0,"invoice_id":1.5,"service_status":{"status":0,"invoice_id":1.5}}`,
    'an invoice_id that is text': `{"status":0,"invoice_id":"${internal}","service_status":{"status":0,"invoice_id":"${internal}"}}`,
  }).map(([name, body]): Case => [name, reply(200, body), 'UPSTREAM_INVALID_RESPONSE', false]),
  [
    'invalid UTF-8',
    (response) => void response.end(Buffer.from('7b22ff223a307d', 'hex')),
    'UPSTREAM_INVALID_RESPONSE',
    false,
  ],
  [
    'a body over the limit',
    json({ ...success, message: internal.repeat(500) }),
    'UPSTREAM_INVALID_RESPONSE',
    false,
  ],
  [
    'a compressed body over the limit',
    (response) =>
      void response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify({ ...success, message: ' '.repeat(10_000) }))),
    'UPSTREAM_INVALID_RESPONSE',
    false,
  ],
  [
    'a body that is not compressed as announced',
    reply(200, internal, { 'content-encoding': 'gzip' }),
    'UPSTREAM_INVALID_RESPONSE',
    false,
  ],
  [
    'a body shorter than its content-length',
    (response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('{"status":0', () => response.destroy());
    },
    'UPSTREAM_INVALID_RESPONSE',
    true,
  ],
  [
    'chunks that break off',
    (response) => void response.write('{"status":0}', () => response.destroy()),
    'UPSTREAM_INVALID_RESPONSE',
    true,
  ],
];

async function start(reaction: Reply) {
  const service = await startService(reaction);
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_RESPONSE_BYTES: '5000' });
  /** Fails if a text contains internal details or the token. */
  const expectNoLeak = (text: string) => {
    for (const secret of [
      internal,
      gateway.token,
      new URL(service.url).host,
      'getGLCodes5',
      'at /',
    ])
      expect(text).not.toContain(secret);
  };
  return { service, gateway, expectNoLeak };
}

/** Sends a GraphQL operation whose only field fails with this error, and returns the response. */
async function expectError(
  gateway: Awaited<ReturnType<typeof startTestGateway>>,
  query: string,
  error: { code: string; retryable: boolean },
): Promise<string> {
  const headers = { 'x-request-id': 'request-1' };
  const { status, data, errors, text } = await gateway.graphql(query, {}, headers);
  expect(status).toBe(200);
  expect(data).toEqual({ result: null });
  expect(errors).toEqual([
    expect.objectContaining({
      path: ['result'],
      extensions: { ...error, requestId: 'request-1' },
    }),
  ]);
  return text;
}

test.each([...refusals, ...unusable])(
  'the error of a read whose response is %s',
  async (_, reaction, code, retryable) => {
    const { gateway, expectNoLeak } = await start(reaction);
    expectNoLeak(await expectError(gateway, read, { code, retryable }));
    // The settings at the start have the service's address.
    const lines = gateway
      .logText()
      .split('\n')
      .filter((line) => !line.includes('"msg":"starting"'));
    expectNoLeak(lines.join('\n').replaceAll('getGLCodes5', ''));
  },
);

test.each(refusals)(
  'the error of a write whose response is %s',
  async (_, reaction, code, retryable) => {
    const { service, gateway, expectNoLeak } = await start(reaction);
    expectNoLeak(await expectError(gateway, write, { code, retryable }));
    expect(service.received).toHaveLength(1);
  },
);

test.each(unusable)(
  'the outcome of a write is unknown if the response is %s',
  async (_, reaction, code) => {
    const { service, gateway, expectNoLeak } = await start(reaction);

    const { status, data, errors, text } = await gateway.graphql(write);

    expect(status).toBe(200);
    expect(errors).toBeUndefined();
    expect(data.result).toEqual({
      __typename: 'LedgerOutcomeUnknown',
      code,
      message: expect.stringMatching(/may or may not have taken effect/),
      requestId: expect.any(String),
    });
    expectNoLeak(text);
    expect(service.received).toHaveLength(1);
  },
);

test.each(Object.keys(writes))('%s reports that its outcome is unknown', async (operation) => {
  const { gateway } = await start(reply(500));
  const { data } = await gateway.graphql(`mutation { result: ${writes[operation]} }`);
  expect(data.result).toMatchObject({
    __typename: 'LedgerOutcomeUnknown',
    code: 'UPSTREAM_FAILED',
  });
});

test.each([
  ['a list that is not an array', '{"service_status":{"status":0},"list":{}}'],
  ['a code that is not an object', '{"service_status":{"status":0},"list":[null]}'],
  ['a Code that is a number', '{"service_status":{"status":0},"list":[{"Code":4010}]}'],
  ['a Hide that is text', '{"service_status":{"status":0},"list":[{"Hide":"1"}]}'],
  ['a Hide that is not an integer', '{"service_status":{"status":0},"list":[{"Hide":0.5}]}'],
  ['a Hide beyond 32 bits', '{"service_status":{"status":0},"list":[{"Hide":2147483648}]}'],
  ['a status record that is not an object', '{"service_status":0,"list":[]}'],
])('GL codes with %s are an invalid response', async (_, body) => {
  const { gateway } = await start(json(body));
  const { data, errors } = await gateway.graphql(read);
  expect(data).toEqual({ result: null });
  expect(errors?.[0]?.extensions.code).toBe('UPSTREAM_INVALID_RESPONSE');
});

test.each([
  ['unresolved that is not text', '{"unresolved":["row 2"]}'],
  ['unresolved that is a large number', '{"unresolved":9007199254740993}'],
])('the outcome of an upload is unknown if the response has %s', async (_, body) => {
  const { gateway } = await start(json(body));
  const { data } = await gateway.graphql(`mutation { result: ${writes.updateWorkflowCSV} }`);
  expect(data.result).toMatchObject({
    __typename: 'LedgerOutcomeUnknown',
    code: 'UPSTREAM_INVALID_RESPONSE',
  });
});

test.each([read, write])(
  'bytes that are not HTTP are an invalid response to %s',
  async (operation) => {
    const service = await startTcp((socket) =>
      socket.once('data', () => socket.end(`${internal}\n\n`)),
    );
    const gateway = await startTestGateway(service);

    const { data, errors, text } = await gateway.graphql(operation);

    expect(errors?.[0]?.extensions.code ?? data.result.code).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(data.result?.__typename).toBe(operation === write ? 'LedgerOutcomeUnknown' : undefined);
    expect(text).not.toContain(internal);
    expect(service.sockets).toHaveLength(1);
  },
);

test.each([301, 302, 303, 307, 308])(
  'a redirect with status %d is not followed',
  async (status) => {
    const target = await startService(json(success));
    const service = await startService(reply(status, '', { location: target.url }));
    const gateway = await startTestGateway(service);

    await gateway.graphql(read);
    await gateway.graphql(write);
    await gateway.graphql(`mutation { ${writes.saveApproverList} }`);

    expect(service.received).toHaveLength(3);
    expect(target.received).toEqual([]);
  },
);

test('a read that fails does not affect other fields', async () => {
  const { gateway } = await start((response, received) =>
    received.url.includes('bad')
      ? reply(500)(response, received)
      : json(success)(response, received),
  );
  const codes = (project: string) =>
    `${project}: glCodes(target: EMAIL, project: "${project}") { __typename }`;

  const { data, errors } = await gateway.graphql(`{ ${codes('good')} ${codes('bad')} }`);

  expect(data).toEqual({ good: { __typename: 'GlCodeList' }, bad: null });
  expect(errors?.map(({ path }) => path)).toEqual([['bad']]);
});

test('a write that is refused does not affect other fields', async () => {
  const { service, gateway } = await start((response, received) =>
    received.url === '/restartWorkflow2'
      ? reply(403)(response, received)
      : json(success)(response, received),
  );

  const { data, errors } = await gateway.graphql(
    `mutation { a: ${writes.upgradeToHQ} b: ${writes.restartWorkflow2} c: ${writes.upgradeToHQ} }`,
  );

  expect(data).toMatchObject({
    a: { __typename: 'WorkflowActionCompleted' },
    b: null,
    c: { __typename: 'WorkflowActionCompleted' },
  });
  expect(errors?.map(({ path }) => path)).toEqual([['b']]);
  expect(service.received).toHaveLength(3);
});

test('a body of the maximum size is accepted, and one byte more is not', async () => {
  const body = JSON.stringify({ ...success, message: 'x' }).padEnd(5000);
  const { gateway } = await start(
    (response, { url }) => void response.end(url === '/upgradeToHQ' ? body : `${body} `),
  );

  const { data } = await gateway.graphql(
    `mutation { a: ${writes.upgradeToHQ} b: ${writes.restartWorkflow2} }`,
  );

  expect(data.a.__typename).toBe('WorkflowActionCompleted');
  expect(data.b.code).toBe('UPSTREAM_INVALID_RESPONSE');
});

test('a compressed response is decoded', async () => {
  const { gateway } = await start(
    (response) =>
      void response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify({ ...success, list: [{ Code: '4010' }] }))),
  );
  const { data } = await gateway.graphql(read);
  expect(data.result.codes).toEqual([{ code: '4010' }]);
});

test('an endless body is cut at the limit', async () => {
  const { gateway } = await start((response) => {
    const send = () => void (response.destroyed || response.write(' '.repeat(1000), send));
    send();
  });
  const { errors } = await gateway.graphql(read);
  expect(errors?.[0]?.extensions.code).toBe('UPSTREAM_INVALID_RESPONSE');
});
