import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { GatewayError } from '../../src/errors/gateway-error.ts';
import { Documents } from '../../src/graphql/documents.ts';
import { anyWrite } from '../../testkit/graphql-operation.ts';
import { metric } from '../../testkit/metric.ts';
import { json, success } from '../../testkit/service.ts';
import { schema } from '../support/schema.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startStack } from '../support/stack.ts';

/** The CPU time that a hostile document may take, in milliseconds, with the compilation of the code. */
const MAX_MS = 1500;

const write = anyWrite();
const codes = 'glCodes(target: EMAIL, project: "a") { __typename }';
const repeat = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index)).join(' ');
const nested = (depth: number, open: string, inner: string, close: string) =>
  open.repeat(depth) + inner + close.repeat(depth);
const aliases = (count: number, field = '__typename', name = 'a') =>
  repeat(count, (n) => `${name}${n}: ${field}`);
const fragments = (count: number, body: (index: number) => string) =>
  repeat(count, (n) => `fragment F${n} on Query { ${body(n)} }`);
const project = (literal: string) =>
  `{ glCodes(target: EMAIL, project: ${literal}) { __typename } }`;

/** Documents that exceed a limit, by what they have too many of. */
const overLimit: Record<string, string[]> = {
  bytes: [
    `{ __typename } #${'é'.repeat(65_600)}`,
    `{ ${aliases(10_000)} }`,
    `{ ${'a '.repeat(60_000)} }${'{}'.repeat(20_000)}`,
  ],
  tokens: [
    `{ ${'__typename '.repeat(4001)} }`,
    `{ __typename ${'@a '.repeat(3000)} }`,
    `query (${'$v: Int '.repeat(1900)}) { __typename }`,
    `{ ...F0 } ${fragments(1000, (n) => `...F${n + 1}`)}`,
    `query ($a: ${nested(2100, '[', 'Int', ']')}) { __typename }`,
    project(nested(1900, '{ a: ', '1', ' }')),
    repeat(2000, (n) => `type T${n} { a: Int }`),
  ],
  'characters in a name': [`{ ${'a'.repeat(257)}: __typename }`, `{ ${'a'.repeat(130_000)} }`],
  operations: [repeat(11, (n) => `query Q${n} { __typename }`)],
  writes: [
    `mutation { ${aliases(6, write)} }`,
    `query { __typename } mutation Other { ${aliases(6, write)} }`,
    `mutation { ...A @include(if: true) } fragment A on Mutation { ${aliases(6, write)} }`,
    `mutation ($on: Boolean = true) { ${aliases(6, write.replace(')', ') @include(if: $on)'))} }`,
    `mutation { ...A ...B } fragment A on Mutation { ${aliases(3, write)} } fragment B on Mutation { ...C } fragment C on Mutation { ${aliases(3, write, 'b')} }`,
    `mutation { ... on Mutation { a: ${write} ... { b: ${write} ... @include(if: true) { c: ${write} d: ${write} } } } e: ${write} f: ${write} }`,
    `mutation { ${aliases(2, write)} ${aliases(2, 'saveApprovers(approvers: []) { __typename }', 'b')} ${aliases(2, 'uploadWorkflowCsv(input: { fileName: "a" }) { __typename }', 'c')} }`,
  ],
  'levels of fields': [
    `{ ${nested(21, 'a { ', 'b', '}')} }`,
    `{ ...A } fragment A on Query { ${nested(15, 'a { ', '...B', '}')} } fragment B on X { ${nested(15, 'b { ', 'c', '}')} }`,
  ],
  // Fewer tokens than the limit: whether the stack ends before that many depends on what has been compiled.
  'levels of nesting': [
    project(nested(1900, '[', '1', ']')),
    project(nested(51, '{ a: ', '1', ' }')),
    `query ($a: Int = ${nested(1900, '[', '1', ']')}) { __typename }`,
    `{ __typename @include(if: ${nested(1900, '[', '1', ']')}) }`,
  ],
  aliases: [
    `{ ${aliases(201)} }`,
    `{ ...A } fragment A on Query { ${aliases(101)} ...B } fragment B on Query { ${aliases(101, 'a', 'b')} }`,
  ],
  directives: [
    `{ __typename ${'@include(if: true) '.repeat(51)} }`,
    `query ${'@include(if: true) '.repeat(51)} { __typename }`,
    `{ ...A } fragment A on Query ${'@include(if: true) '.repeat(51)} { __typename }`,
  ],
  'fields of one response name': [
    `{ ${'__typename '.repeat(51)} }`,
    `{ ${repeat(3, () => codes.replace('__typename', '__typename '.repeat(17)))} }`,
    `{ ${repeat(190, (n) => `a: ${codes.replace('"a"', `"${n}"`)}`)} }`,
  ],
  'comparisons of fields': [`{ ${repeat(3, (n) => `a${n}: __typename `.repeat(41))} }`],
  selections: [
    // Fragments that double at each level.
    `{ ...F0 } ${fragments(12, (n) => `a${n} ...F${n + 1} b${n} ...F${n + 1}`)} fragment F12 on Query { a }`,
    `{ ...F0 } ${fragments(11, (n) => `...F${n + 1} ...F${n + 1}`)}`,
    `{ ...F0 } ${fragments(90, (n) => `...F${n + 1} ...F${n + 1}`)}`,
    `{ ...F0 } ${fragments(90, (n) => `...F${n + 1} ... on Query { ...F${n + 1} }`)} fragment F90 on Query { a }`,
    `{ ...F0 } ${fragments(12, (n) => `a${n} { ...F${n + 1} } b${n} { ...F${n + 1} }`)} fragment F12 on Query { a }`,
  ],
  fragments: [
    `{ ${repeat(101, (n) => `...F${n}`)} } ${fragments(101, () => '__typename')}`,
    `{ ...F0 } ${fragments(200, (n) => `...F${n + 1} ... on Query { ...F${n + 1} }`)}`,
    `${'\n'.repeat(100_000)}{ ...F0 } ${fragments(300, (n) => `...F${(n + 1) % 300} ...F${n >> 1}`)}`,
  ],
  'fields for introspection': [`{ ${aliases(6, '__schema { types { name } }')} }`],
  'levels of list types': [
    // Inside a scalar, validation accepts a variable of any type, and each value becomes a list at each level.
    `query ($v: ${nested(3, '[', 'Int', ']')}) { _entities(representations: [{ x: $v }]) { __typename } }`,
  ],
};

