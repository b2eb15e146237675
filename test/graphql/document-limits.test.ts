import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { json, startService } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const success = json({ status: 0, service_status: { status: 0 }, list: [] });
const share = shareGateway();
const start = () => share(success);

/** Starts a gateway with its own environment. */
async function startWith(variables: Record<string, string>) {
  const service = await startService(success);
  return { service, gateway: await startTestGateway(service, variables) };
}

const write = 'workflowAction(action: RESTART) { __typename }';
const repeat = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index)).join(' ');
const codes = 'glCodes(target: EMAIL, project: "a") { __typename }';

const overLimit: [name: string, document: string, limit: string][] = [
  ['writes with aliases', `mutation { ${repeat(6, (n) => `a${n}: ${write}`)} }`, 'writes'],
  [
    'writes in fragments',
    `mutation { ...A ...B } fragment A on Mutation { ${repeat(3, (n) => `a${n}: ${write}`)} } fragment B on Mutation { ...C } fragment C on Mutation { ${repeat(3, (n) => `b${n}: ${write}`)} }`,
    'writes',
  ],
  [
    'writes in nested inline fragments',
    `mutation { ... on Mutation { a: ${write} ... { b: ${write} ... @include(if: true) { c: ${write} d: ${write} } } } e: ${write} f: ${write} }`,
    'writes',
  ],
  [
    'writes in an operation that is not selected',
    `query { __typename } mutation Other { ${repeat(6, (n) => `a${n}: ${write}`)} }`,
    'writes',
  ],
  ['tokens', `{ ${repeat(4001, () => '__typename')} }`, 'tokens'],
  ['bytes', `{ __typename } #${'é'.repeat(65_600)}`, 'bytes'],
  ['levels', `{ ${'a { '.repeat(21)} b ${'}'.repeat(21)} }`, 'levels of fields'],
  [
    'levels with fragments',
    `{ ...A } fragment A on Query { ${'a { '.repeat(15)} ...B ${'}'.repeat(15)} } fragment B on X { ${'b { '.repeat(15)} c ${'}'.repeat(15)} }`,
    'levels of fields',
  ],
  [
    'levels of list types',
    'query ($list: [[[Float]]]) { _entities(representations: [{ x: $list }]) { __typename } }',
    'levels of list types',
  ],
  ['aliases', `{ ${repeat(201, (n) => `a${n}: __typename`)} }`, 'aliases'],
  [
    'aliases in fragments',
    `{ ...A } fragment A on Query { ${repeat(101, (n) => `a${n}: __typename`)} ...B } fragment B on Query { ${repeat(101, (n) => `b${n}: __typename`)} }`,
    'aliases',
  ],
  ['directives', `{ __typename ${'@include(if: true) '.repeat(51)} }`, 'directives'],
  [
    'directives on the operation',
    `query ${'@include(if: true) '.repeat(51)} { __typename }`,
    'directives',
  ],
  [
    'directives on a fragment',
    `{ ...A } fragment A on Query ${'@include(if: true) '.repeat(51)} { __typename }`,
    'directives',
  ],
  ['fields of one response name', `{ ${'__typename '.repeat(51)} }`, 'fields of one response name'],
  [
    'fields of one response name in merged fields',
    `{ ${repeat(3, () => `glCodes(target: EMAIL, project: "a") { ${'__typename '.repeat(17)} }`)} }`,
    'fields of one response name',
  ],
  [
    'comparisons of fields',
    `{ ${repeat(3, (n) => `a${n}: __typename `.repeat(41))} }`,
    'comparisons of fields',
  ],
  [
    'fragments',
    `{ ${repeat(101, (n) => `...F${n}`)} } ${repeat(101, (n) => `fragment F${n} on Query { __typename }`)}`,
    'fragments',
  ],
  [
    'fragment spreads',
    `{ ...F0 } ${repeat(11, (n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`)} fragment F11 on Query { ...None }`,
    'fragment spreads',
  ],
  [
    'fields for introspection',
    `{ ${repeat(6, (n) => `a${n}: __schema { types { name } }`)} }`,
    'fields for introspection',
  ],
  ['characters in a name', `{ ${'a'.repeat(257)}: __typename }`, 'characters in a name'],
  ['root fields', `{ ${repeat(201, (n) => `f${n}`)} }`, 'root fields'],
];

test.each(overLimit)('a document with too many %s is rejected', async (_, query, limit) => {
  const { service, gateway } = start();

  const { status, data, errors } = await gateway.graphql(query, undefined, {
    'x-request-id': 'request-1',
  });

  expect(status).toBe(400);
  expect(data).toBeUndefined();
  expect(errors).toEqual([
    {
      message: expect.stringContaining(` ${limit}: at most `),
      extensions: {
        code: 'OPERATION_LIMIT_EXCEEDED',
        requestId: 'request-1',
        retryable: false,
      },
    },
  ]);
  expect(service.received).toEqual([]);
});

test('a document over a limit is rejected each time, and for GET too', async () => {
  const { gateway } = start();
  const query = `{ ${repeat(201, (n) => `a${n}: __typename`)} }`;
  for (const _ of [1, 2]) expect((await gateway.graphql(query)).status).toBe(400);
  const response = await fetch(`${gateway.url}/graphql?query=${encodeURIComponent(query)}`, {
    headers: { authorization: `Bearer ${gateway.token}` },
  });
  expect(response.status).toBe(400);
  expect(JSON.parse(await response.text()).errors[0].extensions.code).toBe(
    'OPERATION_LIMIT_EXCEEDED',
  );
});

test('the largest allowed number of writes is sent', async () => {
  const { service, gateway } = start();
  const { errors } = await gateway.graphql(`mutation { ${repeat(5, (n) => `a${n}: ${write}`)} }`);
  expect(errors).toBeUndefined();
  expect(service.received).toHaveLength(5);
});

test('MAX_WRITES_PER_OPERATION sets the limit of writes', async () => {
  const { service, gateway } = await startWith({ MAX_WRITES_PER_OPERATION: '1' });
  expect((await gateway.graphql(`mutation { a: ${write} }`)).status).toBe(200);
  expect((await gateway.graphql(`mutation { a: ${write} b: ${write} }`)).status).toBe(400);
  expect(service.received).toHaveLength(1);
});

test('the same write spread twice is one write', async () => {
  const { service, gateway } = await startWith({ MAX_WRITES_PER_OPERATION: '1' });
  const { errors } = await gateway.graphql(
    `mutation { ...A ...A ${write} } fragment A on Mutation { ${write} }`,
  );
  expect(errors).toBeUndefined();
  expect(service.received).toHaveLength(1);
});

test('reads are not counted as writes', async () => {
  const { gateway } = start();
  const { status, errors } = await gateway.graphql(`{ ${repeat(50, (n) => `a${n}: ${codes}`)} }`);
  expect(status).toBe(200);
  expect(errors).toBeUndefined();
});

test.each([
  ['of one fragment', '{ ...A } fragment A on Query { ...A }'],
  [
    'of two fragments',
    '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A __typename }',
  ],
  [
    'on Mutation',
    `mutation { ...A } fragment A on Mutation { ${write} ...B } fragment B on Mutation { ...A }`,
  ],
])('a fragment cycle %s is rejected', async (_, query) => {
  const { service, gateway } = start();
  const { status, errors } = await gateway.graphql(query);
  expect(status).toBe(400);
  expect(errors?.[0]?.extensions.code).toBe('OPERATION_LIMIT_EXCEEDED');
  expect(service.received).toEqual([]);
});

test('fragments that double at each level are rejected quickly', async () => {
  const { gateway } = start();
  const fragments = repeat(
    200,
    (n) => `fragment F${n} on Query { ...F${n + 1} ... on Query { ...F${n + 1} } }`,
  );
  const began = performance.now();

  const { status, errors } = await gateway.graphql(
    `{ ...F0 } ${fragments} fragment F200 on Query { __typename }`,
  );

  expect(status).toBe(400);
  expect(errors?.[0]?.extensions.code).toBe('OPERATION_LIMIT_EXCEEDED');
  expect(performance.now() - began).toBeLessThan(3000);
});

test.each([
  ['with a syntax error', '{', 'GRAPHQL_PARSE_FAILED'],
  ['with a syntax error at the word "tokens"', 'query a tokens { b }', 'GRAPHQL_PARSE_FAILED'],
  ['with an unknown field', '{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
  ['with an unknown fragment', '{ ...A }', 'GRAPHQL_VALIDATION_FAILED'],
])('a document %s gets the code of that error', async (_, query, code) => {
  const { gateway } = start();
  const { status, errors } = await gateway.graphql(query);
  expect(status).toBe(400);
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual([code]);
});

test('a document with more than ten operations is rejected', async () => {
  const { service, gateway } = start();
  const document = repeat(11, (n) => `query Q${n} { __typename }`);
  const { status, errors } = await gateway.graphql(document);
  expect(status).toBe(400);
  expect(errors?.[0]?.extensions.code).toBe('OPERATION_LIMIT_EXCEEDED');
  expect(service.received).toEqual([]);
});

test('the limits apply to a document in a URL that is decoded only partly', async () => {
  const { gateway } = start();
  const document = `{${repeat(201, (n) => `a${n}:__typename,`)}}`;
  const url = `${gateway.url}/graphql?query=${encodeURIComponent(document)}%23%zz`;
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${gateway.token}` },
  });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('aliases');
});

