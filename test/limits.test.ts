import { expect, test } from '@jest/globals';
import { json, startService, startTestGateway } from './helper.ts';

async function start(variables: Record<string, string> = {}) {
  const service = await startService(json({ status: 0, service_status: { status: 0 }, list: [] }));
  return { service, gateway: await startTestGateway(service, variables) };
}

const write = 'workflowAction(action: RESTART) { __typename }';
const repeat = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index)).join(' ');
const codes = 'glCodes(target: EMAIL, project: "a") { __typename }';

const tooMany: [what: string, document: string, name: string][] = [
  ['writes by aliases', `mutation { ${repeat(6, (n) => `a${n}: ${write}`)} }`, 'writes'],
  [
    'writes by fragments',
    `mutation { ...A ...B } fragment A on Mutation { ${repeat(3, (n) => `a${n}: ${write}`)} } fragment B on Mutation { ...C } fragment C on Mutation { ${repeat(3, (n) => `b${n}: ${write}`)} }`,
    'writes',
  ],
  [
    'writes by nested inline fragments',
    `mutation { ... on Mutation { a: ${write} ... { b: ${write} ... @include(if: true) { c: ${write} d: ${write} } } } e: ${write} f: ${write} }`,
    'writes',
  ],
  [
    'writes in an operation that is not the one asked for',
    `query { __typename } mutation Other { ${repeat(6, (n) => `a${n}: ${write}`)} }`,
    'writes',
  ],
  ['tokens', `{ ${repeat(8001, () => '__typename')} }`, 'tokens'],
  ['bytes', `{ __typename } #${'é'.repeat(65_600)}`, 'bytes'],
  ['levels', `{ ${'a { '.repeat(21)} b ${'}'.repeat(21)} }`, 'levels of fields'],
  [
    'levels by fragments',
    `{ ...A } fragment A on Query { ${'a { '.repeat(15)} ...B ${'}'.repeat(15)} } fragment B on X { ${'b { '.repeat(15)} c ${'}'.repeat(15)} }`,
    'levels of fields',
  ],
  ['aliases', `{ ${repeat(201, (n) => `a${n}: __typename`)} }`, 'aliases'],
  [
    'aliases by fragments',
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
  ['root fields', `{ ${repeat(201, (n) => `f${n}`)} }`, 'root fields'],
  [
    'nested selections than a parser can hold',
    `{ ${'a{'.repeat(20_000)} b ${'}'.repeat(20_000)} }`,
    'tokens',
  ],
];

test.each(tooMany)('more %s', async (_, query, name) => {
  const { service, gateway } = await start();

  const { status, data, errors } = await gateway.graphql(query, undefined, {
    'x-request-id': 'request-1',
  });

  expect(status).toBe(400);
  expect(data).toBeUndefined();
  expect(errors).toEqual([
    {
      message: expect.stringContaining(` ${name} `),
      extensions: {
        code: 'OPERATION_LIMIT_EXCEEDED',
        requestId: 'request-1',
        retryable: false,
      },
    },
  ]);
  expect(service.received).toEqual([]);
});

test('a document over a limit is refused each time, by GET too', async () => {
  const { gateway } = await start();
  const query = `{ ${repeat(201, (n) => `a${n}: __typename`)} }`;
  for (const _ of [1, 2]) expect((await gateway.graphql(query)).status).toBe(400);
  const response = await fetch(`${gateway.url}/graphql?query=${encodeURIComponent(query)}`, {
    headers: { 'apollo-require-preflight': 'true' },
  });
  expect(response.status).toBe(400);
  expect(JSON.parse(await response.text()).errors[0].extensions.code).toBe(
    'OPERATION_LIMIT_EXCEEDED',
  );
});

test('as many writes as are allowed', async () => {
  const { service, gateway } = await start();
  const { errors } = await gateway.graphql(`mutation { ${repeat(5, (n) => `a${n}: ${write}`)} }`);
  expect(errors).toBeUndefined();
  expect(service.received).toHaveLength(5);
});

test('MAX_WRITES_PER_OPERATION decides', async () => {
  const { service, gateway } = await start({ MAX_WRITES_PER_OPERATION: '1' });
  expect((await gateway.graphql(`mutation { a: ${write} }`)).status).toBe(200);
  expect((await gateway.graphql(`mutation { a: ${write} b: ${write} }`)).status).toBe(400);
  expect(service.received).toHaveLength(1);
});

test('the same write spread twice is one write', async () => {
  const { service, gateway } = await start({ MAX_WRITES_PER_OPERATION: '1' });
  const { errors } = await gateway.graphql(
    `mutation { ...A ...A ${write} } fragment A on Mutation { ${write} }`,
  );
  expect(errors).toBeUndefined();
  expect(service.received).toHaveLength(1);
});

test('reads are not counted as writes', async () => {
  const { gateway } = await start();
  const { status, errors } = await gateway.graphql(`{ ${repeat(50, (n) => `a${n}: ${codes}`)} }`);
  expect(status).toBe(200);
  expect(errors).toBeUndefined();
});

test.each([
  ['of one', '{ ...A } fragment A on Query { ...A }'],
  ['of two', '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A __typename }'],
  [
    'on Mutation',
    `mutation { ...A } fragment A on Mutation { ${write} ...B } fragment B on Mutation { ...A }`,
  ],
])('a fragment cycle %s is refused', async (_, query) => {
  const { service, gateway } = await start();
  const { status, errors } = await gateway.graphql(query);
  expect(status).toBe(400);
  expect(errors?.[0]?.extensions.code).toBe('OPERATION_LIMIT_EXCEEDED');
  expect(service.received).toEqual([]);
});

test('fragments that double each time are refused quickly', async () => {
  const { gateway } = await start();
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
  ['that does not parse', '{', 'GRAPHQL_PARSE_FAILED'],
  ['that does not parse at the word tokens', 'query a tokens { b }', 'GRAPHQL_PARSE_FAILED'],
  ['that does not validate', '{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
  ['with a fragment that is not there', '{ ...A }', 'GRAPHQL_VALIDATION_FAILED'],
])('a document %s is told so', async (_, query, code) => {
  const { gateway } = await start();
  const { status, errors } = await gateway.graphql(query);
  expect(status).toBe(400);
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual([code]);
});

test('a document of more than ten operations is refused', async () => {
  const { service, gateway } = await start();
  const document = repeat(11, (n) => `query Q${n} { __typename }`);
  const { status, errors } = await gateway.graphql(document);
  expect(status).toBe(400);
  expect(errors?.[0]?.extensions.code).toBe('OPERATION_LIMIT_EXCEEDED');
  expect(service.received).toEqual([]);
});

test('variables of more values than are allowed are refused, and those below are sent', async () => {
  const { service, gateway } = await start();
  const query = 'mutation ($a: [ApproverInput!]!) { saveApprovers(approvers: $a) { __typename } }';
  const approvers = (count: number) => ({ query, variables: { a: Array(count).fill({}) } });

  const refused = await gateway.post(approvers(250_000));
  expect(refused.status).toBe(400);
  expect(JSON.parse(refused.text).errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining('values in its variables'),
      extensions: expect.objectContaining({ code: 'OPERATION_LIMIT_EXCEEDED' }),
    }),
  ]);
  expect(service.received).toEqual([]);

  expect((await gateway.post(approvers(10_000))).status).toBe(200);
  expect(JSON.parse(service.received[0]?.body ?? '')).toHaveLength(10_000);
});

