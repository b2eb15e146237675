import { beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { startTestGateway } from '../support/gateway.ts';
import { json, startService } from '../support/service.ts';

/** The CPU time that a hostile request may take, in milliseconds, with that of the test itself. */
const MAX_MS = 1500;
/** The length of its response, in characters: an error must not echo the request. */
const MAX_RESPONSE_LENGTH = 262_144;

async function start(variables: Record<string, string> = {}) {
  const service = await startService(json({ status: 0, service_status: { status: 0 }, list: [] }));
  const gateway = await startTestGateway(service, variables);
  /** Posts a body, and returns the response with the CPU time: other processes do not change it. */
  async function attack(
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; text: string; ms: number }> {
    const start = process.cpuUsage();
    const { status, text } = await gateway.post(body, headers);
    const { user, system } = process.cpuUsage(start);
    return { status, text, ms: (user + system) / 1000 };
  }
  return { service, gateway, attack };
}

/** The gateway that most tests share: it must not send anything to the service. */
let shared: Awaited<ReturnType<typeof start>>;
beforeAll(async () => {
  shared = await start();
});

const errorResponse = z.strictObject({
  errors: z
    .array(z.object({ extensions: z.object({ code: z.string(), retryable: z.literal(false) }) }))
    .min(1),
});

/** The codes of errors in the request itself. */
const requestErrorCodes = [
  'OPERATION_LIMIT_EXCEEDED',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
];

/** The codes of a response that has errors and nothing else. */
function codesOf(text: string): string[] {
  return errorResponse.parse(JSON.parse(text)).errors.map(({ extensions }) => extensions.code);
}

/**
 * Expects that a body is rejected as invalid with a short response, and that nothing is sent. One of three
 * attempts must be fast: the first ones may include the compilation of the code.
 */
async function expectRejected(body: (attempt: number) => unknown) {
  const { service, attack } = shared;
  let fastest = Number.POSITIVE_INFINITY;
  for (let attempt = 1; attempt <= 3 && fastest >= MAX_MS; attempt++) {
    const { status, text, ms } = await attack(body(attempt));
    expect([status, text.slice(0, 200)]).toEqual([400, expect.stringContaining('"errors"')]);
    for (const code of codesOf(text)) expect(requestErrorCodes).toContain(code);
    expect(text.length).toBeLessThan(MAX_RESPONSE_LENGTH);
    fastest = Math.min(fastest, ms);
  }
  expect(service.received).toEqual([]);
  expect(fastest).toBeLessThan(MAX_MS);
}

const repeat = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index)).join(' ');
const nested = (depth: number, open: string, inner: string, close: string) =>
  open.repeat(depth) + inner + close.repeat(depth);

const write = 'workflowAction(action: RESTART) { __typename }';
const read = 'glCodes(target: EMAIL, project: "a") { __typename }';
const project = (literal: string) =>
  `{ glCodes(target: EMAIL, project: ${literal}) { __typename } }`;