test('at most ten validation errors are reported, each with its place', async () => {
  const { gateway } = start();
  const { status, text } = await gateway.post({ query: `{\r\n\r${repeat(12, () => '\n a')} }` });
  expect(status).toBe(400);
  const { errors } = JSON.parse(text);
  expect(errors).toHaveLength(10);
  expect(errors[0]).toMatchObject({
    message: 'Cannot query field "a" on type "Query".',
    locations: [{ line: 3, column: 2 }],
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
  });
  expect(errors[9].message).toMatch('Too many validation errors');
});

/** A list of so many codes. */
const listOf = (count: number) =>
  json({ service_status: { status: 0 }, list: Array(count).fill({ Code: '1' }) });
const select = (fields: number) =>
  `glCodes(target: EMAIL, project: "a") { ... on GlCodeList { codes { ${repeat(fields, (n) => `a${n}: code`)} } } }`;

test('the fields of all lists of one operation are limited', async () => {
  const { gateway } = share(listOf(10_001));
  const { status, data, errors } = await gateway.graphql(`{ a: ${select(30)} b: ${select(20)} }`);
  expect(status).toBe(400);
  expect(data.a?.codes ?? data.b?.codes).toHaveLength(10_001);
  expect(errors).toMatchObject([
    {
      message: expect.stringContaining('500000'),
      extensions: { code: 'OPERATION_LIMIT_EXCEEDED' },
    },
  ]);
});

