import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Documents } from '../../src/graphql/documents.ts';
import { eventually } from '../../testkit/eventually.ts';
import { startGatewayProcess } from '../../testkit/gateway-process.ts';
import { read } from '../../testkit/graphql-operation.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { json, type Reply, reply, startService } from '../../testkit/service.ts';
import { startCollector } from '../support/collector.ts';
import { exchange } from '../support/raw-request.ts';
import { schema } from '../support/schema.ts';
import { shareGateway } from '../support/shared-gateway.ts';

/** Part of all that the service sends. */
const serviceCanary = 'canary-of-the-service';
/** Part of all that the client sends. */
const clientCanary = 'canary-of-the-client';
const clientName = 'canary_of_the_client';
/** Part of the decoded token. */
const claimCanary = 'canary-of-the-claims';

const headers = {
  'content-type': `text/${serviceCanary}`,
  'set-cookie': `a=${serviceCanary}`,
  'www-authenticate': `Bearer realm="${serviceCanary}"`,
  ...{ server: serviceCanary, 'x-request-id': serviceCanary, traceparent: serviceCanary },
};
const [message, unresolved] = [serviceCanary, serviceCanary];
const list = [{ Code: serviceCanary, Name: serviceCanary }];
const record = (status: unknown) =>
  json({ status, message, invoice_id: 1, unresolved, service_status: { status, message }, list });
const success = record(0);
const status = (code: number) => reply(code, `<h1>${serviceCanary}</h1>`, headers);
const raw =
  (bytes: string): Reply =>
  (response) =>
    void response.socket?.end(bytes);
const bytes =
  (body: Buffer, headers = {}): Reply =>
  (response) =>
    void response.writeHead(200, headers).end(body);
