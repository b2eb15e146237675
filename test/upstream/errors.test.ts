import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import {
  json,
  type Reply,
  read,
  reply,
  startService,
  startTcp,
  startTestGateway,
  write,
  writes,
} from '../helper.ts';

/** What stands in the bodies of the service's errors and must not reach a caller. */
const inside = 'inside-of-the-service';
const fine = { service_status: { status: 0 }, list: [], status: 0 };

type Case = [answer: string, Reply, code: string, retryable: boolean];

/** Answers which say that the service did nothing: a write gets the same error as a read. */
const refusals: Case[] = [
  ['400', reply(400, inside), 'UPSTREAM_BAD_REQUEST', false],
  ['401', reply(401, inside, { 'www-authenticate': 'Bearer' }), 'UNAUTHENTICATED', false],
  ['403', reply(403, inside), 'FORBIDDEN', false],
  ['404', reply(404, inside), 'UPSTREAM_BAD_REQUEST', false],
  ['409', reply(409, inside), 'UPSTREAM_BAD_REQUEST', false],
  ['429', reply(429, inside), 'UPSTREAM_BAD_REQUEST', true],
];

/** Answers from which nobody knows what the service did. */
const lost: Case[] = [
  ['500', reply(500, inside), 'UPSTREAM_FAILED', true],
  ['501', reply(501, inside), 'UPSTREAM_FAILED', true],
  ['502', reply(502, inside), 'UPSTREAM_FAILED', true],
  ['503', reply(503, inside), 'UPSTREAM_FAILED', true],
  ['504', reply(504, inside), 'UPSTREAM_FAILED', true],
  ...[301, 302, 303, 307, 308].map(
    (status): Case => [
      `${status}`,
      reply(status, inside, { location: '/elsewhere' }),
      'UPSTREAM_INVALID_RESPONSE',
      false,
    ],
  ),
  ['304', reply(304), 'UPSTREAM_INVALID_RESPONSE', false],
  ['204', reply(204), 'UPSTREAM_INVALID_RESPONSE', false],
  ...Object.entries({
    'an empty body': '',
    HTML: `<!doctype html><title>${inside}</title>`,
    'half of a JSON text': '{"service_status": {"sta',
    'JSON and more': `${JSON.stringify(fine)} ${inside}`,
    'a JSON null': 'null',
    'a JSON array': '[]',
    'a JSON text': `"${inside}"`,
    'a message that is no text': `{"message":1,"service_status":{"message":1}}`,
    'a message that is a large number': `{"status":0,"message":9007199254740993,"service_status":{"status":0,"message":9007199254740993}}`,
    'an invoice_id that is no integer': `{"status":0,"invoice_id":1.5,"service_status":{"status":0,"invoice_id":1.5}}`,
    'an invoice_id that is text': `{"status":0,"invoice_id":"${inside}","service_status":{"status":0,"invoice_id":"${inside}"}}`,
  }).map(([name, body]): Case => [name, reply(200, body), 'UPSTREAM_INVALID_RESPONSE', false]),
  [
    'bytes that are no UTF-8',
    (response) => void response.end(Buffer.from('7b22ff223a307d', 'hex')),
    'UPSTREAM_INVALID_RESPONSE',
    false,
  ],
  [
    'a body over the limit',
    json({ ...fine, message: inside.repeat(500) }),
    'UPSTREAM_INVALID_RESPONSE',
    false,
  ],
  [
    'a compressed body over the limit',
    (response) =>
      void response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify({ ...fine, message: ' '.repeat(10_000) }))),
    'UPSTREAM_INVALID_RESPONSE',
    false,
  ],
  [
    'a compressed body that is none',
    reply(200, inside, { 'content-encoding': 'gzip' }),
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
    'chunks without an end',
    (response) => void response.write('{"status":0}', () => response.destroy()),
    'UPSTREAM_INVALID_RESPONSE',
    true,
  ],
];

async function start(reaction: Reply) {
  const service = await startService(reaction);
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_RESPONSE_BYTES: '5000' });
  /** Fails where an answer tells anything of the inside. */
  const expectNoLeak = (answer: string) => {
    for (const secret of [inside, gateway.token, new URL(service.url).host, 'getGLCodes5', 'at /'])
      expect(answer).not.toContain(secret);
  };
  return { service, gateway, expectNoLeak };
}

test.each([...refusals, ...lost])(
  'a read answered with %s',
  async (_, reaction, code, retryable) => {
    const { gateway, expectNoLeak } = await start(reaction);

    const { status, data, errors, text } = await gateway.graphql(
      read,
      {},
      { 'x-request-id': 'request-1' },
    );

    expect(status).toBe(200);
    expect(data).toEqual({ result: null });
    expect(errors).toEqual([
      expect.objectContaining({
        path: ['result'],
        extensions: { code, requestId: 'request-1', retryable },
      }),
    ]);
    expectNoLeak(text);
    expectNoLeak(gateway.logText().replaceAll('getGLCodes5', ''));
  },
);

test.each(refusals)('a write answered with %s', async (_, reaction, code, retryable) => {
  const { service, gateway, expectNoLeak } = await start(reaction);

  const { status, data, errors, text } = await gateway.graphql(
    write,
    {},
    { 'x-request-id': 'request-1' },
  );

  expect(status).toBe(200);
  expect(data).toEqual({ result: null });
  expect(errors).toEqual([
    expect.objectContaining({
      path: ['result'],
      extensions: { code, requestId: 'request-1', retryable },
    }),
  ]);
  expectNoLeak(text);
  expect(service.received).toHaveLength(1);
});