const documents: [name: string, document: string][] = [
  // Depth.
  ['100 levels of fields', `{ ${nested(100, 'a { ', 'b', ' }')} }`],
  ['2,000 levels of fields', `{ ${nested(2000, 'a { ', 'b', ' }')} }`],
  ['2,600 levels of inline fragments', `{ ${nested(2600, '... { ', 'a', ' }')} }`],
  [
    '1,000 levels of fragments',
    `{ ...F0 } ${repeat(1000, (n) => `fragment F${n} on Query { ...F${n + 1} }`)} fragment F1000 on Query { a }`,
  ],
  [
    '3,900 levels of list types',
    `query ($a: ${nested(3900, '[', 'Boolean', ']')}) { __typename @skip(if: $a) }`,
  ],
  // Width.
  ['10,000 aliases', `{ ${repeat(10_000, (n) => `a${n}: __typename`)} }`],
  ['1,000 aliases of a read', `{ ${repeat(1000, (n) => `a${n}: ${read}`)} }`],
  ['100,000 tokens', `{ ${'a '.repeat(60_000)} }${'{}'.repeat(20_000)}`],
  ['10,000 directives', `{ __typename ${'@a '.repeat(10_000)} }`],
  ['3,000 directives', `{ __typename ${'@a '.repeat(3000)} }`],
  ['3,000 directives of a fragment', `{ ...A ${'@a '.repeat(3000)} } fragment A on Query { b }`],
  ['50 directives with arguments', `{ __typename ${'@include(if: true) '.repeat(50)} }`],
  ['2,000 operations', repeat(2000, (n) => `query Q${n} { a }`)],
  ['1,900 variables', `query (${repeat(1900, (n) => `$v${n}: Int`)}) { __typename }`],
  ['1,900 variables of one name', `query (${'$v: Int '.repeat(1900)}) { __typename }`],
  ['1,900 arguments of one name', `{ glCodes(${'a: 1 '.repeat(1900)}) { __typename } }`],
  [
    '100 fragments of one name',
    `${repeat(1, () => 'fragment A on Query { a } ').repeat(600)} { b }`,
  ],
  ['2,000 definitions of types', repeat(2000, (n) => `type T${n} { a: Int }`)],
  // Fields that validation compares with each other.
  ['one field 5,000 times', `{ ${'__typename '.repeat(5001)} }`],
  ['an unknown field 4,900 times', `{ ${'a '.repeat(4900)} }`],
  ['a read 600 times and an unknown field', `{ a ${`${read} `.repeat(600)} }`],
  ['fields with subfields 1,500 times', `{ ${'a { b c } '.repeat(1500)} }`],
  [
    'conflicting fields',
    `{ ${repeat(190, (n) => `a: glCodes(target: EMAIL, project: "${n}") { __typename }`)} }`,
  ],
  [
    'conflicting fields in 600 fragments',
    `{ ${repeat(600, (n) => `...F${n}`)} } ${repeat(600, (n) => `fragment F${n} on Query { a${n % 7}: a }`)}`,
  ],
  [
    'one field with objects 200 times',
    `mutation { a ${'saveApprovers(approvers: [{ name: "a", email: "b", description: "c" }]) { __typename } '.repeat(200)} }`,
  ],
  // Fragments.
  [
    'fragments that double at 100 levels',
    `{ ...F0 } ${repeat(100, (n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`)} fragment F100 on Query { a }`,
  ],
  [
    'fragments that double at 12 levels beside fields',
    `{ ...F0 } ${repeat(12, (n) => `fragment F${n} on Query { a${n} ...F${n + 1} b${n} ...F${n + 1} }`)} fragment F12 on Query { a }`,
  ],
  [
    '60 fragments that each spread all others',
    `{ ...F0 } ${repeat(60, (n) => `fragment F${n} on Query { ${repeat(60, (m) => (m === n ? 'a' : `...F${m}`))} }`)}`,
  ],
  ['a cycle of one fragment', '{ ...A } fragment A on Query { ...A }'],
  [
    'a cycle through fields',
    '{ ...A } fragment A on Query { a { ...B } } fragment B on X { b { ...A } }',
  ],
  [
    'a cycle with thousands of spreads',
    `{ ${'...A '.repeat(900)} } fragment A on Query { ${'...B '.repeat(1500)} } fragment B on Query { ${'...A '.repeat(1400)} }`,
  ],
  [
    'a cycle of 400 fragments with 300 back edges',
    `{ ...F0 } ${repeat(400, (n) => `fragment F${n} on Query { ...F${n + 1} }`)} fragment F400 on Query { ${repeat(300, (n) => `...F${n}`)} }`,
  ],
  [
    'a cycle that nests lists of fields',
    `{ ...A } fragment A on Query { ${'a { ...B } '.repeat(600)} } fragment B on X { ${'a { ...A } '.repeat(600)} }`,
  ],
  ['800 unused fragments', `{ a } ${repeat(800, (n) => `fragment F${n} on Query { a }`)}`],
  ['3,000 spreads of unknown fragments', `{ ${repeat(3000, (n) => `...F${n}`)} }`],
  // Literals.
  ['a list of 60,000 values', project(`[${'1 '.repeat(60_000)}]`)],
  ['a list of 7,900 values', project(`[${'1 '.repeat(7900)}]`)],
  ['an object of 100,000 characters', project(`{ ${repeat(10_000, (n) => `a${n}: 1`)} }`)],
  ['lists 3,900 deep', project(nested(3900, '[', '1', ']'))],
  ['objects 1,900 deep', project(nested(1900, '{ a: ', '1', ' }'))],
  ['unclosed lists', project('['.repeat(7900))],
  ['a default 3,900 lists deep', `query ($a: Int = ${nested(3900, '[', '1', ']')}) { __typename }`],
  ['a type 3,900 lists deep', `query ($a: ${nested(3900, '[', 'Int', ']')}) { __typename }`],
  [
    'a directive with lists 3,900 deep',
    `{ __typename @include(if: ${nested(3900, '[', '1', ']')}) }`,
  ],
  [
    'input objects 1,500 deep',
    `mutation { saveApprovers(approvers: ${nested(1500, '{ name: ', '1', ' }')}) { __typename } }`,
  ],
  ['a number of 100,000 digits', project('9'.repeat(100_000))],
  ['a string with invalid escapes', project(`"${'\\u{110000}'.repeat(10_000)}"`)],
  ['escapes of lone surrogates', project(`"${'\\uD800'.repeat(20_000)}"`)],
  ['an unclosed block string', project(`"""${' \n'.repeat(60_000)}`)],
  ['a block string in an unknown argument', `{ a(${`b: """${'\n  x'.repeat(30_000)}"""`}) }`],
  // Names, and suggestions of similar names.
  ['a name of 130,000 letters', `{ ${'a'.repeat(130_000)} }`],
  ['100 names of 1,280 letters', `{ ${repeat(100, (n) => `a${n}${'b'.repeat(1280)}`)} }`],
  ['200 names similar to a known one', `{ ${repeat(200, (n) => `glCode${n}`)} }`],
  ['names from Object.prototype', '{ __proto__ constructor toString hasOwnProperty }'],
  [
    'fragments with names from Object.prototype',
    '{ ...__proto__ } fragment __proto__ on Query { ...toString }',
  ],
  // Lines, which are counted for every location of an error.
  ['100,000 lines before an error', `${'\n'.repeat(100_000)}{ a }`],
  ['100,000 lines before 200 errors', `${'\n'.repeat(100_000)}{ ${repeat(200, (n) => `a${n}`)} }`],
  [
    '100,000 lines before 1,900 locations of one error',
    `${'\n'.repeat(100_000)}query (${'$v: Int '.repeat(1900)}) { __typename }`,
  ],
  [
    '100,000 lines before a cycle of 300 fragments with 200 back edges',
    `${'\n'.repeat(100_000)}{ ...F0 } ${repeat(300, (n) => `fragment F${n} on Query { ...F${n + 1} }`)} fragment F300 on Query { ${repeat(200, (n) => `...F${n}`)} }`,
  ],
  ['60,000 comments', `${'#\n'.repeat(60_000)}{ a }`],
  ['commas', `{ a ${','.repeat(130_000)} }`],
  // Introspection, which is off.
  ['the schema', '{ __schema { types { name } } }'],
  [
    'the schema, nested',
    `{ __schema { types { ${nested(8, 'fields { type { ', 'name', ' } }')} } } }`,
  ],
  [
    'the schema 190 times',
    `{ ${repeat(190, (n) => `a${n}: __schema { types { fields { args { type { name } } } } }`)} }`,
  ],
  ['the SDL', '{ _service { sdl } }'],
  // Too many writes, in every syntax.
  [
    'writes in a fragment with @include',
    `mutation { ...A @include(if: true) } fragment A on Mutation { ${repeat(6, (n) => `a${n}: ${write}`)} }`,
  ],
  [
    'writes with @include and a variable',
    `mutation ($on: Boolean = true) { ${repeat(6, (n) => `a${n}: ${write.replace(')', ') @include(if: $on)')}`)} }`,
  ],
  [
    'writes in inline fragments without a type',
    `mutation { ${repeat(6, (n) => `... { ... { a${n}: ${write} } }`)} }`,
  ],
  [
    'writes in nested fragments',
    `mutation { ...A ...B ...C } ${['A', 'B', 'C'].map((name) => `fragment ${name} on Mutation { ...${name}1 ...${name}2 } fragment ${name}1 on Mutation { ${name}x: ${write} } fragment ${name}2 on Mutation { ${name}y: ${write} }`).join(' ')}`,
  ],
  [
    'writes of several kinds',
    `mutation { ${repeat(2, (n) => `a${n}: ${write} b${n}: saveApprovers(approvers: []) { __typename } c${n}: uploadWorkflowCsv(input: { fileName: "a", csv: "" }) { __typename }`)} }`,
  ],
];

test.each(documents)('a document with %s is rejected', async (_, document) => {
  // A different document each time, because documents are cached.
  await expectRejected((attempt) => ({ query: document + ' '.repeat(attempt) }));
});

test('nesting around the limit of the parser is always rejected as invalid', async () => {
  const { service, attack } = shared;
  const twice = (literal: string) => `{ a: glCodes(x: ${literal}) a: glCodes(x: ${literal}) }`;
  const shapes: ((depth: number) => string)[] = [
    (depth) => project(nested(depth, '[', '1', ']')),
    (depth) => project(nested(depth, '{ a: ', '1', ' }')),
    (depth) => `{ a ${nested(depth, '... { ', 'b', ' }')} }`,
    (depth) => `query ($a: ${nested(depth, '[', 'Int', ']')}) { __typename }`,
    // Validation compares the arguments of two fields with one name.
    (depth) => twice(nested(depth, '[', '1', ']')),
    (depth) => twice(nested(depth, '{ a: ', '1', ' }')),
  ];
  const unexpected: unknown[] = [];
  for (const shape of shapes) {
    for (let depth = 200; depth < 4000; depth += 300) {
      const { status, text } = await attack({ query: shape(depth) });
      if (status !== 400)
        unexpected.push({ shape: shape(3), depth, status, text: text.slice(0, 200) });
    }
  }
  expect(unexpected).toEqual([]);
  expect(service.received).toEqual([]);
});

const variables = (query: string, value: string) =>
  `{"query":${JSON.stringify(query)},"variables":{"a":${value}}}`;
const stringVariable = 'query ($a: String!) { glCodes(target: EMAIL, project: $a) { __typename } }';
const approvers =
  'mutation ($a: [ApproverInput!]!) { saveApprovers(approvers: $a) { __typename } }';
const upload = 'mutation ($a: WorkflowCsvInput!) { uploadWorkflowCsv(input: $a) { __typename } }';

const bodies: [name: string, body: string][] = [
  ['lists 100,000 deep', nested(100_000, '[', '', ']')],
  ['objects 100,000 deep', nested(100_000, '{"a":', '1', '}')],
  ['unclosed lists 1,000,000 deep', '['.repeat(1_000_000)],
  ['a variable 100,000 lists deep', variables(stringVariable, nested(100_000, '[', '', ']'))],
  [
    'a variable 100,000 lists deep around an integer that a double cannot represent',
    variables(stringVariable, nested(100_000, '[', '12345678901234567890', ']')),
  ],
  ['a list variable 100,000 lists deep', variables(approvers, nested(100_000, '[', '', ']'))],
  [
    'an input object 100,000 objects deep',
    variables(approvers, nested(100_000, '{"name":', '1', '}')),
  ],
  [
    'a scalar 100,000 lists deep',
    variables(upload, `{"fileName":"a","option":${nested(100_000, '[', '1', ']')}}`),
  ],
  ['a list of 100,000 invalid values', variables(approvers, `[${'1,'.repeat(100_000)}1]`)],
  [
    'an input object with 10,000 unknown fields',
    variables(approvers, `[{${repeat(10_000, (n) => `"n${n}":1`).replaceAll(' ', ',')}}]`),
  ],
  [
    'a long string beside unknown fields',
    variables(
      approvers,
      `[{"name":"${'x'.repeat(100_000)}",${repeat(60, (n) => `"n${n}":1`).replaceAll(' ', ',')}}]`,
    ),
  ],
  ['a batch of one', '[{"query":"{ __typename }"}]'],
  ['a batch of 10,000', `[${'{"query":"{ __typename }"},'.repeat(10_000)}null]`],
  ['a batch of writes', JSON.stringify(Array(100).fill({ query: `mutation { ${write} }` }))],
  [
    'two operations and no operation name',
    '{"query":"query A { __typename } query B { __typename }"}',
  ],
  ['an unknown operation name', '{"query":"query A { __typename }","operationName":"B"}'],
  [
    'an operation name from Object.prototype',
    '{"query":"query A { __typename }","operationName":"__proto__"}',
  ],
  ['a subscription', '{"query":"subscription { a }"}'],
  ['only a fragment', '{"query":"fragment A on Query { __typename }"}'],
  ['an empty document', '{"query":""}'],
  ['a document of white space', `{"query":"${' '.repeat(1000)}"}`],
];

test.each(bodies)('a body with %s is rejected', async (_, body) => {
  await expectRejected((attempt) => body + ' '.repeat(attempt));
});

test('persisted queries are not supported', async () => {
  const { attack } = shared;
  const { text } = await attack({
    extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } },
  });
  expect(codesOf(text)).toEqual(['PERSISTED_QUERY_NOT_SUPPORTED']);
});

test('without a token, errors do not repeat a long input many times', async () => {
  const { gateway } = shared;
  const fields = repeat(60, (n) => `"n${n}":1`).replaceAll(' ', ',');
  const body = variables(approvers, `[{"name":"${'x'.repeat(1_000_000)}",${fields}}]`);
  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect((await response.text()).length).toBeLessThan(body.length);
});

describe('with INTROSPECTION=true, introspection', () => {
  const full = (name: string) =>
    `${name}: __schema { types { name kind fields(includeDeprecated: true) { name args { name type { kind name ofType { kind name ofType { kind name ofType { name } } } } } type { kind name ofType { kind name ofType { kind name ofType { name } } } } } inputFields { name type { kind name ofType { name } } } enumValues(includeDeprecated: true) { name } possibleTypes { name } interfaces { name } } }`;

  test.each([
    [
      'of nested lists',
      `{ __schema { types { ${nested(4, 'fields { type { ', 'name', ' } }')} } } }`,
    ],
    [
      'of nested lists in fragments',
      `{ __schema { types { ...A } } } fragment A on __Type { fields { type { ...B } } } fragment B on __Type { fields { type { ...C } } } fragment C on __Type { fields { type { fields { type { name } } } } }`,
    ],
    [
      'of nested possible types',
      `{ __schema { types { ${nested(5, 'possibleTypes { interfaces { ', 'name', ' } }')} } } }`,
    ],
  ])('%s is rejected', async (_, query) => {
    const { attack } = await start({ INTROSPECTION: 'true' });
    const { status, ms } = await attack({ query });
    expect(status).toBe(400);
    expect(ms).toBeLessThan(MAX_MS);
  });

  test('is fast, even if it is repeated in one operation', async () => {
    const { attack } = await start({ INTROSPECTION: 'true' });
    const times: number[] = [];
    for (const attempt of [1, 2, 3]) {
      const query = `{ ${repeat(5, (n) => full(`a${n}`))} }${' '.repeat(attempt)}`;
      times.push((await attack({ query })).ms);
    }
    expect(Math.min(...times)).toBeLessThan(MAX_MS);
  });
});
