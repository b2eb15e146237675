import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { closeAfterTest } from '../support/cleanup.ts';
import { startTestGateway } from '../support/gateway.ts';
import { metric } from '../support/metric.ts';
import { json, startService } from '../support/service.ts';

const success = json({ status: 0, service_status: { status: 0 }, list: [{ Code: '1' }] });
const codes =
  'query Codes($p: String!) { glCodes(target: EMAIL, project: $p) { __typename ... on GlCodeList { codes { code } } } }';
const restart = 'mutation Restart { workflowAction(action: RESTART) { __typename } }';
const other = 'mutation { workflowAction(action: UPGRADE_TO_HQ) { __typename } }';
const sha256 = (text: string) => hash('sha256', text, 'hex');
const clientPreset = { codes, restart };

/** Starts a gateway with manifests: as JSON, or as their text. */
async function start(manifests: unknown, variables: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'manifest-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const files = [manifests].flat().map((manifest, index) => {
    const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
    return [join(folder, `${index}.json`), text] as const;
  });
  await Promise.all(files.map(([path, text]) => writeFile(path, text)));
  const service = await startService(success);
  const paths = files.map(([path]) => path).join(',');
  const gateway = await startTestGateway(service, { TRUSTED_DOCUMENTS: paths, ...variables });
  return { service, gateway, send: async (body: unknown) => parse(await gateway.post(body)) };
}

function parse({ status, text }: { status: number; text: string }) {
  const { data, errors } = JSON.parse(text);
  return { status, data, code: errors?.[0]?.extensions.code };
}

const list = { glCodes: { __typename: 'GlCodeList', codes: [{ code: '1' }] } };
const variables = { p: 'north' };

test.each([
  ['its text', { query: codes }],
  ['its id', { documentId: 'codes' }],
  [
    'its id as the hash of a persisted query',
    { extensions: { persistedQuery: { version: 1, sha256Hash: 'codes' } } },
  ],
  [
    'the hash of its text',
    { extensions: { persistedQuery: { version: 1, sha256Hash: sha256(codes) } } },
  ],
  ['its id and its text', { query: codes, documentId: 'codes' }],
])('a trusted document is executed by %s', async (_, request) => {
  const { send } = await start(clientPreset);
  expect(await send({ ...request, variables })).toEqual({ status: 200, data: list });
});

test('a trusted mutation is executed by its id', async () => {
  const { service, send } = await start(clientPreset);
  const { data } = await send({ documentId: 'restart' });
  expect(data).toEqual({ workflowAction: { __typename: 'WorkflowActionCompleted' } });
  expect(service.received).toHaveLength(1);
});

test("the manifest may be that of Apollo's tools", async () => {
  const id = sha256(codes);
  const { send } = await start({
    format: 'apollo-persisted-query-manifest',
    version: 1,
    operations: [{ id, name: 'Codes', type: 'query', body: codes }],
  });
  expect((await send({ documentId: id, variables })).data).toEqual(list);
  expect((await send({ query: restart })).code).toBe('QUERY_NOT_IN_SAFELIST');
});

test.each([
  ['another text', { query: other }, 'QUERY_NOT_IN_SAFELIST'],
  ['a text that does not parse', { query: '{' }, 'QUERY_NOT_IN_SAFELIST'],
  ['a trusted text with a space', { query: `${restart} ` }, 'QUERY_NOT_IN_SAFELIST'],
  ['introspection', { query: '{ __schema { queryType { name } } }' }, 'QUERY_NOT_IN_SAFELIST'],
  ['an unknown id', { documentId: 'other' }, 'PERSISTED_QUERY_NOT_IN_LIST'],
  [
    'an unknown id with a trusted text',
    { documentId: 'other', query: restart },
    'PERSISTED_QUERY_NOT_IN_LIST',
  ],
  [
    'a trusted id with another text',
    { documentId: 'restart', query: other },
    'QUERY_NOT_IN_SAFELIST',
  ],
  [
    'a trusted id with the text of another',
    { documentId: 'codes', query: restart },
    'QUERY_NOT_IN_SAFELIST',
  ],
  [
    'the hash of another text, to register it',
    { query: other, extensions: { persistedQuery: { version: 1, sha256Hash: sha256(other) } } },
    'PERSISTED_QUERY_NOT_IN_LIST',
  ],
  [
    'an id with the hash of another document',
    {
      documentId: 'codes',
      extensions: { persistedQuery: { version: 1, sha256Hash: sha256(restart) } },
    },
    'PERSISTED_QUERY_NOT_IN_LIST',
  ],
  ['a property of objects as an id', { documentId: 'constructor' }, 'PERSISTED_QUERY_NOT_IN_LIST'],
  ['an id that is no text', { query: restart, documentId: 1 }, 'BAD_REQUEST'],
  [
    'a hash that is no text',
    { query: restart, extensions: { persistedQuery: { sha256Hash: 1 } } },
    'BAD_REQUEST',
  ],
  ['a batch', [{ query: restart }], 'BAD_REQUEST'],
  ['nothing', { variables: {} }, 'BAD_REQUEST'],
])('%s is rejected with nothing sent', async (_, request, code) => {
  const { service, send } = await start(clientPreset);
  expect(await send(request)).toMatchObject({ status: 400, code });
  expect(service.received).toEqual([]);
});

