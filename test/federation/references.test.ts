import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { MAX_LOOKUPS, MAX_REFERENCES } from '../../src/graphql/response-limits.ts';
import { closeAfterTest } from '../support/cleanup.ts';
import { startTestGateway } from '../support/gateway.ts';
import { json, type Reply, reply, startService } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { composeWithApollo, ledgerSdl } from './composition.ts';

const query = `query ($representations: [_Any!]!) {
  _entities(representations: $representations) {
    __typename
    ... on GlCode { target project code name value hide }
  }
}`;

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

const travel = { ...reference(), name: 'Travel', value: 'T', hide: 0 };
const rent = { ...reference({ code: '4020' }), name: 'Rent', value: 'R', hide: 0 };
const suspense = { ...reference({ code: '9999' }), name: 'Suspense', value: 'S', hide: 1 };

const listCall = expect.objectContaining({
  method: 'GET',
  url: '/getGLCodes5?target=5&project=north&includeHide=true',
});

test('all references to one list share one call, which includes hidden codes', async () => {
  const { service, gateway } = share(list);

  const representations = Array.from({ length: 300 }, (_, index) =>
    reference({ code: index % 2 ? '4020' : '4010' }),
  );
  const { data, errors } = await gateway.graphql(query, { representations });

  expect(errors).toBeUndefined();
  expect(data._entities).toEqual(representations.map((_, index) => (index % 2 ? rent : travel)));
  expect(service.received).toEqual([listCall]);
});

test('references under several aliases share one call', async () => {
  const { service, gateway } = share(list);

  const { data, errors } = await gateway.graphql(
    `query ($a: [_Any!]!, $b: [_Any!]!) {
      a: _entities(representations: $a) { ... on GlCode { name } }
      b: _entities(representations: $b) { ... on GlCode { name } }
      c: _entities(representations: $a) { ... on GlCode { value } }
    }`,
    { a: [reference()], b: [reference({ code: '4020' }), reference()] },
  );

  expect(errors).toBeUndefined();
  expect(data).toEqual({
    a: [{ name: 'Travel' }],
    b: [{ name: 'Rent' }, { name: 'Travel' }],
    c: [{ value: 'T' }],
  });
  expect(service.received).toEqual([listCall]);
});

test('references share the call of a read that includes the hidden codes of the same project', async () => {
  const { service, gateway } = share(list);

  const { data, errors } = await gateway.graphql(
    `query ($representations: [_Any!]!) {
      glCodes(target: EMAIL, project: "north", includeHide: true) { ... on GlCodeList { codes { code } } }
      _entities(representations: $representations) { ... on GlCode { name } }
    }`,
    { representations: [reference()] },
  );

  expect(errors).toBeUndefined();
  expect(data._entities).toEqual([{ name: 'Travel' }]);
  expect(service.received).toEqual([listCall]);
});

test('a code is found by the id that a list gives it, hidden or not', async () => {
  const { service, gateway } = share(list);
  const { data } = await gateway.graphql(
    '{ glCodes(target: EMAIL, project: "a/b ü", includeHide: true) { ... on GlCodeList { codes { id } } } }',
  );
  const ids = ['4010', '4020', '9999'].map((code) => `5/a%2Fb%20%C3%BC/${code}`);
  expect(data.glCodes).toEqual({ codes: ids.map((id) => ({ id })) });

  const representations = [...ids, '5/a%2Fb%20%C3%BC/none', '5/a%2Fb%20%C3%BC/', null].map(
    (id) => ({ __typename: 'GlCode', id }),
  );
  service.received.length = 0;
  const found = await gateway.graphql(query.replace('target', 'id target'), { representations });

  const project = 'a/b ü';
  const expected = [travel, rent, suspense].map((code, n) => ({ ...code, project, id: ids[n] }));
  expect(found.errors).toBeUndefined();
  expect(found.data._entities).toEqual([...expected, null, null, null]);
  expect(service.received).toHaveLength(1);
});

test('an id is null without a code, or with one that is not well-formed', async () => {
  const { gateway } = share(
    json('{"service_status":{"status":0},"list":[{},{"Code":"\\ud800"},{"Code":""}]}'),
  );
  const { data, errors } = await gateway.graphql(
    '{ glCodes(target: UNKNOWN, project: "") { ... on GlCodeList { codes { id } } } }',
  );
  expect(errors).toBeUndefined();
  expect(data.glCodes.codes).toEqual([{ id: null }, { id: null }, { id: '-1//' }]);
});