test.each(lost)('a write answered with %s', async (_, reaction, code) => {
  const { service, gateway, expectNoLeak } = await start(reaction);

  const { status, data, errors, text } = await gateway.graphql(write);

  expect(status).toBe(200);
  expect(errors).toBeUndefined();
  expect(data.result).toEqual({
    __typename: 'LedgerOutcomeUnknown',
    code,
    message: expect.stringMatching(/may or may not have taken effect/),
  });
  expectNoLeak(text);
  expect(service.received).toHaveLength(1);
});

test.each(Object.keys(writes))('%s tells that its outcome is unknown', async (operation) => {
  const { gateway } = await start(reply(500));
  const { data } = await gateway.graphql(`mutation { result: ${writes[operation]} }`);
  expect(data.result).toMatchObject({
    __typename: 'LedgerOutcomeUnknown',
    code: 'UPSTREAM_FAILED',
  });
});

test.each([
  ['a list that is none', '{"service_status":{"status":0},"list":{}}'],
  ['a code that is no object', '{"service_status":{"status":0},"list":[null]}'],
  ['a Code that is a number', '{"service_status":{"status":0},"list":[{"Code":4010}]}'],
  ['a Hide that is text', '{"service_status":{"status":0},"list":[{"Hide":"1"}]}'],
  ['a Hide that is no integer', '{"service_status":{"status":0},"list":[{"Hide":0.5}]}'],
  ['a Hide beyond 32 bits', '{"service_status":{"status":0},"list":[{"Hide":2147483648}]}'],
  ['a status record that is none', '{"service_status":0,"list":[]}'],
])('GL codes with %s are no answer', async (_, body) => {
  const { gateway } = await start(json(body));
  const { data, errors } = await gateway.graphql(read);
  expect(data).toEqual({ result: null });
  expect(errors?.[0]?.extensions.code).toBe('UPSTREAM_INVALID_RESPONSE');
});

test.each([
  ['unresolved that is no text', '{"unresolved":["row 2"]}'],
  ['unresolved that is a large number', '{"unresolved":9007199254740993}'],
])('an upload answered with %s has an unknown outcome', async (_, body) => {
  const { gateway } = await start(json(body));
  const { data } = await gateway.graphql(`mutation { result: ${writes.updateWorkflowCSV} }`);
  expect(data.result).toMatchObject({
    __typename: 'LedgerOutcomeUnknown',
    code: 'UPSTREAM_INVALID_RESPONSE',
  });
});

test.each([read, write])('garbage instead of HTTP cannot be read: %s', async (operation) => {
  const service = await startTcp((socket) =>
    socket.once('data', () => socket.end(`${inside}\n\n`)),
  );
  const gateway = await startTestGateway(service);

  const { data, errors, text } = await gateway.graphql(operation);

  expect(errors?.[0]?.extensions.code ?? data.result.code).toBe('UPSTREAM_INVALID_RESPONSE');
  expect(data.result?.__typename).toBe(operation === write ? 'LedgerOutcomeUnknown' : undefined);
  expect(text).not.toContain(inside);
  expect(service.sockets).toHaveLength(1);
});

test.each([301, 302, 303, 307, 308])('a redirect with %d is followed nowhere', async (status) => {
  const elsewhere = await startService(json(fine));
  const service = await startService(reply(status, '', { location: elsewhere.url }));
  const gateway = await startTestGateway(service);

  await gateway.graphql(read);
  await gateway.graphql(write);
  await gateway.graphql(`mutation { ${writes.saveApproverList} }`);

  expect(service.received).toHaveLength(3);
  expect(elsewhere.received).toEqual([]);
});

test('a field that fails takes nothing from its neighbours', async () => {
  const { gateway } = await start((response, received) =>
    received.url.includes('bad') ? reply(500)(response, received) : json(fine)(response, received),
  );
  const codes = (project: string) =>
    `${project}: glCodes(target: EMAIL, project: "${project}") { __typename }`;

  const { data, errors } = await gateway.graphql(`{ ${codes('good')} ${codes('bad')} }`);

  expect(data).toEqual({ good: { __typename: 'GlCodeList' }, bad: null });
  expect(errors?.map(({ path }) => path)).toEqual([['bad']]);
});

test('a write that is refused takes nothing from its neighbours', async () => {
  const { service, gateway } = await start((response, received) =>
    received.url === '/restartWorkflow2'
      ? reply(403)(response, received)
      : json(fine)(response, received),
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

test('a body at the limit is read, one byte more is not', async () => {
  const body = JSON.stringify({ ...fine, message: 'x' }).padEnd(5000);
  const { gateway } = await start(
    (response, { url }) => void response.end(url === '/upgradeToHQ' ? body : `${body} `),
  );

  const { data } = await gateway.graphql(
    `mutation { a: ${writes.upgradeToHQ} b: ${writes.restartWorkflow2} }`,
  );

  expect(data.a.__typename).toBe('WorkflowActionCompleted');
  expect(data.b.code).toBe('UPSTREAM_INVALID_RESPONSE');
});

test('a compressed answer is read', async () => {
  const { gateway } = await start(
    (response) =>
      void response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify({ ...fine, list: [{ Code: '4010' }] }))),
  );
  const { data } = await gateway.graphql(read);
  expect(data.result.codes).toEqual([{ code: '4010' }]);
});

test('an endless body is given up at the limit', async () => {
  const { gateway } = await start((response) => {
    const more = () => void (response.destroyed || response.write(' '.repeat(1000), more));
    more();
  });
  const { errors } = await gateway.graphql(read);
  expect(errors?.[0]?.extensions.code).toBe('UPSTREAM_INVALID_RESPONSE');
});
