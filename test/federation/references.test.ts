import { expect, test } from '@jest/globals';
import { isObjectType, isUnionType } from 'graphql';
import { MAX_LOOKUPS, MAX_REFERENCES } from '../../src/graphql/response-limits.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { json, type Reply, reply } from '../../testkit/service.ts';
import { schema } from '../support/schema.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startStack } from '../support/stack.ts';
import { composeWithApollo, ledgerSdl } from './composition.ts';

/** A field for references, and a query for them. */
const entities = (selection = '__typename', variable = '$representations') =>
  `_entities(representations: ${variable}) { ${selection} }`;
const queryOf = (fields: string) => `query ($representations: [_Any!]!) { ${fields} }`;
const query = queryOf(entities('__typename ... on GlCode { target project code name value hide }'));

const codes = [
  { Code: '4010', Name: 'Travel', Value: 'T', Hide: 0 },
  { Code: '4020', Name: 'Rent', Value: 'R', Hide: 0 },
  { Code: '9999', Name: 'Suspense', Value: 'S', Hide: 1 },
];

/** Lists the codes above. As in the real service, hidden ones only on request. */
const list: Reply = (response, received) => {
  const hidden = received.url.includes('includeHide=true');
  const shown = codes.filter(({ Hide }) => hidden || Hide === 0);
  return json({ service_status: { status: 0 }, list: shown })(response, received);
};

const share = shareGateway();
const shareOpen = shareGateway({ INTROSPECTION: 'true' });

function reference(fields: Record<string, unknown> = {}) {
  return { __typename: 'GlCode', target: 'EMAIL', project: 'north', code: '4010', ...fields };
}
const references = (count: number, fields?: (n: number) => Record<string, unknown>) =>
  Array.from({ length: count }, (_, n) => reference(fields?.(n)));

const travel = { ...reference(), name: 'Travel', value: 'T', hide: 0 };
const rent = { ...reference({ code: '4020' }), name: 'Rent', value: 'R', hide: 0 };
const suspense = { ...reference({ code: '9999' }), name: 'Suspense', value: 'S', hide: 1 };

const pathOf = (target = 5, project = 'north') =>
  `/getGLCodes5?target=${target}&project=${project}&includeHide=true`;

/** Resolves references with the shared gateway. `sent` are the URLs of the calls. */
async function resolve(representations: unknown[], document = query, serviceReply = list) {
  const { service, gateway } = share(serviceReply);
  const { status, data, errors, text } = await gateway.graphql(document, { representations });
  return { status, data, errors, text, sent: service.received.map(({ url }) => url) };
}

test('as many references to one list as are allowed share one call, and an unknown or null code is null', async () => {
  const found = [travel, rent, suspense, null, null, null, null];
  const given = ['4010', '4020', '9999', 'none', null, '', '__proto__'];
  const all = references(MAX_REFERENCES, (n) => ({ code: given[n % given.length] }));
  const { data, errors, sent } = await resolve(all);
  expect(errors).toBeUndefined();
  expect(data._entities).toEqual(all.map((_, n) => found[n % found.length]));
  expect(sent).toEqual([pathOf()]);
});

test('references under several aliases and a read of all codes share one call', async () => {
  const { service, gateway } = share(list);
  const { data, errors } = await gateway.graphql(
    `query ($a: [_Any!]!, $b: [_Any!]!) {
      a: ${entities('... on GlCode { name }', '$a')}
      b: ${entities('... on GlCode { name }', '$b')}
      c: ${entities('... on GlCode { value }', '$a')}
      glCodes(target: EMAIL, project: "north", includeHide: true) { __typename }
    }`,
    { a: [reference()], b: [reference({ code: '4020' }), reference()] },
  );

  expect(errors).toBeUndefined();
  expect(data).toEqual({
    a: [{ name: 'Travel' }],
    b: [{ name: 'Rent' }, { name: 'Travel' }],
    c: [{ value: 'T' }],
    glCodes: { __typename: 'GlCodeList' },
  });
  expect(service.received.map(({ url }) => url)).toEqual([pathOf()]);
});

const idsOf = (target: string, project: string) =>
  `{ glCodes(target: ${target}, project: "${project}", includeHide: true) { ... on GlCodeList { codes { id } } } }`;