/** Documents that are invalid in another way, by the code or message of their only kind of error. */
const invalid: Record<string, string[]> = {
  'A fragment spreads itself.': [
    '{ ...A } fragment A on Query { a { ...B } } fragment B on X { b { ...A } }',
    '{ ...A } fragment A on Query { ...A }',
    '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A __typename }',
    `mutation { ...A } fragment A on Mutation { ${write} ...B } fragment B on Mutation { ...A }`,
  ],
  GRAPHQL_PARSE_FAILED: [
    '{',
    'query a tokens { b }',
    project(`"${'\\u{110000}'.repeat(10_000)}"`),
    project(`"${'\\uD800'.repeat(20_000)}"`),
    project(`"""${' \n'.repeat(60_000)}`),
  ],
  GRAPHQL_VALIDATION_FAILED: [
    '{ nothing }',
    '{ ...A }',
    // The fields of a fragment are compared once in a selection set, because an execution also expands it only once.
    `{ ${'...A '.repeat(60)} } fragment A on Query { a }`,
    `{ __typename ${'@include(if: true) '.repeat(50)} }`,
    project('9'.repeat(100_000)),
    `{ a(${`b: """${'\n  x'.repeat(30_000)}"""`}) }`,
    `{ ${repeat(200, (n) => `glCode${n}`)} }`,
    '{ __proto__ constructor toString hasOwnProperty }',
    '{ ...__proto__ } fragment __proto__ on Query { ...toString }',
    `${'#\n'.repeat(60_000)}{ a }`,
    `{ a ${','.repeat(130_000)} }`,
  ],
};