test('an address that one reading decodes and another does not is within the limits, too', async () => {
  const { gateway } = await start();
  const document = `{${repeat(201, (n) => `a${n}:__typename,`)}}`;
  const address = `${gateway.url}/graphql?query=${encodeURIComponent(document)}%23%zz`;
  const response = await fetch(address, { headers: { 'apollo-require-preflight': '1' } });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('aliases');
});

test('aliases of one list are bounded by what they make of it', async () => {
  const record = { Code: '1', Name: 'x'.repeat(200), Value: 'y', Hide: 0 };
  const list = Array(40).fill(record);
  const service = await startService(json({ service_status: { status: 0 }, list }));
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_RESPONSE_BYTES: '16384' });
  const asked = (count: number) =>
    `{ ${repeat(count, (n) => `a${n}: glCodes(target: EMAIL, project: "a") { ...F }`)} }
    fragment F on GlCodeList { codes { a: name b: name c: name } }`;

  const within = await gateway.graphql(asked(5));
  expect(within.errors).toBeUndefined();
  expect(within.data.a4.codes).toHaveLength(40);

  const beyond = await gateway.graphql(asked(30));
  expect(beyond.errors?.[0]?.extensions).toMatchObject({
    code: 'OPERATION_LIMIT_EXCEEDED',
    retryable: false,
  });
  expect(beyond.data.a0.codes).toHaveLength(40);
  expect(beyond.data.a29).toBeNull();
  expect(service.received).toHaveLength(2);
});
