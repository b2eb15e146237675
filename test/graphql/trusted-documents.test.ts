import { hash } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { actionArguments, anyWrite } from '../../testkit/graphql-operation.ts';
import { json } from '../../testkit/service.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';
import { startStack } from '../support/stack.ts';

const success = json({ status: 0, service_status: { status: 0 }, list: [{ Code: '1' }] });
const codes =
  'query Codes($p: String!) { glCodes(target: EMAIL, project: $p) { __typename ... on GlCodeList { codes { code } } } }';
const restart = `mutation Restart { ${anyWrite()} }`;
const other = `mutation { workflowAction(${actionArguments('UPGRADE_TO_HQ')}) { __typename } }`;
const sha256 = (text: string) => hash('sha256', text, 'hex');

/** The part of a request that names a persisted query. */
const byHash = (sha256Hash: unknown) => ({
  extensions: { persistedQuery: { version: 1, sha256Hash } },
});

/** Starts a gateway with manifests: as JSON, or as their text. */
async function start(manifests: unknown, variables: Record<string, string> = {}) {
  const texts = [manifests]
    .flat()
    .map((manifest) => (typeof manifest === 'string' ? manifest : JSON.stringify(manifest)));
  const paths = (await Promise.all(texts.map(temporaryFile))).join();
  const all = { TRUSTED_DOCUMENTS: paths, ...variables };
  const { service, gateway } = await startStack(success, all);
  return { service, gateway, send: async (body: unknown) => parse(await gateway.post(body)) };
}

function parse({ status, text }: { status: number; text: string }) {
  const { data, errors } = JSON.parse(text);
  return { status, data, code: errors?.[0]?.extensions.code };
}

const list = { glCodes: { __typename: 'GlCodeList', codes: [{ code: '1' }] } };
const variables = { p: 'north' };

/** A gateway with two trusted documents, for most tests. */
let shared: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  shared = await start({ codes, restart, again: restart });
});

test.each([
  ['its text', { query: codes }],
  ['its id', { documentId: 'codes' }],
  ['its id as the hash of a persisted query', byHash('codes')],
  ['the hash of its text', byHash(sha256(codes))],
  ['its id and its text', { query: codes, documentId: 'codes' }],
])('a trusted document is executed by %s', async (_, request) => {
  expect(await shared.send({ ...request, variables })).toEqual({ status: 200, data: list });
});

test.each(['restart', 'again'])('a mutation is executed by each of its ids: %s', async (id) => {
  shared.service.received.length = 0;
  for (const query of [undefined, restart]) {
    const { data } = await shared.send({ documentId: id, query });
    expect(data).toEqual({ workflowAction: { __typename: 'WorkflowActionCompleted' } });
  }
  expect(shared.service.received).toHaveLength(2);
});

const notListed = 'PERSISTED_QUERY_NOT_IN_LIST';
const notSafe = 'QUERY_NOT_IN_SAFELIST';
test.each<[name: string, request: unknown, code: string]>([
  ['another text', { query: other }, notSafe],
  ['a text that does not parse', { query: '{' }, notSafe],
  ['a trusted text with a space', { query: `${restart} ` }, notSafe],
  ['introspection', { query: '{ __schema { queryType { name } } }' }, notSafe],
  ['a trusted id with another text', { documentId: 'restart', query: other }, notSafe],
  ['a trusted id with the text of another', { documentId: 'codes', query: restart }, notSafe],
  ['an unknown id', { documentId: 'other' }, notListed],
  ['an unknown id with a trusted text', { documentId: 'other', query: restart }, notListed],
  ['an unknown hash, to register it', { query: other, ...byHash(sha256(other)) }, notListed],
  ['an id and the hash of another', { documentId: 'codes', ...byHash(sha256(restart)) }, notListed],
  ['a property of objects as an id', { documentId: 'constructor' }, notListed],
  ['an id that is no text', { query: restart, documentId: 1 }, 'BAD_REQUEST'],
  ['a hash that is no text', { query: restart, ...byHash(1) }, 'BAD_REQUEST'],
  ['a batch', [{ query: restart }], 'BAD_REQUEST'],
  ['nothing', { variables: {} }, 'BAD_REQUEST'],
])('%s is rejected with nothing sent', async (_, request, code) => {
  shared.service.received.length = 0;
  expect(await shared.send(request)).toMatchObject({ status: 400, code });
  expect(shared.service.received).toEqual([]);
});