test.each([
  '',
  '5',
  '5/north',
  '5/north/4010/',
  'EMAIL/north/4010',
  '05/north/4010',
  '13/north/4010',
  '5/north/%',
  '5/north/%34010',
  '5/a b/4010',
  '5/%c3%bc/4010',
  '5/%ED%A0%80/4010',
  `5/${'p'.repeat(1025)}/4010`,
  `5/north/${'c'.repeat(257)}`,
  5,
  {},
])('the invalid id %j is an error of its entity, and nothing is sent', async (id) => {
  const { service, gateway } = share(list);

  const { status, data, errors } = await gateway.graphql(query, {
    representations: [{ __typename: 'GlCode', id }],
  });

  expect([status, data._entities]).toEqual([200, [null]]);
  const message = '"id" is not the id of a GlCode, such as 5/north-plant/4010.';
  const faults = [{ path: ['id'], message }];
  expect(errors).toEqual([
    expect.objectContaining({
      path: ['_entities', 0],
      extensions: expect.objectContaining({ code: 'BAD_USER_INPUT', faults }),
    }),
  ]);
  expect(service.received).toEqual([]);
});

test('each target and project has its own call', async () => {
  const { service, gateway } = share(list);

  const { data, errors } = await gateway.graphql(query, {
    representations: [
      reference(),
      reference({ project: 'south' }),
      reference({ target: 'STORAGE_DEVICE' }),
      reference({ target: 'UNKNOWN' }),
      reference({ project: 'south', code: '4020' }),
    ],
  });

  expect(errors).toBeUndefined();
  expect(data._entities).toEqual([
    travel,
    { ...travel, project: 'south' },
    { ...travel, target: 'STORAGE_DEVICE' },
    { ...travel, target: 'UNKNOWN' },
    { ...rent, project: 'south' },
  ]);
  expect(service.received.map(({ url }) => url).sort()).toEqual([
    '/getGLCodes5?target=-1&project=north&includeHide=true',
    '/getGLCodes5?target=4001&project=north&includeHide=true',
    '/getGLCodes5?target=5&project=north&includeHide=true',
    '/getGLCodes5?target=5&project=south&includeHide=true',
  ]);
});

test('a hidden code is found, and an unknown or null code is null', async () => {
  const { gateway } = share(list);

  const { data, errors } = await gateway.graphql(query, {
    representations: [
      reference({ code: '9999' }),
      reference({ code: 'none' }),
      reference({ code: null }),
      reference({ code: '' }),
      reference({ code: '__proto__' }),
    ],
  });

  expect(errors).toBeUndefined();
  expect(data._entities).toEqual([suspense, null, null, null, null]);
});

test('of two equal codes, the first one counts', async () => {
  const twice = [codes[0], { ...codes[0], Name: 'Again' }];
  const { gateway } = share(json({ service_status: { status: 0 }, list: twice }));

  const { data } = await gateway.graphql(query, { representations: [reference()] });

  expect(data._entities).toEqual([travel]);
});

test.each([
  ['target', 'a missing target', { target: undefined }],
  ['target', 'a null target', { target: null }],
  ['target', 'an integer, as the service uses', { target: 5 }],
  ['target', 'an unknown name', { target: 'FAX' }],
  ['target', 'a property name of Object.prototype', { target: 'constructor' }],
  ['project', 'a missing project', { project: undefined }],
  ['project', 'a null project', { project: null }],
  ['project', 'a project that is not a string', { project: 7 }],
  ['project', 'a project with a lone surrogate', { project: 'north\ud800' }],
  ['project', 'a project of more than 1,024 characters', { project: 'x'.repeat(1025) }],
  ['code', 'a missing code', { code: undefined }],
  ['code', 'a code that is not a string', { code: 4010 }],
  ['code', 'a code of more than 256 characters', { code: 'x'.repeat(257) }],
  ['code', 'a list of codes', { code: ['4010'] }],
])(
  'a reference with an invalid %s (%s) is rejected, and others are resolved',
  async (field, _, fields) => {
    const { gateway } = share(list);

    const { status, data, errors } = await gateway.graphql(query, {
      representations: [reference(fields), reference()],
    });

    expect(status).toBe(200);
    expect(data._entities).toEqual([null, travel]);
    expect(errors).toEqual([
      {
        message: `A reference to GlCode has invalid fields: ${field}.`,
        path: ['_entities', 0],
        extensions: {
          code: 'BAD_USER_INPUT',
          retryable: false,
          requestId: expect.any(String),
          faults: [{ path: [field], message: `"${field}" is invalid.` }],
        },
      },
    ]);
  },
);