const begun = `{"message":"${serviceCanary}`;
const chunked = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${message}\r\n`;
const gzip = { 'content-encoding': 'gzip' };
const wrongTypes = { status: [message], message: [message], service_status: message };
const unknownFields = { [message]: 1, message: 1, service_status: { message: { [message]: 1 } } };

/** What the service sends, or does, instead of success. */
const faults: Record<string, Reply> = {
  ...Object.fromEntries([1, 2, 3, 7].map((n) => [`status ${n}`, record(n)])),
  'a status that is not a number': record(serviceCanary),
  ...Object.fromEntries([400, 401, 403, 404, 429, 500, 502].map((n) => [`HTTP ${n}`, status(n)])),
  'HTTP 503': reply(503, serviceCanary, { 'retry-after': serviceCanary }),
  'a reason phrase': raw(`HTTP/1.1 500 ${serviceCanary}\r\nContent-Length: 0\r\n\r\n`),
  'a response that is not HTTP': raw(`${serviceCanary}\r\n\r\n`),
  'an invalid header': raw(`HTTP/1.1 200 OK\r\n${serviceCanary}\r\n\r\n`),
  'an invalid chunk': raw(chunked),
  'a redirect': reply(302, serviceCanary, { location: `/${serviceCanary}` }),
  'text instead of JSON': reply(200, serviceCanary, headers),
  'incomplete JSON': reply(200, begun),
  'wrong types': json(wrongTypes),
  'unknown fields': json(unknownFields),
  'a body that is not UTF-8': bytes(Buffer.from(`"${serviceCanary}\xff"`, 'latin1')),
  'an invalid compression': reply(200, serviceCanary, gzip),
  'a body that is too large': bytes(gzipSync(`"${message.repeat(50_000)}"`), gzip),
  'a response that is cut off': (response) => {
    response.writeHead(200, { 'content-length': 1000 });
    response.write(begun, () => response.destroy());
  },
  'a connection reset': (response) => void response.socket?.resetAndDestroy(),
  'an incomplete response': (response) => void response.write(begun),
};

const codes =
  'query ($project: String!) { result: glCodes(target: EMAIL, project: $project) { __typename } }';
const upload =
  'mutation ($input: WorkflowCsvInput!) { result: uploadWorkflowCsv(input: $input) { __typename } }';
const save =
  'mutation ($approvers: [ApproverInput!]!) { result: saveApprovers(approvers: $approvers) { __typename } }';
const approverTexts = 'name email emailUpload description myBankAccount myEmail workflowName';
const approver = Object.fromEntries(approverTexts.split(' ').map((name) => [name, clientCanary]));
const file = { fileName: clientCanary, csv: `a;${clientCanary}`, message: clientCanary };

/** Starts a gateway in its own process, and collects everything that it sends and writes. */
async function start() {
  const collector = await startCollector();
  const keys = await startService(reply(500, serviceCanary, { 'x-a': serviceCanary }));
  const service = await startService(success);
  const gateway = await startGatewayProcess(service, {
    UPSTREAM_TIMEOUT_MS: '2500',
    UPSTREAM_MAX_RESPONSE_BYTES: '100000',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    JWT_JWKS_URL: `${keys.url}?${clientCanary}`,
  });
  const token = await (await testIssuer()).token({ sub: claimCanary });
  const authorization = `Bearer ${token}`;
  let responses = '';
  return {
    keys,
    service,
    gateway,
    token,
    authorization,
    async send(query: unknown, variables: unknown = {}, headers: Record<string, string> = {}) {
      const response = await gateway.post({ query, variables }, { authorization, ...headers });
      responses += `${response.text}\n${JSON.stringify([...response.headers])}\n`;
      const { data, errors } = JSON.parse(response.text);
      return errors?.[0]?.extensions.code ?? data?.result?.__typename;
    },
    /** Adds a response to another request. */
    async add(response: Promise<string>) {
      responses += `${await response}\n`;
    },
    /** The responses since the last call of this function. */
    responses() {
      const texts = responses;
      responses = '';
      return texts;
    },
    /** Stops the gateway, which exports the last traces, and returns what it wrote. None of it is empty. */
    async collected() {
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
      expect(await gateway.stop()).toBe(0);
      const traces = collector.bytes().toString('latin1');
      expect(traces).toContain('POST /graphql');
      return { metrics, log: gateway.output(), traces };
    },
  };
}

/** Starts such a gateway, which has the keys after the key server has failed. Nothing of its failure is quoted, then or later. */
async function startWithKeys() {
  const stack = await start();
  expect(await stack.send(read)).toBe('AUTH_UNAVAILABLE');
  expectNone({ responses: stack.responses() }, [...bodies, ...partsOf(stack.token)]);
  stack.keys.respondWith(json((await testIssuer()).jwks));
  await eventually(async () => expect(await stack.send(read)).toBe('GlCodeList'));
  stack.responses();
  return stack;
}

/** The text, and its encoded forms. */
function encodings(text: string): string[] {
  const base64 = [0, 1, 2].map((shift) => Buffer.from(' '.repeat(shift) + text).toString('base64'));
  // In base64, the first and last characters depend on the surrounding text.
  return [text, encodeURIComponent(text), ...base64.map((one) => one.slice(4, -4))];
}

/** The token, its parts, and the text in its payload. */
function partsOf(token: string): string[] {
  return [token, ...token.split('.'), claimCanary];
}

function expectNone(places: Record<string, string>, secrets: string[]) {
  for (const [place, text] of Object.entries(places)) {
    for (const secret of secrets) {
      const at = text.indexOf(secret);
      // With its context, for the message of a failed test.
      const found = at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 100);
      expect([place, found]).toEqual([place, '']);
    }
  }
}

const bodies = [...encodings(serviceCanary), ...encodings(clientCanary)];

test('a response has what was asked for, and an error quotes the client', async () => {
  const { token, send, responses, collected } = await startWithKeys();
  const whole = '__typename ... on LedgerStatus { message }';
  const ofList = `${whole} ... on GlCodeList { codes { code name project } }`;
  await send(codes.replace('__typename', ofList), { project: clientCanary });
  await send(upload.replace('__typename', whole), { input: file });
  await send(codes, { project: { [clientCanary]: clientCanary } });
  await send(save, { approvers: [{ claimLimit: clientCanary }] });
  await send(`{ ${clientName} }`);
  await send(`query { glCodes(target: EMAIL, project: ["${clientCanary}"]) { __typename } }`);
  const texts = responses();
  expect(texts).toContain(serviceCanary);
  expect(texts).toContain('BAD_USER_INPUT');
  expectNone(await collected(), [...bodies, clientName, ...partsOf(token)]);
});

test('neither the response to a rejected request nor what is logged contains any of it', async () => {
  const { gateway, token, authorization, send, add, responses, collected } = await startWithKeys();

  const aliases = Array.from({ length: 201 }, (_, n) => `a${n}: __typename`).join(' ');
  for (const [code, query, variables] of [
    ['BAD_USER_INPUT', save, { approvers: [{ ...approver, approverId: clientCanary }] }],
    ['BAD_USER_INPUT', upload, { input: { ...file, contentBase64: clientCanary } }],
    ['BAD_USER_INPUT', upload, { input: { fileName: 'a', contentBase64: clientCanary } }],
    ['BAD_USER_INPUT', upload, { input: { ...file, option: 1 } }],
    ['BAD_USER_INPUT', codes, { project: `${clientCanary}\ud800` }],
    ['OPERATION_LIMIT_EXCEEDED', `{ ${aliases} } #${clientCanary}`, {}],
  ]) {
    expect(await send(query, variables)).toBe(code);
  }

  const authorized = `Authorization: ${authorization}`;
  // Errors of HTTP and of Fastify.
  for (const [head, body = ''] of [
    [`GET /${clientCanary} HTTP/1.1`],
    [`GET /livez?access_token=${token} HTTP/1.1`],
    [`GET /%zz${clientCanary}?access_token=${token} HTTP/1.1`],
    [`DELETE /graphql?${clientCanary} HTTP/1.1`],
    [`POST /graphql HTTP/1.1\n${authorized}`, `{"query":"${clientCanary}`],
    [`POST /graphql HTTP/1.1\n${authorized}`, `["${clientCanary}"]`],
    [`POST /graphql HTTP/1.1\n${authorized}`, `"${clientCanary}"`],
    [`POST /graphql HTTP/1.1\n${authorized}${clientCanary}`],
    [`POST /graphql HTTP/1.1\n${authorized} ${clientCanary}`],
    [`POST /graphql HTTP/1.1\n${authorized}\n${authorized}`],
    [`POST /graphql HTTP/1.1\nX-Request-Id: ${clientCanary} ${token}`],
    [`POST /graphql HTTP/1.1\nTraceparent: ${token}\nTracestate: a=${clientCanary}`],
    [`GET /livez HTTP/1.1\n${authorized}\nX-A: ${clientCanary.repeat(1000)}`],
    [`GET /livez HTTP/1.1\n${authorized}\u0001`],
    [`${clientCanary} /livez HTTP/1.1\n${authorized}`],
  ]) {
    const rest = 'Host: a\nConnection: close\nContent-Type: application/json\nContent-Length';
    await add(exchange(gateway.url, `${head}\n${rest}: ${body.length}\n\n${body}`));
  }
  const wrongType = { authorization, 'content-type': `text/${clientCanary}` };
  await add(gateway.post(clientCanary, wrongType).then(({ text }) => text));

  const places = { responses: responses(), ...(await collected()) };
  expectNone(places, [...encodings(clientCanary), clientName, ...partsOf(token)]);
});