test.each([
  [`query=${encodeURIComponent(codes)}`, 200, undefined],
  ['documentId=codes', 200, undefined],
  ['extensions={"persistedQuery":{"version":1,"sha256Hash":"codes"}}', 200, undefined],
  ['documentId=other', 400, notListed],
  ['query={__typename}', 400, notSafe],
  [`query={__typename}&query=${encodeURIComponent(codes)}`, 200, undefined],
  ['extensions={&documentId=codes', 400, 'BAD_REQUEST'],
  ['documentId=restart', 405, 'BAD_REQUEST'],
])('GET /graphql?%s responds with %d', async (search, status, code) => {
  const { service, gateway } = shared;
  service.received.length = 0;
  const url = `${gateway.url}/graphql?${search}&variables=${JSON.stringify(variables)}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${gateway.token}` } });
  const result = parse({ status: response.status, text: await response.text() });
  expect(result).toEqual({ status, data: status === 200 ? list : undefined, code });
  expect(service.received).toHaveLength(status === 200 ? 1 : 0);
});

test("the manifest may be that of Apollo's tools", async () => {
  const id = sha256(codes);
  const operations = [{ id, name: 'Codes', type: 'query', body: codes }];
  const format = 'apollo-persisted-query-manifest';
  const { send } = await start({ format, version: 1, operations });
  expect((await send({ documentId: id, variables })).data).toEqual(list);
  expect((await send({ query: restart })).code).toBe(notSafe);
});

test('the documents of several manifests are trusted', async () => {
  const { send } = await start([{ codes }, { restart, codes }]);
  for (const query of [codes, restart]) {
    expect(await send({ query, variables })).toMatchObject({ status: 200 });
  }
  expect((await send({ query: other })).code).toBe(notSafe);
});

test.each<[what: string, manifest: unknown, message: RegExp]>([
  ['a document that does not parse', { bad: '{' }, /bad: Syntax Error/],
  ['an invalid document', { bad: '{ unknown }', good: codes }, /bad: Cannot query field/],
  ['introspection, which is off', { bad: '{ __schema { queryType { name } } }' }, /bad: /],
  [
    'a document over a limit',
    { bad: `{ ${'a: __typename '.repeat(201)} }` },
    /bad: .*fields of one response name/,
  ],
  ['two documents of one id', [{ a: codes }, { a: restart }], /a: names two documents/],
  ...['not JSON', '[]', '{"a":1}', '{"format":"apollo-persisted-query-manifest"}x'].map(
    (text): [string, string, RegExp] => [text, text, /must be readable manifests/],
  ),
])('a manifest with %s stops the start', async (_, manifest, message) => {
  await expect(start(manifest)).rejects.toThrow(message);
});

test('documents that select a union or interface without __typename are named at the start', async () => {
  const member = '... on WorkflowActionCompleted { __typename }';
  const { gateway } = await start({
    codes,
    1: `mutation Bare { ${anyWrite('... on LedgerStatus { message }')} }`,
    2: `mutation OfMember { ${anyWrite(member)} }`,
    3: `mutation { ${anyWrite('kind: __typename')} }`,
    4: `mutation Spread { ${anyWrite('...All')} } fragment All on WorkflowActionResult { __typename }`,
    5: `mutation Inline { ${anyWrite('... { __typename }')} }`,
  });
  expect(await gateway.logLine({ level: 40 })).toMatchObject({
    msg: 'trusted documents select a union or interface without __typename',
    documents: ['Bare', 'OfMember', '3'],
  });
});

test('with TRUSTED_DOCUMENTS_MODE=log, others are executed, and each is named once in the log', async () => {
  const { gateway, send } = await start({ restart }, { TRUSTED_DOCUMENTS_MODE: 'log' });
  for (const request of [{ query: codes }, { query: codes, ...byHash(sha256(codes)) }]) {
    expect(await send({ ...request, variables })).toMatchObject({ status: 200, data: list });
  }
  expect(await send({ documentId: 'restart' })).toMatchObject({ status: 200 });
  expect((await send({ documentId: 'other' })).code).toBe(notListed);
  const lines = gateway.logs.filter(({ msg }) => msg === 'document is not trusted');
  expect(lines).toMatchObject([{ level: 40, name: 'Codes', sha256: sha256(codes) }]);
});