test('the error of a reference names all invalid fields, and no values', async () => {
  const { gateway } = share(list);

  const { errors, text } = await gateway.graphql(query, {
    representations: [{ __typename: 'GlCode', target: 'SECRET', project: 1, code: 2 }],
  });

  expect(errors?.[0]?.message).toBe(
    'A reference to GlCode has invalid fields: target, project, code.',
  );
  expect(text).not.toContain('SECRET');
});

test('with more than 500 invalid references, the field is rejected as a whole, and nothing is sent', async () => {
  const { gateway, service } = share(list);
  const invalid = Array.from({ length: 500 }, () => reference({ target: 'NONE' }));

  const some = await gateway.graphql(query, { representations: [...invalid, reference()] });
  expect(some.data._entities.at(-1)).toEqual(travel);
  expect(some.errors).toHaveLength(500);
  expect(service.received).toHaveLength(1);
  const { data, errors } = await gateway.graphql(query, {
    representations: [...invalid, ...invalid, reference()],
  });
  expect(data).toBeNull();
  expect(errors).toMatchObject([{ path: ['_entities'], extensions: { code: 'BAD_USER_INPUT' } }]);
  expect(service.received).toHaveLength(1);
});

test('with more than 500 references to lists that fail, over all fields, a field fails as a whole', async () => {
  const { gateway } = share(reply(500));
  const representations = Array.from({ length: 300 }, () => reference());
  const field = '_entities(representations: $representations) { __typename }';

  const { errors = [] } = await gateway.graphql(
    `query ($representations: [_Any!]!) { a: ${field} b: ${field} }`,
    { representations },
  );
  expect(errors.length).toBeLessThanOrEqual(301);
  expect(errors.at(-1)).toMatchObject({ extensions: { code: 'UPSTREAM_FAILED' } });
  expect(errors.filter(({ path }) => path?.length === 1)).toHaveLength(1);
});

test('an id that is too long is invalid', async () => {
  const { gateway } = share(list);
  const representations = [{ __typename: 'GlCode', id: `5${'/'.repeat(500_000)}` }];
  const { errors } = await gateway.graphql(query, { representations });
  expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
});

test.each([
  ['status 1', json({ service_status: { status: 1 } }), 'UPSTREAM_FAILED', true],
  ['status 2', json({ service_status: { status: 2 } }), 'UPSTREAM_FAILED', true],
  ['status 3', json({ service_status: { status: 3 } }), 'FORBIDDEN', false],
  ['status 7', json({ service_status: { status: 7 } }), 'UPSTREAM_INVALID_RESPONSE', false],
  ['no status', json({ service_status: {} }), 'UPSTREAM_INVALID_RESPONSE', false],
  ['HTTP 400', reply(400), 'UPSTREAM_BAD_REQUEST', false],
  ['HTTP 401', reply(401), 'UNAUTHENTICATED', false],
  ['HTTP 403', reply(403), 'FORBIDDEN', false],
  ['HTTP 500', reply(500), 'UPSTREAM_FAILED', true],
  ['no JSON', json('not JSON'), 'UPSTREAM_INVALID_RESPONSE', false],
])(
  'a list with %s is an error for each reference to it',
  async (_, serviceReply, code, retryable) => {
    const { service, gateway } = share(serviceReply);

    const { status, data, errors } = await gateway.graphql(query, {
      representations: [reference(), reference({ code: '4020' })],
    });

    expect(status).toBe(200);
    expect(data._entities).toEqual([null, null]);
    expect(errors).toHaveLength(2);
    expect(errors?.map(({ path }) => path)).toEqual([
      ['_entities', 0],
      ['_entities', 1],
    ]);
    for (const { extensions } of errors ?? [])
      expect(extensions).toMatchObject({ code, retryable });
    expect(service.received).toHaveLength(1);
  },
);

test('the error of one list does not affect another', async () => {
  const { gateway } = share((response, received) =>
    (received.url.includes('project=south') ? reply(403) : list)(response, received),
  );

  const { data, errors } = await gateway.graphql(query, {
    representations: [reference(), reference({ project: 'south' })],
  });

  expect(data._entities).toEqual([travel, null]);
  expect(errors).toEqual([expect.objectContaining({ path: ['_entities', 1] })]);
});

