import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startCollector } from '../collector.ts';
import {
  exchange,
  json,
  type Reply,
  read,
  reply,
  startService,
  startTestGateway,
  testIssuer,
} from '../helper.ts';
import { startProcess } from '../process.ts';

/** Stands wherever the service can put words of its own. */
const serviceCanary = 'canary-of-the-service';
/** Stands wherever a caller can put words of their own. */
const callerCanary = 'canary-of-the-caller';
/** Stands within the token, and so in its decoded form. */
const claimCanary = 'canary-of-the-claims';

const headers = {
  'content-type': `text/${serviceCanary}`,
  server: serviceCanary,
  'set-cookie': `a=${serviceCanary}`,
  'www-authenticate': `Bearer realm="${serviceCanary}"`,
  'x-request-id': serviceCanary,
  traceparent: serviceCanary,
};
const record = (status: unknown) =>
  json({
    status,
    message: serviceCanary,
    invoice_id: 1,
    unresolved: serviceCanary,
    service_status: { status, message: serviceCanary },
    list: [{ Code: serviceCanary, Name: serviceCanary }],
  });
const fine = record(0);
const status = (code: number) => reply(code, `<h1>${serviceCanary}</h1>`, headers);
const raw =
  (bytes: string | Buffer): Reply =>
  (response) => {
    response.socket?.end(bytes);
  };

type Fault = [name: string, reaction: Reply, ofRead: string | RegExp, ofWrite: string];

/** Whichever of the two it is: that is another test's subject. */
const noAnswer = /^UPSTREAM_(INVALID_RESPONSE|UNAVAILABLE)$/;