/** Introspection whose response would be too large, even where introspection is on. */
const introspections = [
  `{ __schema { types { ${nested(4, 'fields { type { ', 'name', ' } }')} } } }`,
  '{ __schema { types { ...A } } } fragment A on __Type { fields { type { ...B } } } fragment B on __Type { fields { type { ...C } } } fragment C on __Type { fields { type { fields { type { name } } } } }',
  `{ __schema { types { ${nested(5, 'possibleTypes { interfaces { ', 'name', ' } }')} } } }`,
];

/** The different codes or messages of a document that is rejected. */
function errorsOf(query: string, introspection = false) {
  const options = { introspection, maxWritesPerOperation: 5, areOthersExecuted: false };
  const documents = new Documents({ ...options, schema, log: pino({ enabled: false }) });
  try {
    const { faults = [] } = documents.find({ query }) ?? {};
    return [...new Set(faults.map(({ extensions }) => extensions?.code))];
  } catch (error) {
    if (error instanceof GatewayError) return [error.message];
    throw error;
  }
}

const rowsOf = (all: Record<string, string[]>) =>
  Object.entries(all).flatMap(([error, documents]) =>
    documents.map((document) => {
      const shape = document.replaceAll(/\s+/g, ' ').slice(0, 60);
      return { error, shape, document };
    }),
  );

test.each([
  ...rowsOf(overLimit).map((row) => ({ ...row, error: ` too many ${row.error}: at most ` })),
  ...rowsOf(invalid),
])('a document is rejected for "$error": $shape', async ({ error, document }) => {
  const start = process.cpuUsage();
  expect(errorsOf(document)).toEqual([expect.stringContaining(error)]);
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1000).toBeLessThan(MAX_MS);
});

test.each(introspections)('introspection of nested lists is rejected: %s', (document) => {
  expect(errorsOf(document, true)).toEqual(['GRAPHQL_VALIDATION_FAILED']);
});

test('nesting around the limit of the parser is always rejected', () => {
  const twice = (literal: string) => `{ a: glCodes(x: ${literal}) a: glCodes(x: ${literal}) }`;
  for (let depth = 200; depth < 4000; depth += 300) {
    const [list, object] = [nested(depth, '[', '1', ']'), nested(depth, '{ a: ', '1', ' }')];
    const type = `query ($a: ${nested(depth, '[', 'Int', ']')}) { __typename }`;
    const fields = `{ a ${nested(depth, '... { ', 'b', ' }')} }`;
    // Validation compares the arguments of two fields with one name.
    const literals = [list, object].flatMap((literal) => [project(literal), twice(literal)]);
    for (const document of [type, fields, project('['.repeat(2 * depth)), ...literals]) {
      expect(errorsOf(document)).toHaveLength(1);
    }
  }
});

const share = shareGateway();
const start = () => share(success);

test('a document over a limit is rejected each time, by POST and by GET, with nothing sent', async () => {
  const { service, gateway } = start();
  const query = `mutation { ${aliases(6, write)} }`;
  const headers = { authorization: `Bearer ${gateway.token}`, 'x-request-id': 'request-1' };
  // A part of the second URL cannot be decoded.
  const urls = [query, `{${aliases(201)}}`].map((text) => encodeURIComponent(text));
  const responses = [
    await gateway.post({ query }, headers),
    await gateway.post({ query }, headers),
    ...[urls[0], `${urls[1]}%23%zz`].map(async (text) => {
      const response = await fetch(`${gateway.url}/graphql?query=${text}`, { headers });
      return { status: response.status, text: await response.text() };
    }),
  ];
  for (const { status, text } of await Promise.all(responses)) {
    expect(status).toBe(400);
    const message = expect.stringMatching(/too many (writes|aliases)/);
    const code = 'OPERATION_LIMIT_EXCEEDED';
    const extensions = { code, requestId: 'request-1', retryable: false };
    expect(JSON.parse(text)).toEqual({ errors: [{ message, extensions }] });
  }
  expect(service.received).toEqual([]);
});