test('responses, logs, metrics and traces contain neither tokens nor bodies, whatever the service sends', async () => {
  const { service, token, send, responses, collected } = await startWithKeys();

  for (const [name, fault] of Object.entries(faults)) {
    service.respondWith(fault);
    const outcomes = await Promise.all([
      send(codes, { project: clientCanary }),
      send(upload, { input: file }),
      send(save, { approvers: [approver] }),
    ]);
    for (const done of ['GlCodeList', 'WorkflowCsvUploaded', 'ApproversSaved']) {
      expect([name, ...outcomes]).not.toContain(done);
    }
    service.respondWith(success);
    // Successful calls in between keep the circuit closed, and the budget of retries full.
    for (let times = 0; times < 2; times++) {
      expect([name, await send(codes, { project: 'north' })]).toEqual([name, 'GlCodeList']);
    }
  }
  // No connection, until the circuit opens.
  service.server.closeAllConnections();
  service.server.close();
  for (let times = 0; times < 12; times++) {
    expect(await send(codes, { project: clientCanary })).toBe('UPSTREAM_UNAVAILABLE');
    expect(await send(upload, { input: file })).toBe('UPSTREAM_UNAVAILABLE');
  }

  const texts = responses();
  expect(texts).toContain('UPSTREAM_FAILED');
  const places = await collected();
  // The test is only meaningful if none of them is empty.
  expect(places.log).toContain('"operation":"updateWorkflowCSV"');
  expect(places.metrics).toContain('operation="updateWorkflowCSV"');
  expect(places.traces).toContain('updateWorkflowCSV');
  expect(places.metrics).toMatch(/^ledger_gateway_circuit_state\{service="ledger"\} [12]$/m);
  expectNone({ texts, ...places }, [...bodies, clientName, ...partsOf(token)]);
});