test.each([
  [`query=${encodeURIComponent(codes)}`, 200, undefined],
  ['documentId=codes', 200, undefined],
  ['extensions={"persistedQuery":{"version":1,"sha256Hash":"codes"}}', 200, undefined],
  ['documentId=other', 400, 'PERSISTED_QUERY_NOT_IN_LIST'],
  ['query={__typename}', 400, 'QUERY_NOT_IN_SAFELIST'],
  [`query={__typename}&query=${encodeURIComponent(codes)}`, 200, undefined],
  ['extensions={&documentId=codes', 400, 'BAD_REQUEST'],
  ['documentId=restart', 405, 'BAD_REQUEST'],
])('GET /graphql?%s responds with %d', async (search, status, code) => {
  const { service, gateway } = await start(clientPreset);
  const url = `${gateway.url}/graphql?${search}&variables=${JSON.stringify(variables)}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${gateway.token}` } });
  const result = parse({ status: response.status, text: await response.text() });
  expect(result).toEqual({ status, data: status === 200 ? list : undefined, code });
  expect(service.received).toHaveLength(status === 200 ? 1 : 0);
});

test.each([
  ['does not parse', { bad: '{' }, /bad: Syntax Error/],
  ['does not match the schema', { bad: '{ unknown }', good: codes }, /bad: Cannot query field/],
  ['uses introspection, which is off', { bad: '{ __schema { queryType { name } } }' }, /bad: /],
  ['exceeds a limit', { bad: `{ ${'a: __typename '.repeat(201)} }` }, /bad: .*aliases/],
])('a manifest with a document that %s stops the start', async (_, manifest, message) => {
  await expect(start(manifest)).rejects.toThrow(message);
});

test.each(['not JSON', '[]', '{"a":1}', '{"format":"apollo-persisted-query-manifest"}x'])(
  'a manifest of %s stops the start',
  async (text) => {
    await expect(start(text)).rejects.toThrow(/TRUSTED_DOCUMENTS must be readable manifests/);
  },
);

test('the log and the metrics have the codes of rejected documents', async () => {
  const { gateway, send } = await start(clientPreset);
  await send({ query: other });
  expect(await gateway.logLine({ msg: 'request' })).toMatchObject({
    outcome: 'QUERY_NOT_IN_SAFELIST',
  });
  expect(
    await metric(gateway, 'ledger_gateway_request_duration_seconds_count', {
      operation: 'none',
      outcome: 'QUERY_NOT_IN_SAFELIST',
    }),
  ).toBe(1);
});

test('without a list, a GET with a bearer token needs no other proof of a preflight', async () => {
  const gateway = await startTestGateway(await startService(success));
  const url = `${gateway.url}/graphql?query=${encodeURIComponent(codes)}&variables=${JSON.stringify(variables)}`;
  const withToken = await fetch(url, { headers: { authorization: `Bearer ${gateway.token}` } });
  expect(JSON.parse(await withToken.text())).toEqual({ data: list });

  expect((await fetch(url)).status).toBe(401);
});

test('documents that select a union or interface without __typename are named at the start', async () => {
  const field = (selection: string) => `workflowAction(action: RESTART) { ${selection} }`;
  const member = '... on WorkflowActionCompleted { __typename }';
  const { gateway } = await start({
    codes,
    1: `mutation Bare { ${field('... on LedgerStatus { message }')} }`,
    2: `mutation OfMember { ${field(member)} }`,
    3: `mutation { ${field('kind: __typename')} }`,
    4: `mutation Spread { ${field('...All')} } fragment All on WorkflowActionResult { __typename }`,
    5: `mutation Inline { ${field('... { __typename }')} }`,
  });
  expect(await gateway.logLine({ level: 40 })).toMatchObject({
    msg: 'trusted documents select a union or interface without __typename',
    documents: ['Bare', 'OfMember', '3'],
  });
});

test('two ids may name one text', async () => {
  const { send } = await start({ restart, again: restart });
  for (const documentId of ['restart', 'again']) {
    expect(await send({ documentId, query: restart })).toMatchObject({ status: 200 });
  }
});

test('the documents of several manifests are trusted', async () => {
  const { send } = await start([{ codes }, { restart, codes }]);
  for (const query of [codes, restart]) {
    expect(await send({ query, variables })).toMatchObject({ status: 200 });
  }
  expect((await send({ query: other })).code).toBe('QUERY_NOT_IN_SAFELIST');
});

test('manifests with different documents of one id stop the start', async () => {
  await expect(start([{ a: codes }, { a: restart }])).rejects.toThrow(/a: names two documents/);
});

test('with TRUSTED_DOCUMENTS_MODE=log, others are executed, and each is named once in the log', async () => {
  const { gateway, send } = await start({ restart }, { TRUSTED_DOCUMENTS_MODE: 'log' });
  const byHash = { extensions: { persistedQuery: { version: 1, sha256Hash: sha256(codes) } } };
  for (const request of [{ query: codes }, { query: codes, ...byHash }]) {
    expect(await send({ ...request, variables })).toMatchObject({ status: 200, data: list });
  }
  expect(await send({ documentId: 'restart' })).toMatchObject({ status: 200 });
  expect((await send({ documentId: 'other' })).code).toBe('PERSISTED_QUERY_NOT_IN_LIST');
  const lines = gateway.logs.filter(({ msg }) => msg === 'document is not trusted');
  expect(lines).toMatchObject([{ level: 40, name: 'Codes', sha256: sha256(codes) }]);
});