test('the largest allowed number of writes is sent, and reads are not counted as writes', async () => {
  const { service, gateway } = start();
  for (const query of [`mutation { ${aliases(5, write)} }`, `{ ${aliases(50, codes)} }`]) {
    const { status, errors } = await gateway.graphql(query);
    expect([status, errors]).toEqual([200, undefined]);
  }
  expect(service.received).toHaveLength(6);
});

test('MAX_WRITES_PER_OPERATION sets the limit of writes, and one write spread twice is one', async () => {
  const { service, gateway } = await startStack(success, { MAX_WRITES_PER_OPERATION: '1' });
  const twice = `mutation { ...A ...A ${write} } fragment A on Mutation { ${write} }`;
  expect((await gateway.graphql(twice)).errors).toBeUndefined();
  expect((await gateway.graphql(`mutation { a: ${write} b: ${write} }`)).status).toBe(400);
  expect(service.received).toHaveLength(1);
});

test('at most ten errors of a document are reported, with at most fifty places each', async () => {
  const { gateway } = start();
  const lines = '\n'.repeat(100_000);
  const many = await gateway.post({ query: `${lines}{\r\n\r${repeat(12, () => '\n a')} }` });
  expect(many.status).toBe(400);
  const { errors } = JSON.parse(many.text);
  expect(errors).toHaveLength(10);
  expect(errors[0]).toMatchObject({
    message: 'Cannot query field "a" on type "Query".',
    locations: [{ line: 100_003, column: 2 }],
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
  });
  expect(errors[9].message).toMatch('Too many validation errors');

  const one = await gateway.post({ query: `query (${'$v: Int '.repeat(60)}) { __typename }` });
  expect(JSON.parse(one.text).errors[0].locations).toHaveLength(50);
});

/** A list of so many codes. */
const listOf = (count: number) =>
  json({ service_status: { status: 0 }, list: Array(count).fill({ Code: '1' }) });
const select = (fields: number) =>
  `glCodes(target: EMAIL, project: "a") { ... on GlCodeList { codes { ${aliases(fields, 'code')} } } }`;

test.each(['@include(if: false)', '@skip(if: true)', '@include(if: $on)', '@skip(if: $off)'])(
  'a long list is compiled at its first execution, and its fields that %s leaves out are not counted',
  async (condition) => {
    const { service, gateway } = share(listOf(10_001));
    const left = `codes { ... ${condition} { ${aliases(50, 'code')} }`;
    const list = select(6).replace('codes {', left);
    const query = `query ($on: Boolean! = false, $off: Boolean! = true) { ${list}
      a: __typename @include(if: $on) b: __typename @skip(if: $off) }`;
    const { data, errors } = await gateway.graphql(query);
    expect(errors).toBeUndefined();
    expect(data.glCodes.codes).toHaveLength(10_001);
    expect(service.received).toHaveLength(1);
  },
);

test('a long list is limited to fewer fields where nothing is compiled, and the rejection counted', async () => {
  const { gateway } = share(listOf(10_001));
  const labels = { operation: 'Query.glCodes', outcome: 'OPERATION_LIMIT_EXCEEDED' };
  const count = () => metric(gateway, 'ledger_gateway_operations_total', labels);
  const before = await count();
  const entities = '_entities(representations: []) { __typename }';
  expect((await gateway.graphql(`{ ${entities} ${select(4)} }`)).errors).toBeUndefined();
  const { status, data, errors } = await gateway.graphql(`{ ${entities} ${select(5)} }`);
  expect([status, data.glCodes]).toEqual([400, null]);
  expect(errors?.[0]?.message).toContain('50000');
  expect(await count()).toBe(before + 1);
});