test('the largest allowed number of references shares one call', async () => {
  const { service, gateway } = share(list);

  const representations = Array.from({ length: MAX_REFERENCES }, () => reference());
  const { data, errors } = await gateway.graphql(query, { representations });

  expect(errors).toBeUndefined();
  expect(data._entities).toHaveLength(MAX_REFERENCES);
  expect(service.received).toEqual([listCall]);
});

test('one reference more is rejected, and nothing is sent to the service', async () => {
  const { service, gateway } = share(list);

  const representations = Array.from({ length: MAX_REFERENCES + 1 }, () => reference());
  const { status, data, errors } = await gateway.graphql(query, { representations });

  expect(status).toBe(400);
  expect(data ?? null).toBeNull();
  expect(errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining(String(MAX_REFERENCES)),
      extensions: expect.objectContaining({ code: 'OPERATION_LIMIT_EXCEEDED', retryable: false }),
    }),
  ]);
  expect(service.received).toEqual([]);
});

test('the limit applies to all aliases of a request together', async () => {
  // Not the shared gateway: it may send the first alias's request after the response.
  const gateway = await startTestGateway(await startService(list));

  const half = Array.from({ length: MAX_REFERENCES / 2 + 1 }, () => reference());
  const { status, errors } = await gateway.graphql(
    `query ($half: [_Any!]!) {
      a: _entities(representations: $half) { __typename }
      b: _entities(representations: $half) { __typename }
    }`,
    { half },
  );

  expect(status).toBe(400);
  expect(errors?.map(({ extensions }) => extensions.code)).toContain('OPERATION_LIMIT_EXCEEDED');
});

test.each([
  ['references', MAX_LOOKUPS + 1, '__typename'],
  ['references and fields', MAX_LOOKUPS, 'glCodes(target: EMAIL, project: "other") { __typename }'],
])('more lists than allowed in %s are rejected before sending', async (_, count, field) => {
  const { service, gateway } = share(list);

  const representations = Array.from({ length: count }, (_, n) => reference({ project: `p${n}` }));
  const { status, errors } = await gateway.graphql(
    `query ($representations: [_Any!]!) { ${field} _entities(representations: $representations) { __typename } }`,
    { representations },
  );

  expect(status).toBe(400);
  expect(errors?.map(({ extensions }) => extensions.code)).toContain('OPERATION_LIMIT_EXCEEDED');
  await gateway.graphql('{ __typename }');
  expect(service.received).toEqual([]);
});

test('the largest allowed number of lists is requested', async () => {
  const { service, gateway } = share(list);

  const representations = Array.from({ length: MAX_LOOKUPS }, (_, n) =>
    reference({ project: `p${n}` }),
  );
  const { errors } = await gateway.graphql(query, { representations });

  expect(errors).toBeUndefined();
  expect(service.received).toHaveLength(MAX_LOOKUPS);
});

test('references whose response would be too large are rejected before sending', async () => {
  const { service, gateway } = share(list);

  const fields = Array.from({ length: 190 }, (_, n) => `${'a'.repeat(600)}${n}: name`).join(' ');
  const { status, errors } = await gateway.graphql(
    `query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on GlCode { ${fields} } } }`,
    { representations: Array(MAX_REFERENCES).fill(reference()) },
  );

  expect(status).toBe(400);
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['OPERATION_LIMIT_EXCEEDED']);
  expect(service.received).toEqual([]);
});

test.each(['{ __typename: "GlCode", target: {}, project: { a: 1 }, code: "1" }'])(
  'a representation %s with objects is invalid in its place',
  async (representation) => {
    const { gateway } = share(list);
    const { errors } = await gateway.graphql(
      `{ _entities(representations: [${representation}]) { __typename } }`,
    );
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['BAD_USER_INPUT']);
  },
);

test('references without a token get 401', async () => {
  const { service, gateway } = share(list);

  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { representations: [reference()] } }),
  });

  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
  expect(await response.json()).toMatchObject({
    errors: [{ extensions: { code: 'UNAUTHENTICATED', retryable: false } }],
  });
  expect(service.received).toEqual([]);
});

/** Posts a document with or without a token. */
async function post(gateway: { url: string; token: string }, document: string, withToken: boolean) {
  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(withToken ? { authorization: `Bearer ${gateway.token}` } : {}),
    },
    body: JSON.stringify({ query: document }),
  });
  return { status: response.status, text: await response.text() };
}