test('a code is found by the id that a list gives it, hidden or not', async () => {
  const { gateway } = share(list);
  const { data } = await gateway.graphql(idsOf('EMAIL', 'a/b ü'));
  const ids = ['4010', '4020', '9999'].map((code) => `5/a%2Fb%20%C3%BC/${code}`);
  expect(data.glCodes).toEqual({ codes: ids.map((id) => ({ id })) });

  const all = [...ids, '5/a%2Fb%20%C3%BC/none', '5/a%2Fb%20%C3%BC/', null];
  const representations = all.map((id) => ({ __typename: 'GlCode', id }));
  const found = await resolve(representations, query.replace('target', 'id target'));
  const project = 'a/b ü';
  const expected = [travel, rent, suspense].map((code, n) => ({ ...code, project, id: ids[n] }));
  expect(found.errors).toBeUndefined();
  expect(found.data._entities).toEqual([...expected, null, null, null]);
  expect(found.sent).toHaveLength(1);
});

test('an id is null without a code, or with one that is empty or not well-formed', async () => {
  const { gateway } = share(
    json('{"service_status":{"status":0},"list":[{"Name":"n"},{"Code":"\\ud800"},{"Code":""}]}'),
  );
  const { data, errors } = await gateway.graphql(idsOf('UNKNOWN', ''));
  expect(errors).toBeUndefined();
  expect(data.glCodes.codes).toEqual([{ id: null }, { id: null }, { id: null }]);
});

test('each target and project has its own call', async () => {
  const changes = [{}, { project: 'south' }, { target: 'STORAGE_DEVICE' }, { target: 'UNKNOWN' }];
  const { data, errors, sent } = await resolve([...changes, ...changes].map(reference));
  expect(errors).toBeUndefined();
  const entities = changes.map((change) => ({ ...travel, ...change }));
  expect(data._entities).toEqual([...entities, ...entities]);
  expect(sent.sort()).toEqual([pathOf(-1), pathOf(4001), pathOf(), pathOf(5, 'south')]);
});

test('a code that is listed twice resolves to null', async () => {
  const equal = [codes[0], { ...codes[0], Name: '' }];
  const twice = json({ service_status: { status: 0 }, list: equal });
  expect((await resolve([reference()], query, twice)).data._entities).toEqual([null]);
});

test('the id that a list without hidden codes has for a code resolves to null if the code is also a hidden one', async () => {
  const hidden = { ...codes[0], Name: 'Travel (old)', Hide: 1 };
  const withHidden: Reply = (response, received) => {
    const shown = received.url.includes('includeHide=true') ? [codes[0], hidden] : [codes[0]];
    return json({ service_status: { status: 0 }, list: shown })(response, received);
  };
  const { gateway } = share(withHidden);
  const idsOf = async (includeHide: boolean) => {
    const { data } = await gateway.graphql(
      `{ glCodes(target: EMAIL, project: "north", includeHide: ${includeHide}) { ... on GlCodeList { codes { id } } } }`,
    );
    return data.glCodes.codes.map(({ id }: { id: unknown }) => id);
  };
  expect(await idsOf(false)).toEqual(['5/north/4010']);
  expect(await idsOf(true)).toEqual([null, null]);
  const given = { __typename: 'GlCode', id: '5/north/4010' };
  expect((await resolve([given], query, withHidden)).data._entities).toEqual([null]);
});

const invalidIds = [
  '|5|5/north|5/north/4010/|EMAIL/north/4010|05/north/4010|13/north/4010'.split('|'),
  '5/north/%|5/north/%34010|5/a b/4010|5/%c3%bc/4010|5/%ED%A0%80/4010'.split('|'),
  [`5/${'p'.repeat(1025)}/4010`, `5/north/${'c'.repeat(257)}`, `5${'/'.repeat(500_000)}`],
  [5, {}],
].flat();

test('an invalid id is an error of its entity, and nothing is sent', async () => {
  const message = '"id" is not the id of a GlCode, such as 5/north-plant/4010.';
  const extensions = { code: 'BAD_USER_INPUT', faults: [{ path: ['id'], message }] };
  for (const id of invalidIds) {
    const { status, data, errors, sent } = await resolve([{ __typename: 'GlCode', id }]);
    expect([id, status, data, sent]).toEqual([id, 200, { _entities: [null] }, []]);
    expect(errors).toMatchObject([{ path: ['_entities', 0], extensions }]);
  }
});

