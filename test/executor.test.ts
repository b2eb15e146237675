import { ApolloServer } from '@apollo/server';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pino } from 'pino';
import { type Context, createContext } from '../src/context.ts';
import { createErrorFormatter } from '../src/errors.ts';
import { createExecutor } from '../src/executor.ts';
import { createSchema } from '../src/schema.ts';
import type { Call } from '../src/upstream/calls.ts';
import { UpstreamError } from '../src/upstream/errors.ts';
import { decode } from '../src/upstream/wire.ts';

/** What the service answers, by project; to any other it fails. */
const bodies: Record<string, string> = {
  codes:
    '{"service_status":{"invoice_id":12345678901234567890,"status":0},"list":[{"Code":"1","Name":null,"Value":"","Hide":1},{"Code":null},{"Code":"1","Hide":-2147483648}]}',
  failed: '{"service_status":{"invoice_id":-5,"message":"m","status":1}}',
  forbidden: '{"service_status":{"status":3}}',
  unknown: '{"service_status":{"status":77}}',
};

const call: Call = async ({ search }, read) => {
  const body = bodies[new URLSearchParams(search).get('project') ?? ''];
  if (!body) throw new UpstreamError('UPSTREAM_FAILED', { effect: 'possible', fault: 'test' });
  return read(decode(body).next().value, body.length);
};

const schema = createSchema(() => {});
const logger = pino({ enabled: false });
const formatError = createErrorFormatter(logger);
const [compiling, interpreting] = [1, Infinity].map((compileAt) => {
  const executor = createExecutor(schema, formatError, compileAt);
  return new ApolloServer<Context>({ schema, formatError, logger, plugins: [executor] });
});

type Answer = { text: string; errors: string[] };

/** The whole answer, its status and headers too, of one of the two servers. */
async function answerOf(
  server: ApolloServer<Context> | undefined,
  query: string,
  variables: Record<string, unknown>,
  token: string | null,
  maxResponseBytes: number,
): Promise<Answer> {
  const contextValue = createContext(
    call,
    {
      caller: token === null ? null : { token },
      requestId: 'test',
      signal: new AbortController().signal,
      trace: undefined,
    },
    { csvOptionParam: undefined, maxResponseBytes },
  );
  const answer = await server?.executeOperation({ query, variables }, { contextValue });
  if (answer?.body.kind !== 'single') throw new Error('no single answer');
  const { data, errors = [] } = answer.body.singleResult;
  const { status, headers } = answer.http;
  return {
    text: JSON.stringify({ status, headers: [...headers], errors, data }),
    errors: errors.map(({ extensions }) => String(extensions?.code)),
  };
}

const alias = fc.constantFrom('', '', '', 'a: ', 'b: ', '__proto__: ', 'valueOf: ');
const condition = fc.constantFrom('', '', '', ' @skip(if: $yes)', ' @include(if: $no)');
const text = (...parts: (fc.Arbitrary<string> | string)[]) =>
  fc
    .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
    .map((all) => all.join(''));
const some = (one: fc.Arbitrary<string>) =>
  fc.array(one, { minLength: 1, maxLength: 4 }).map((all) => `{ ${all.join(' ')} }`);
const leaf = (...names: string[]) =>
  text(alias, fc.constantFrom('__typename', ...names), condition);