/** The composition of a supergraph with only this subgraph. */
function compose(sdl: string) {
  return composeWithApollo([{ name: 'ledger', sdl }]);
}

const composed = compose(ledgerSdl);

const clients = [
  ['with a token', true],
  ['without a token', false],
] as const;

test.each(clients)(
  'INTROSPECTION=true reveals the SDL of schema.graphql, %s',
  async (_, withToken) => {
    const { gateway } = shareOpen(list);

    const { status, text } = await post(gateway, '{ _service { sdl } }', withToken);

    expect(status).toBe(200);
    const { data } = z
      .object({ data: z.object({ _service: z.object({ sdl: z.string() }) }) })
      .parse(JSON.parse(text));
    expect(data._service.sdl).toContain('@key(fields: "target project code")');
    expect(data._service.sdl).toContain('https://specs.apollo.dev/federation/v2.3');
    expect(composed.errors).toEqual([]);
    expect(compose(data._service.sdl)).toEqual(composed);
  },
);

test.each(clients)('INTROSPECTION=true allows __schema, %s', async (_, withToken) => {
  const { gateway } = shareOpen(list);

  const { status, text } = await post(gateway, '{ __schema { mutationType { name } } }', withToken);

  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual({ data: { __schema: { mutationType: { name: 'Mutation' } } } });
});

test.each(
  clients.flatMap(([name, withToken]) =>
    [
      '{ _service { sdl } }',
      '{ other: _service { sdl } }',
      'query { ...all } fragment all on Query { _service { sdl } }',
      '{ ... { _service { __typename } } }',
      '{ __schema { types { name } } }',
      '{ __type(name: "GlCode") { name } }',
    ].map((document) => [document, name, withToken] as const),
  ),
)('INTROSPECTION=false rejects %s, %s', async (document, _, withToken) => {
  const { gateway } = share(list);

  const { status, text } = await post(gateway, document, withToken);

  expect(status).toBe(withToken ? 400 : 401);
  const body = z
    .object({
      errors: z.array(z.object({ extensions: z.object({ code: z.string() }) })).min(1),
    })
    .parse(JSON.parse(text));
  expect(new Set(body.errors.map(({ extensions }) => extensions.code))).toEqual(
    new Set([withToken ? 'GRAPHQL_VALIDATION_FAILED' : 'UNAUTHENTICATED']),
  );
  expect(text).not.toMatch(/"data"|LedgerFailed/);
});

test.each([
  ['a field', '{ glCode(target: EMAIL, project: "north") { __typename } }', 'glCodes'],
  ['an argument', '{ glCodes(target: EMAIL, projects: "n") { __typename } }', '"project"'],
  ['a value', '{ glCodes(target: E_MAIL, project: "n") { __typename } }', '"EMAIL"'],
  [
    'a type',
    '{ glCodes(target: EMAIL, project: "n") { ... on GlCodesList { codes } } }',
    'GlCodeList',
  ],
  [
    'an input field',
    'mutation { uploadWorkflowCsv(input: { fileNam: "a" }) { __typename } }',
    '"fileName"?',
  ],
])(
  '%s that is misspelled gets a suggestion only with INTROSPECTION=true',
  async (_, document, hint) => {
    const suggesting = await post(shareOpen(list).gateway, document, true);
    const silent = await post(share(list).gateway, document, true);

    expect(suggesting.status).toBe(400);
    expect(suggesting.text).toContain('Did you mean');
    expect(suggesting.text).toContain(JSON.stringify(hint).slice(1, -1));
    expect(silent.status).toBe(400);
    expect(silent.text).not.toContain('Did you mean');
  },
);

test.each(['{ __typename: "Foo" }', '{ __typename: "Query" }', '5', '{}'])(
  'an invalid representation %s fails only its own request',
  async (representation) => {
    const { service, gateway } = share(json({ service_status: { status: 0 }, list: [] }));
    const rejections: unknown[] = [];
    const record = (reason: unknown) => rejections.push(reason);
    process.on('unhandledRejection', record);
    closeAfterTest(async () => process.off('unhandledRejection', record));
    const query = `{ _entities(representations: [{ __typename: "GlCode" }, ${representation}]) { __typename } }`;

    const { errors } = await gateway.graphql(query);
    const withoutToken = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });

    expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    expect(withoutToken.status).toBe(401);
    await new Promise((resolve) => setImmediate(resolve));
    expect(rejections).toEqual([]);
    expect(service.received).toEqual([]);
  },
);