test.each<[field: string, values: unknown[]]>([
  ['target', [undefined, null, 5, 'FAX', 'constructor', {}]],
  ['project', [undefined, null, 7, 'north\ud800', 'x'.repeat(1025), { a: 1 }]],
  ['code', [undefined, 4010, 'x'.repeat(257), ['4010']]],
])('a reference with an invalid %s is rejected, and others are resolved', async (field, values) => {
  for (const value of values) {
    const { status, data, errors } = await resolve([reference({ [field]: value }), reference()]);
    expect([value, status, data._entities]).toEqual([value, 200, [null, travel]]);
    const faults = [{ path: [field], message: `"${field}" is invalid.` }];
    const common = { code: 'BAD_USER_INPUT', retryable: false, requestId: expect.any(String) };
    const message = `A reference to GlCode has invalid fields: ${field}.`;
    const extensions = { ...common, faults };
    expect(errors).toEqual([{ message, path: ['_entities', 0], extensions }]);
  }
});

test('the error of a reference names all invalid fields, and no values, in a literal too', async () => {
  const literal = '[{ __typename: "GlCode", target: "SECRET", project: { a: 1 }, code: 2 }]';
  for (const { errors, text } of [
    await resolve([{ __typename: 'GlCode', target: 'SECRET', project: 1, code: 2 }]),
    await resolve([], `{ ${entities('__typename', literal)} }`),
  ]) {
    const message = 'A reference to GlCode has invalid fields: target, project, code.';
    expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT' } }]);
    expect(text).not.toContain('SECRET');
  }
});

test('each type with @key is resolved: `readReference`, `entities` and `_Entity.__resolveType` know it', async () => {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType).map(String);
  const { errors } = await resolve(types.map((__typename) => ({ __typename })));
  const isUnknown = ({ extensions }: { extensions: object }) =>
    JSON.stringify(extensions).includes('"path":["__typename"]');
  const unknown = errors?.filter(isUnknown).map(({ path }) => types[Number(path?.[1])]) ?? [];
  const union = schema.getType('_Entity');
  const withKey = isUnionType(union) ? union.getTypes().map(String) : [];
  expect(new Set(withKey)).toEqual(new Set(types).difference(new Set(unknown)));
});

test.each(['{ __typename: "Foo" }', '{ __typename: "Query" }', '5', '{}'])(
  'an invalid representation %s is an error in its place, and 401 without a token',
  async (representation) => {
    const { service, gateway } = share(list);
    const rejections: unknown[] = [];
    const record = (reason: unknown) => rejections.push(reason);
    process.on('unhandledRejection', record);
    closeAfterTest(async () => process.off('unhandledRejection', record));
    const document = `{ ${entities('__typename', `[{ __typename: "GlCode" }, ${representation}]`)} }`;

    const { errors } = await gateway.graphql(document);
    const extensions = { code: 'BAD_USER_INPUT', faults: [{ path: ['__typename'] }] };
    expect(errors).toMatchObject([{}, { path: ['_entities', 1], extensions }]);
    expect((await gateway.graphqlWithoutToken(document)).status).toBe(401);
    await new Promise((resolve) => setImmediate(resolve));
    expect(rejections).toEqual([]);
    expect(service.received).toEqual([]);
  },
);

test('with more than 500 invalid references, the field is rejected as a whole, and nothing is sent', async () => {
  const invalid = references(500, () => ({ target: 'NONE' }));
  const some = await resolve([...invalid, reference()]);
  expect(some.data._entities.at(-1)).toEqual(travel);
  expect(some.errors).toHaveLength(500);
  const { data, errors, sent } = await resolve([...invalid, ...invalid, reference()]);
  expect(data).toBeNull();
  expect(errors).toMatchObject([{ path: ['_entities'], extensions: { code: 'BAD_USER_INPUT' } }]);
  expect(sent).toEqual([]);
});

test('with more than 500 references to lists that fail, over all fields, a field fails as a whole', async () => {
  const fields = queryOf(`a: ${entities()} b: ${entities()}`);
  const { errors = [] } = await resolve(references(300), fields, reply(500));
  expect(errors.length).toBeLessThanOrEqual(301);
  expect(errors.at(-1)).toMatchObject({ extensions: { code: 'UPSTREAM_FAILED' } });
  expect(errors.filter(({ path }) => path?.length === 1)).toHaveLength(1);
});

