import { expect, test } from '@jest/globals';
import { write } from '../../testkit/graphql-operation.ts';
import { json } from '../../testkit/service.ts';
import { authorized, exchange, requestOnly } from '../support/raw-request.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway();
const start = () => share(json({ status: 0 }));

const save = 'mutation ($a: [ApproverInput!]!) { saveApprovers(approvers: $a) { __typename } }';
const upload = 'mutation ($a: WorkflowCsvInput!) { uploadWorkflowCsv(input: $a) { __typename } }';
const codes = 'query ($a: String!) { glCodes(target: EMAIL, project: $a) { __typename } }';
/** The body of a request with a variable, given as JSON. */
const bodyWith = (variable: string, query = save) =>
  `{"query":${JSON.stringify(query)},"variables":{"a":${variable}}}`;
const listOf = (count: number, item: string) => `[${Array(count).fill(item).join()}]`;
const nested = (depth: number, open: string, inner: string, close: string) =>
  open.repeat(depth) + inner + close.repeat(depth);
const keys = (count: number) => Array.from({ length: count }, (_, n) => `"k${n}":1`).join();
const operations = '"query":"query A { __typename } query B { __typename }"';

/** Sends a body, which need not be text. */
async function post(body: string | Buffer) {
  const { service, gateway } = start();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` };
  const init = { method: 'POST', headers, body: new Uint8Array(Buffer.from(body)) };
  const response = await fetch(`${gateway.url}/graphql`, init);
  return { status: response.status, text: await response.text(), service };
}

test('a byte order mark before a body is skipped', async () => {
  const { status, text } = await post(`\ufeff${bodyWith('[]')}`);
  expect([status, text]).toEqual([200, expect.stringContaining('ApproversSaved')]);
  expect((await post(`\ufeff\ufeff${bodyWith('[]')}`)).status).toBe(400);
});

/** The body of a request whose approver has a name of these bytes. */
function bodyOf(name: Buffer): Buffer {
  const [before = '', after = ''] = bodyWith('{"name":"NAME"}').split('NAME');
  return Buffer.concat([Buffer.from(before), name, Buffer.from(after)]);
}

/** Bodies that are rejected, by the code or the message of the error. */
const rejected: Record<string, (string | Buffer)[]> = {
  BAD_REQUEST: [
    ...['', '{', '"x"', 'null', '{}', '[]', '{"query":1}', '{"query":""}'],
    ...['{"query":"{ a }","variables":"x"}', '{"query":"subscription { a }"}'],
    '[{"query":"{ __typename }"}]',
    // A number that no double has is no text either.
    ...['{"query":1e400}', '{"query":"{ __typename }","operationName":9007199254740993}'],
    `[${'{"query":"{ __typename }"},'.repeat(1000)}null]`,
    JSON.stringify(Array(100).fill({ query: write })),
    // Not UTF-8: a lone continuation byte, a truncated character, an overlong encoding, an encoded surrogate, Latin-1.
    ...['80', 'e282', 'c0af', 'eda080', '4dfc6c6c6572'].map((hex) =>
      bodyOf(Buffer.from(hex, 'hex')),
    ),
  ],
  OPERATION_RESOLUTION_FAILURE: [
    `{${operations}}`,
    `{${operations},"operationName":"C"}`,
    `{${operations},"operationName":"__proto__"}`,
  ],
  GRAPHQL_PARSE_FAILED: [`{"query":"${' '.repeat(1000)}"}`],
  GRAPHQL_VALIDATION_FAILED: ['{"query":"fragment A on Query { __typename }"}'],
  BAD_USER_INPUT: [
    bodyWith(`[{${keys(10_000)}}]`),
    bodyWith(`[{"name":"${'x'.repeat(100_000)}",${keys(60)}}]`),
  ],
  'levels of nesting': [
    nested(100_000, '[', '', ']'),
    nested(100_000, '{"a":', '1', '}'),
    ...[save, codes].map((query) => bodyWith(nested(100_000, '[', '', ']'), query)),
    bodyWith(nested(100_000, '[', '12345678901234567890', ']'), codes),
    bodyWith(nested(60, '{"name":', '1', '}')),
    bodyWith(`{"fileName":"a","option":${nested(100_000, '[', '1', ']')}}`, upload),
  ],
  'values in its variables': [
    bodyWith(`[{${keys(1_000_000)}}]`),
    bodyWith(listOf(40_000, '1')),
    bodyWith(listOf(5_900, '[1,1,1,1,1,1]')),
  ],
  'lists and objects in its variables': [
    bodyWith(listOf(6_000, '[]')),
    bodyWith(listOf(6_000, '{}')),
  ],
};

test.each(
  Object.entries(rejected).flatMap(([error, bodies]) =>
    bodies.map((body) => ({ error, shape: String(body).slice(0, 60), body })),
  ),
)('a body is rejected with $error: $shape', async ({ error, body }) => {
  const { status, text, service } = await post(body);
  expect(status).toBe(400);
  const [{ message, extensions }] = JSON.parse(text).errors;
  expect(`${extensions.code}: ${message}`).toContain(error);
  expect(extensions).toMatchObject({ requestId: expect.any(String), retryable: false });
  // An error does not echo the request.
  expect(text.length).toBeLessThan(20_000);
  expect(service.received).toEqual([]);
});

test('a body that is one long text takes about as long as the same text in a variable', async () => {
  const long = JSON.stringify('x'.repeat(8_000_000));
  const timeOf = async (body: string) => {
    const since = performance.now();
    const { status } = await post(body);
    return { status, ms: performance.now() - since };
  };
  const inVariable = await timeOf(`{"query":"{ __typename }","variables":{"a":${long}}}`);
  const alone = await timeOf(long);
  expect([inVariable.status, alone.status]).toEqual([200, 400]);
  expect(alone.ms).toBeLessThan(10 * inVariable.ms);
});

test.each([
  ['a hash', {}],
  ['a hash and a text', { query: codes }],
])('automatic persisted queries are rejected with 400: %s', async (_, others) => {
  const persistedQuery = { version: 1, sha256Hash: 'a'.repeat(64) };
  const { status, text } = await post(
    JSON.stringify({ ...others, extensions: { persistedQuery } }),
  );
  const { data, errors } = JSON.parse(text);
  expect([status, data]).toEqual([400, undefined]);
  const [{ message, extensions }] = errors;
  // Clients that know automatic persisted queries look for this message or this code, and send the text from then on.
  expect(message).toBe('PersistedQueryNotSupported');
  expect(extensions.code).toBe('PERSISTED_QUERY_NOT_SUPPORTED');
});

test.each([
  ['39,000 values', `[{}],"b":${listOf(39_000, '1')}`, 1],
  ['brackets and commas in a string', `[{}],"b":${JSON.stringify('[{,'.repeat(100_000))}`, 1],
  ['an unused number that no double has', '[{}],"b":1e400', 1],
  ['5,900 objects', listOf(5_900, '{}'), 5_900],
  ['escaped quotes in a string', `[{}],"b":${JSON.stringify('"\\,'.repeat(50_000))}`, 1],
])('variables with %s are sent', async (_, list, count) => {
  const { status, service } = await post(bodyWith(list));
  expect(status).toBe(200);
  expect(JSON.parse(service.received[0]?.body ?? '')).toHaveLength(count);
});

test('text outside ASCII arrives unchanged', async () => {
  const { status, service } = await post(bodyOf(Buffer.from('Müller 🧾 \ufffd')));
  expect(status).toBe(200);
  expect(service.received[0]?.body).toBe('[{"name":"Müller 🧾 \ufffd"}]');
});

/** Sends a body in these chunks. */
function postChunks(parts: string[]) {
  const { gateway } = start();
  const head = requestOnly('POST /graphql', `${authorized(gateway)}transfer-encoding: chunked`);
  const chunks = parts.map((part) => `${part.length.toString(16)}\n${part}\n`);
  return exchange(gateway.url, `${head}${chunks.join('')}0\n\n`);
}

test.each([
  [900, 200],
  [1100, 400],
])('a body that begins with %d chunks of one byte gets %d', async (count, status) => {
  const response = await postChunks([...Array(count).fill(' '), '{"query":"{ __typename }"}']);
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test('a long body in short chunks arrives whole', async () => {
  const body = bodyWith(`[{"name":"a"}],"b":"${'x'.repeat(2_000_000)}"`);
  const response = await postChunks(body.match(/.{1,500}/g) ?? []);
  expect(response).toMatch(/^HTTP\/1.1 200 .*ApproversSaved/s);
});