/** A query with an enum value as a variable. */
const ofTarget =
  'query ($a: IntegrationTarget!) { glCodes(target: $a, project: "a") { __typename } }';
const codesOf = (selection: string, target = 'target: EMAIL') =>
  `{ glCodes(${target}, project: "a") { ${selection} } }`;

// Documents that nearly name something, and what they nearly name.
test.each<[name: string, document: string]>([
  ['glCodes', '{ glCode }'],
  ['project', codesOf('__typename').replace('project', 'projekt')],
  ['EMAIL', codesOf('__typename', 'target: EMAL')],
  ['workflowAction', 'mutation { workflowActio(action: RESTART) { __typename } }'],
  ['RESTART', 'mutation { workflowAction(action: RESTAR) { __typename } }'],
  ['name', 'mutation { saveApprovers(approvers: [{ nam: "a" }]) { __typename } }'],
  ['GlCodeList', codesOf('... on GlCodeLis { __typename }')],
  ['GlCodeList', codesOf('codes { code }')],
  ['codes', codesOf('... on GlCodeList { code }')],
  ['IntegrationTarget', ofTarget.replace('Target!', 'Targe')],
])('only with introspection, an error suggests %s: %s', async (name, query) => {
  const options = { schema, maxWritesPerOperation: 5, areOthersExecuted: false, log: pino() };
  for (const introspection of [true, false]) {
    const documents = new Documents({ ...options, introspection });
    const document = documents.find({ query });
    // An error names a missing required argument.
    const messages = document?.faults.filter(({ message }) => !message.includes('is required'));
    const hint = expect.stringMatching(new RegExp(`Did you mean.*\\b${name}\\b`));
    const silent = expect.not.stringMatching(new RegExp(`did you mean|\\b${name}\\b`, 'i'));
    expect(messages).toMatchObject([{ message: introspection ? hint : silent }]);
  }
});

const setReply = shareGateway();

test.each<[string, string, object]>([
  ['an enum value', ofTarget, { a: 'EMALL' }],
  ['a field of an input', save, { approvers: [{ nam: 'a' }] }],
])('without introspection, an error does not suggest %s of a variable', async (_, query, value) => {
  const { gateway } = setReply(success);
  const { status, text } = await gateway.graphql(query, { ...value });
  expect(status).toBe(400);
  expect(text).not.toMatch(/did you mean/i);
});