test.each([
  ['status 1', json({ service_status: { status: 1 } }), 'UPSTREAM_FAILED', true],
  ['status 2', json({ service_status: { status: 2 } }), 'UPSTREAM_FAILED', true],
  ['status 3', json({ service_status: { status: 3 } }), 'FORBIDDEN', false],
  ['status 7', json({ service_status: { status: 7 } }), 'UPSTREAM_INVALID_RESPONSE', false],
  ['no status', json({ service_status: {} }), 'UPSTREAM_INVALID_RESPONSE', false],
  ['HTTP 500', reply(500), 'UPSTREAM_FAILED', true],
  ['no JSON', json('not JSON'), 'UPSTREAM_INVALID_RESPONSE', false],
])('a list with %s is an error for each reference to it', async (_, failure, code, retryable) => {
  const { service, gateway } = share((response, received) =>
    (received.url.includes('south') ? list : failure)(response, received),
  );
  const all = [reference(), reference({ code: '4020' }), reference({ project: 'south' })];
  const { status, data, errors } = await gateway.graphql(query, { representations: all });
  expect(status).toBe(200);
  expect(data._entities).toEqual([null, null, { ...travel, project: 'south' }]);
  const error = (n: number) => ({ path: ['_entities', n], extensions: { code, retryable } });
  expect(errors).toMatchObject([error(0), error(1)]);
  expect(service.received).toHaveLength(2);
});

const tooMany = 'OPERATION_LIMIT_EXCEEDED';

const names = Array.from({ length: 101 }, (_, n) => `a${n}: name`).join(' ');

test.each([
  ['more references than allowed', MAX_REFERENCES + 1, query, String(MAX_REFERENCES)],
  [
    'more fields of them',
    MAX_REFERENCES,
    queryOf(entities(`... on GlCode { ${names} }`)),
    'at most 50000.',
  ],
])('%s are rejected, and nothing is sent', async (_, count, document, limit) => {
  const { status, data, errors, sent } = await resolve(references(count), document);
  expect([status, data ?? null]).toEqual([400, null]);
  const message = expect.stringContaining(limit);
  expect(errors).toMatchObject([{ message, extensions: { code: tooMany, retryable: false } }]);
  expect(sent).toEqual([]);
});

test('the limit applies to all aliases of a request together', async () => {
  // Not the shared gateway: it may send the first alias's request after the response.
  const { gateway } = await startStack(list);
  const representations = references(MAX_REFERENCES / 2 + 1);
  const document = queryOf(`a: ${entities()} b: ${entities()}`);
  const { status, errors } = await gateway.graphql(document, { representations });
  expect(status).toBe(400);
  expect(errors?.map(({ extensions }) => extensions.code)).toContain(tooMany);
});

test('references to more lists than allowed are rejected before sending', async () => {
  const all = references(MAX_LOOKUPS + 1, (n) => ({ project: `p${n}` }));
  const { status, errors, sent } = await resolve(all);
  expect(status).toBe(400);
  expect(errors?.map(({ extensions }) => extensions.code)).toContain(tooMany);
  expect(sent).toEqual([]);
});

test('the largest allowed number of lists is requested', async () => {
  const all = references(MAX_LOOKUPS, (n) => ({ project: `p${n}` }));
  const { errors, sent } = await resolve(all);
  expect(errors).toBeUndefined();
  expect(sent).toHaveLength(MAX_LOOKUPS);
});

/** The composition of a supergraph with only this subgraph. */
const compose = (sdl: string) => composeWithApollo([{ name: 'ledger', sdl }]);
const composed = compose(ledgerSdl);

test('INTROSPECTION=true reveals the schema and the SDL of schema.graphql', async () => {
  const { gateway } = shareOpen(list);
  const { status, data } = await gateway.graphql(
    '{ _service { sdl } __schema { mutationType { name } } }',
  );
  expect(status).toBe(200);
  expect(data.__schema).toEqual({ mutationType: { name: 'Mutation' } });
  expect(data._service.sdl).toContain('@key(fields: "target project code")');
  expect(data._service.sdl).toContain('https://specs.apollo.dev/federation/v2.3');
  expect(composed.errors).toEqual([]);
  expect(compose(data._service.sdl)).toEqual(composed);
});

test.each([
  ...['{ _service { sdl } }', '{ other: _service { sdl } }'],
  'query { ...all } fragment all on Query { _service { sdl } }',
  '{ ... { _service { __typename } } }',
  '{ __schema { types { name } } }',
  '{ __type(name: "GlCode") { name } }',
])('INTROSPECTION=false rejects %s', async (document) => {
  const { status, data, errors } = await share(list).gateway.graphql(document);
  expect([status, data]).toEqual([400, undefined]);
  expect(errors).toMatchObject([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]);
  expect(JSON.stringify(errors)).not.toContain('LedgerFailed');
});