const code = leaf('code', 'name', 'value', 'hide', 'project', 'target');
const codes = text(
  alias,
  'codes',
  condition,
  some(fc.oneof(code, text('... on GlCode', condition, some(code)))),
);
const result = some(
  fc.oneof(
    leaf(),
    text('... on LedgerStatus', condition, some(leaf('invoiceId', 'message'))),
    text('... on LedgerProblem', condition, some(leaf('message'))),
    text('... on LedgerUnrecognizedStatus', condition, some(leaf('status'))),
    text('... on GlCodeList', condition, some(fc.oneof(codes, leaf('invoiceId')))),
    fc.constant('...Shared'),
  ),
);
const root = fc.oneof(
  text(
    fc.constantFrom('r1: ', 'r2: ', ''),
    'glCodes(target: EMAIL, project: "',
    fc.constantFrom(...Object.keys(bodies), 'nowhere'),
    '")',
    condition,
    result,
  ),
  fc.constant('__typename'),
  fc.constant(
    '_entities(representations: [{ __typename: "GlCode", target: "EMAIL", project: "codes", code: "1" }, { __typename: "GlCode", target: 5 }]) { ... on GlCode { code hide } }',
  ),
);
const fragment =
  'fragment Shared on GlCodesResult { __typename ... on LedgerStatus { message } ... on GlCodeList { codes { code target } } }';

/** A query of these root fields, with the variables and the fragment that they use. */
function queryOf(roots: string): string {
  const used = ['yes', 'no'].filter((name) => roots.includes(`$${name}`));
  const variables = used.map((name) => `$${name}: Boolean!`).join(', ');
  return `query ${variables && `(${variables})`} ${roots} ${roots.includes('...Shared') ? fragment : ''}`;
}

test('a compiled query is answered as graphql-js answers it', async () => {
  const compared = { conditional: 0, plain: 0 };
  const compare = async (
    roots: string,
    yes: boolean,
    no: boolean,
    token: string | null,
    maxBytes: number,
  ) => {
    const query = queryOf(roots);
    const compiled = await answerOf(compiling, query, { yes, no }, token, maxBytes);
    const { text, errors } = await answerOf(interpreting, query, { yes, no }, token, maxBytes);
    expect(compiled.text).toBe(text);
    if (!errors.includes('GRAPHQL_VALIDATION_FAILED')) {
      compared[query.includes('$') ? 'conditional' : 'plain'] += 1;
    }
  };
  const token = fc.option(fc.constant('token'));
  const maxBytes = fc.constantFrom(1, 100, 1_000_000);
  const boolean = fc.boolean();
  const property = fc.asyncProperty(some(root), boolean, boolean, token, maxBytes, compare);
  await fc.assert(property, { numRuns: 2000 });
  expect(compared.conditional).toBeGreaterThan(50);
  expect(compared.plain).toBeGreaterThan(50);
});

test.each([
  '{ a: glCodes(target: EMAIL, project: "codes") { __typename } a: glCodes(target: EMAIL, project: "codes") @include(if: $no) { ... on GlCodeList { invoiceId } } }',
  '{ a: glCodes(target: EMAIL, project: "codes") { __typename } ... @include(if: $no) { a: glCodes(target: EMAIL, project: "codes") { ... on LedgerStatus { message } } } }',
  '{ _entities(representations: [{ __typename: "GlCode", target: "EMAIL", project: "codes", code: "9" }, { __typename: "GlCode", target: 5 }]) { ... on GlCode { code } } }',
  '{ glCodes(target: EMAIL, project: "codes") { ... on GlCodeList { codes { __proto__: name code } } } }',
])('what the compiler would get wrong it is not given: %s', async (roots) => {
  const query = queryOf(roots);
  expect(await answerOf(compiling, query, { no: false }, 'token', 1_000_000)).toEqual(
    await answerOf(interpreting, query, { no: false }, 'token', 1_000_000),
  );
});

test.each(['constructor', '__proto__', 'valueOf'])(
  'a variable may have the name $%s, with a default or without',
  async (name) => {
    for (const type of ['Boolean! = true', 'Boolean = true', 'Boolean!']) {
      const query = `query ($${name}: ${type}) { glCodes(target: EMAIL, project: "codes", includeHide: $${name}) { ... on GlCodeList { codes { code hide } } } }`;
      expect(await answerOf(compiling, query, {}, 'token', 1_000_000)).toEqual(
        await answerOf(interpreting, query, {}, 'token', 1_000_000),
      );
    }
  },
);