/** A fault, and what it is called for a read and for a write: an error's code or a union member. */
const faults: Fault[] = [
  ['status 1', record(1), 'LedgerFailed', 'LedgerFailed'],
  ['status 2', record(2), 'LedgerNoMoreInvoices', 'LedgerNoMoreInvoices'],
  ['status 3', record(3), 'LedgerNotPermitted', 'LedgerNotPermitted'],
  ['status 7', record(7), 'LedgerUnrecognizedStatus', 'LedgerUnrecognizedStatus'],
  [
    'a status in words',
    record(serviceCanary),
    'LedgerUnrecognizedStatus',
    'LedgerUnrecognizedStatus',
  ],
  ['HTTP 400', status(400), 'UPSTREAM_BAD_REQUEST', 'UPSTREAM_BAD_REQUEST'],
  ['HTTP 401', status(401), 'UNAUTHENTICATED', 'UNAUTHENTICATED'],
  ['HTTP 403', status(403), 'FORBIDDEN', 'FORBIDDEN'],
  ['HTTP 404', status(404), 'UPSTREAM_BAD_REQUEST', 'UPSTREAM_BAD_REQUEST'],
  ['HTTP 429', status(429), 'UPSTREAM_BAD_REQUEST', 'UPSTREAM_BAD_REQUEST'],
  ['HTTP 500', status(500), 'UPSTREAM_FAILED', 'LedgerOutcomeUnknown'],
  ['HTTP 502', status(502), 'UPSTREAM_FAILED', 'LedgerOutcomeUnknown'],
  [
    'HTTP 503',
    reply(503, serviceCanary, { 'retry-after': serviceCanary }),
    'UPSTREAM_FAILED',
    'LedgerOutcomeUnknown',
  ],
  [
    'a redirect',
    reply(302, serviceCanary, { location: `/${serviceCanary}` }),
    'UPSTREAM_INVALID_RESPONSE',
    'LedgerOutcomeUnknown',
  ],
  [
    'a reason of its own',
    raw(`HTTP/1.1 500 ${serviceCanary}\r\nContent-Length: 0\r\n\r\n`),
    'UPSTREAM_FAILED',
    'LedgerOutcomeUnknown',
  ],
  ['no HTTP', raw(`${serviceCanary}\r\n\r\n`), noAnswer, 'LedgerOutcomeUnknown'],
  [
    'a header that is none',
    raw(`HTTP/1.1 200 OK\r\n${serviceCanary}\r\n\r\n`),
    noAnswer,
    'LedgerOutcomeUnknown',
  ],
  [
    'a chunk that is none',
    raw(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${serviceCanary}\r\n`),
    noAnswer,
    'LedgerOutcomeUnknown',
  ],
  ['text', reply(200, serviceCanary, headers), 'UPSTREAM_INVALID_RESPONSE', 'LedgerOutcomeUnknown'],
  [
    'a cut JSON text',
    reply(200, `{"message":"${serviceCanary}`),
    'UPSTREAM_INVALID_RESPONSE',
    'LedgerOutcomeUnknown',
  ],
  [
    'wrong types',
    json({ status: 0, message: [serviceCanary], service_status: serviceCanary, unresolved: 1 }),
    'UPSTREAM_INVALID_RESPONSE',
    'LedgerOutcomeUnknown',
  ],
  [
    'names that are none',
    json({ [serviceCanary]: 1, service_status: { message: { [serviceCanary]: 1 } }, message: 1 }),
    'UPSTREAM_INVALID_RESPONSE',
    'LedgerOutcomeUnknown',
  ],
  [
    'bytes that are no text',
    (response) => void response.end(Buffer.from(`"${serviceCanary}\xff"`, 'latin1')),
    'UPSTREAM_INVALID_RESPONSE',
    'LedgerOutcomeUnknown',
  ],
  [
    'a compression that is none',
    reply(200, serviceCanary, { 'content-encoding': 'gzip' }),
    'UPSTREAM_INVALID_RESPONSE',
    'LedgerOutcomeUnknown',
  ],
  [
    'too much',
    (response) => {
      response.setHeader('content-encoding', 'gzip');
      response.end(gzipSync(JSON.stringify(serviceCanary.repeat(50_000))));
    },
    'UPSTREAM_INVALID_RESPONSE',
    'LedgerOutcomeUnknown',
  ],
  [
    'a cut-off answer',
    (response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write(`{"message":"${serviceCanary}`, () => response.destroy());
    },
    'UPSTREAM_INVALID_RESPONSE',
    'LedgerOutcomeUnknown',
  ],
  [
    'a reset',
    (response) => void response.socket?.resetAndDestroy(),
    'UPSTREAM_UNAVAILABLE',
    'LedgerOutcomeUnknown',
  ],
  ['no answer', () => {}, 'UPSTREAM_TIMEOUT', 'LedgerOutcomeUnknown'],
  [
    'half an answer',
    (response) => void response.write(`{"message":"${serviceCanary}`),
    'UPSTREAM_TIMEOUT',
    'LedgerOutcomeUnknown',
  ],
];

const codes =
  'query ($project: String!) { result: glCodes(target: EMAIL, project: $project) { __typename } }';
const upload =
  'mutation ($input: WorkflowCsvInput!) { result: uploadWorkflowCsv(input: $input) { __typename } }';
const save =
  'mutation ($approvers: [ApproverInput!]!) { result: saveApprovers(approvers: $approvers) { __typename } }';
const approver = {
  name: callerCanary,
  email: callerCanary,
  emailUpload: callerCanary,
  description: callerCanary,
  myBankAccount: callerCanary,
  myEmail: callerCanary,
  workflowName: callerCanary,
};
const file = { fileName: callerCanary, csv: `a;${callerCanary}`, message: callerCanary };

const variables = { UPSTREAM_TIMEOUT_MS: '700', UPSTREAM_MAX_RESPONSE_BYTES: '100000' };

/** Starts a gateway of its own process, and gathers all that leaves it. */
async function start(reaction: () => Reply, more: Record<string, string> = {}) {
  const collector = await startCollector();
  const service = await startService((response, received) => reaction()(response, received));
  const gateway = await startProcess(service, {
    ...variables,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...more,
  });
  const token = await (await testIssuer()).token({ sub: claimCanary });
  const authorization = `Bearer ${token}`;
  let answers = '';
  return {
    service,
    collector,
    gateway,
    token,
    authorization,
    async ask(query: unknown, variables: unknown = {}, headers: Record<string, string> = {}) {
      const answer = await gateway.post({ query, variables }, { authorization, ...headers });
      answers += `${answer.text}\n${JSON.stringify([...answer.headers])}\n`;
      const { data, errors } = JSON.parse(answer.text);
      return errors?.[0]?.extensions.code ?? data?.result?.__typename;
    },
    /** Keeps an answer that came another way. */
    async keep(answer: Promise<string>) {
      answers += `${await answer}\n`;
    },
    /** Ends the gateway, which exports the last traces, and tells all that left it. */
    async everything() {
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
      expect(await gateway.stop()).toBe(0);
      return {
        answers,
        metrics,
        log: gateway.output(),
        traces: collector.bytes().toString('latin1'),
      };
    },
  };
}

/** The spellings in which a text could leave. */
function spellings(text: string): string[] {
  const base64 = (shift: number) =>
    // What surrounds a text in base64 blurs its ends: the middle is what can be looked for.
    Buffer.from(' '.repeat(shift) + text)
      .toString('base64')
      .slice(4, -4);
  return [text, encodeURIComponent(text), ...[0, 1, 2].map(base64)];
}

/** The parts of a token, the whole of it, and what its payload says. */
function partsOf(token: string): string[] {
  return [token, ...token.split('.'), claimCanary];
}

function expectNone(places: Record<string, string>, secrets: string[]) {
  const found = Object.entries(places).flatMap(([place, text]) =>
    secrets
      .filter((secret) => text.includes(secret))
      // With what stands around it, to see where it came from.
      .map(
        (secret) =>
          `${place}: ${text.slice(Math.max(0, text.indexOf(secret) - 200)).slice(0, 300)}`,
      ),
  );
  expect(found).toEqual([]);
}

test('nothing of tokens and bodies leaves by answers, logs, metrics or traces, whatever fails', async () => {
  let reaction = fine;
  const { service, token, ask, everything } = await start(() => reaction);

  for (const [name, fault, ofRead, ofWrite] of faults) {
    reaction = fault;
    expect([name, await ask(codes, { project: callerCanary })]).toEqual([
      name,
      typeof ofRead === 'string' ? ofRead : expect.stringMatching(ofRead),
    ]);
    expect([name, await ask(upload, { input: file })]).toEqual([name, ofWrite]);
    if (ofWrite !== 'LedgerOutcomeUnknown') {
      expect([name, await ask(save, { approvers: [approver] })]).toEqual([name, ofWrite]);
    }
    reaction = fine;
    // Good calls between, so that the circuit stays closed and each fault is met.
    for (let times = 0; times < 8; times++) {
      expect([name, await ask(codes, { project: 'north' })]).toEqual([name, 'GlCodeList']);
    }
  }
  // No connection, until the circuit opens.
  service.server.closeAllConnections();
  service.server.close();
  for (let times = 0; times < 12; times++) {
    expect(await ask(codes, { project: callerCanary })).toBe('UPSTREAM_UNAVAILABLE');
    expect(await ask(upload, { input: file })).toBe('UPSTREAM_UNAVAILABLE');
  }

  const places = await everything();
  // All four are looked at in earnest.
  expect(places.answers).toContain('UPSTREAM_FAILED');
  expect(places.log).toContain('"operation":"updateWorkflowCSV"');
  expect(places.metrics).toContain('operation="updateWorkflowCSV"');
  expect(places.traces).toContain('updateWorkflowCSV');
  expect(places.metrics).toMatch(/^ledger_gateway_circuit_state [12]$/m);
  expectNone(places, [...spellings(serviceCanary), ...spellings(callerCanary), ...partsOf(token)]);
}, 60_000);

test('nothing of the service is in logs, metrics or traces when all is well', async () => {
  const { token, ask, everything } = await start(() => fine);
  await ask(
    'query ($project: String!) { result: glCodes(target: EMAIL, project: $project) { __typename ... on GlCodeList { message codes { code name project } } } }',
    { project: callerCanary },
  );
  await ask(
    'mutation ($input: WorkflowCsvInput!) { result: uploadWorkflowCsv(input: $input) { __typename ... on LedgerStatus { message } } }',
    { input: file },
  );
  const { answers, ...places } = await everything();
  expect(answers).toContain(serviceCanary);
  expectNone(places, [...spellings(serviceCanary), ...spellings(callerCanary), ...partsOf(token)]);
});

test('nothing of a request that is refused leaves by answers, logs, metrics or traces', async () => {
  const { gateway, token, authorization, ask, keep, everything } = await start(() => fine);
  const send = (head: string, body = '') =>
    keep(
      exchange(
        gateway.url,
        `${head}\nHost: a\nConnection: close\nContent-Type: application/json\nContent-Length: ${Buffer.byteLength(body)}\n\n${body}`,
      ),
    );

  // Input that no resolver takes.
  expect(await ask(save, { approvers: [{ ...approver, approverId: callerCanary }] })).toBe(
    'BAD_USER_INPUT',
  );
  expect(await ask(upload, { input: { ...file, contentBase64: callerCanary } })).toBe(
    'BAD_USER_INPUT',
  );
  expect(
    await ask(upload, { input: { fileName: callerCanary, contentBase64: callerCanary } }),
  ).toBe('BAD_USER_INPUT');
  expect(await ask(codes, { project: `${callerCanary}\ud800` })).toBe('BAD_USER_INPUT');
  expect(await ask(upload, { input: { ...file, option: 1 } })).toBe('BAD_USER_INPUT');
  // Limits.
  expect(
    await ask(
      `{ ${Array.from({ length: 201 }, (_, n) => `a${n}: __typename`).join(' ')} } #${callerCanary}`,
    ),
  ).toBe('OPERATION_LIMIT_EXCEEDED');
  // Errors of HTTP and of the framework.
  await send(`GET /${callerCanary} HTTP/1.1`);
  await send(`GET /livez?access_token=${token} HTTP/1.1`);
  await send(`GET /%zz${callerCanary}?access_token=${token} HTTP/1.1`);
  await send(`DELETE /graphql?${callerCanary} HTTP/1.1`);
  await send(
    `POST /graphql HTTP/1.1\nAuthorization: ${authorization}`,
    `{"query":"${callerCanary}`,
  );
  await send(`POST /graphql HTTP/1.1\nAuthorization: ${authorization}`, `["${callerCanary}"]`);
  await send(`POST /graphql HTTP/1.1\nAuthorization: ${authorization}`, `"${callerCanary}"`);
  await send(`POST /graphql HTTP/1.1\nAuthorization: ${authorization}${callerCanary}`);
  await send(`POST /graphql HTTP/1.1\nAuthorization: ${authorization} ${callerCanary}`);
  await send(
    `POST /graphql HTTP/1.1\nAuthorization: ${authorization}\nAuthorization: ${authorization}`,
  );
  await send(`POST /graphql HTTP/1.1\nX-Request-Id: ${callerCanary} ${token}`);
  await send(`POST /graphql HTTP/1.1\nTraceparent: ${token}\nTracestate: a=${callerCanary}`);
  await send(
    `GET /livez HTTP/1.1\nAuthorization: ${authorization}\nX-A: ${callerCanary.repeat(1000)}`,
  );
  await send(`GET /livez HTTP/1.1\nAuthorization: ${authorization}\u0001`);
  await send(`${callerCanary} /livez HTTP/1.1\nAuthorization: ${authorization}`);
  await keep(
    gateway
      .post(callerCanary, { authorization, 'content-type': `text/${callerCanary}` })
      .then(({ text }) => text),
  );

  const places = await everything();
  expectNone(places, [...spellings(callerCanary), ...partsOf(token)]);
}, 30_000);

test('what a caller is told of their own bad variable stays between the two', async () => {
  const { token, ask, everything } = await start(() => fine);
  await ask(codes, { project: { [callerCanary]: callerCanary } });
  await ask(save, { approvers: [{ claimLimit: callerCanary }] });
  await ask(`{ ${callerCanary.replaceAll('-', '_')} }`);
  await ask(`query { glCodes(target: EMAIL, project: ["${callerCanary}"]) { __typename } }`);
  const { answers, ...places } = await everything();
  expect(answers).toContain('BAD_USER_INPUT');
  expectNone(places, [
    ...spellings(callerCanary),
    callerCanary.replaceAll('-', '_'),
    ...partsOf(token),
  ]);
});

test('a key server whose words are hostile is not quoted', async () => {
  const keys = await startService(reply(500, serviceCanary, { 'x-a': serviceCanary }));
  const { token, ask, everything } = await start(() => fine, {
    JWT_JWKS_URL: `${keys.url}${callerCanary}`,
  });
  expect(await ask(read)).toBe('AUTH_UNAVAILABLE');
  const places = await everything();
  expectNone(places, [...spellings(serviceCanary), ...spellings(callerCanary), ...partsOf(token)]);
});

test.each([
  ['glCodes', '{ glCode }'],
  ['project', '{ glCodes(target: EMAIL, projekt: "a") { __typename } }'],
  ['EMAIL', '{ glCodes(target: EMAL, project: "a") { __typename } }'],
  ['workflowAction', 'mutation { workflowActio(action: RESTART) { __typename } }'],
  ['RESTART', 'mutation { workflowAction(action: RESTAR) { __typename } }'],
  ['name', 'mutation { saveApprovers(approvers: [{ nam: "a" }]) { __typename } }'],
  ['GlCodeList', '{ glCodes(target: EMAIL, project: "a") { ... on GlCodeLis { __typename } } }'],
  ['GlCodeList', '{ glCodes(target: EMAIL, project: "a") { codes { code } } }'],
  ['codes', '{ glCodes(target: EMAIL, project: "a") { ... on GlCodeList { code } } }'],
  ['IntegrationTarget', 'query ($a: IntegrationTarge) { __typename }'],
  ['include', '{ __typename @includ(if: true) }'],
])('whoever guesses near %s is not told: %s', async (hidden, query) => {
  const gateway = await startTestGateway(await startService(fine));
  const { status, errors } = await gateway.graphql(query);
  expect(status).toBe(400);
  for (const { message } of errors ?? []) {
    expect(message).not.toMatch(/did you mean/i);
    // A required argument is named where it is missing, as the schema's types are.
    if (!message.includes('is required')) {
      expect(message).not.toMatch(new RegExp(`\\b${hidden}\\b`));
    }
  }
});

test.each([
  [
    'an enum value',
    'query ($a: IntegrationTarget!) { glCodes(target: $a, project: "a") { __typename } }',
    'EMALL',
  ],
  [
    'a field of an input',
    save.replace('$approvers:', '$a:').replace(': $approvers)', ': $a)'),
    [{ nam: 'a' }],
  ],
])('nor by a variable, with %s', async (_, query, value) => {
  const gateway = await startTestGateway(await startService(fine));
  const { status, text } = await gateway.graphql(query, { a: value });
  expect(status).toBe(400);
  expect(text).not.toMatch(/did you mean/i);
});