test('a long list with conditions is compiled at its first execution', async () => {
  const { service, gateway } = share(listOf(10_001));
  const { data, errors } = await gateway.graphql(
    `query ($on: Boolean!) { ${select(6)} b: ${select(100).replace(')', ') @include(if: $on)')} }`,
    { on: false },
  );
  expect(errors).toBeUndefined();
  expect(Object.keys(data)).toEqual(['glCodes']);
  expect(data.glCodes.codes).toHaveLength(10_001);
  expect(service.received).toHaveLength(1);
});

test('a long list is limited to fewer fields where nothing is compiled', async () => {
  const { gateway } = share(listOf(10_001));
  const entities = '_entities(representations: []) { __typename }';
  expect((await gateway.graphql(`{ ${entities} ${select(4)} }`)).errors).toBeUndefined();
  const { status, data, errors } = await gateway.graphql(`{ ${entities} ${select(5)} }`);
  expect([status, data.glCodes]).toEqual([400, null]);
  expect(errors?.[0]?.message).toContain('50000');
});

test('aliases of one list are limited by the size of the response', async () => {
  const record = { Code: '1', Name: 'x'.repeat(200), Value: 'y', Hide: 0 };
  const list = Array(40).fill(record);
  const service = await startService(json({ service_status: { status: 0 }, list }));
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_RESPONSE_BYTES: '16384' });
  const document = (count: number) =>
    `{ ${repeat(count, (n) => `a${n}: glCodes(target: EMAIL, project: "a") { ...F }`)} }
    fragment F on GlCodeList { codes { a: name b: name c: name } }`;

  const within = await gateway.graphql(document(5));
  expect(within.errors).toBeUndefined();
  expect(within.data.a4.codes).toHaveLength(40);

  const beyond = await gateway.graphql(document(30));
  expect(beyond.errors?.[0]?.extensions).toMatchObject({
    code: 'OPERATION_LIMIT_EXCEEDED',
    retryable: false,
  });
  expect(beyond.data.a0.codes).toHaveLength(40);
  expect(beyond.data.a29).toBeNull();
  expect(service.received).toHaveLength(2);
});
