import { setImmediate as immediate } from 'node:timers/promises';
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

/** What the service answers, by project, or to a write by its name; to any other it fails. */
const bodies: Record<string, string> = {
  codes:
    '{"service_status":{"invoice_id":12345678901234567890,"status":0},"list":[{"Code":"1","Name":null,"Value":"","Hide":1},{"Code":null},{"Code":"1","Hide":-2147483648}]}',
  failed: '{"service_status":{"invoice_id":-5,"message":"m","status":1}}',
  forbidden: '{"service_status":{"status":3}}',
  unknown: '{"service_status":{"status":77}}',
  restartWorkflow2: '{"invoice_id":1,"status":0}',
  upgradeToHQ: '{"message":"m","status":3}',
};

/** The calls that were made, in order, and how far each has come. */
const calls: string[] = [];

const call: Call = async ({ operation, search }, read) => {
  calls.push(`${operation} begins`);
  if (operation !== 'getGLCodes5') await immediate();
  calls.push(`${operation} ends`);
  const body = bodies[new URLSearchParams(search).get('project') ?? operation];
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
/** What both must be equal to. */
const apolloAlone = new ApolloServer<Context>({ schema, formatError, logger });

type Answer = { text: string; errors: string[]; calls: string[] };

/** The whole answer of one of the servers, its status and headers too, and the calls made for it. */
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
  calls.length = 0;
  const answer = await server?.executeOperation({ query, variables }, { contextValue });
  if (answer?.body.kind !== 'single') throw new Error('no single answer');
  const { data, errors = [] } = answer.body.singleResult;
  const { status, headers } = answer.http;
  return {
    text: JSON.stringify({ status, headers: [...headers], errors, data }),
    errors: errors.map(({ extensions }) => String(extensions?.code)),
    calls: [...calls],
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

test('a query is answered as Apollo alone answers it, compiled or not', async () => {
  const compared = { conditional: 0, plain: 0 };
  const compare = async (
    roots: string,
    yes: boolean,
    no: boolean,
    token: string | null,
    maxBytes: number,
  ) => {
    const query = queryOf(roots);
    const expected = await answerOf(apolloAlone, query, { yes, no }, token, maxBytes);
    for (const server of [compiling, interpreting]) {
      expect(await answerOf(server, query, { yes, no }, token, maxBytes)).toEqual(expected);
    }
    const { errors } = expected;
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

const action = fc.constantFrom('RESTART', 'UPGRADE_TO_HQ', 'RESTORE_SOLUTION', 'NONE', '$none');
const write = fc.oneof(
  text(
    fc.constantFrom('w1: ', 'w2: ', 'w3: ', ''),
    'workflowAction(action: ',
    action,
    ') { __typename ... on WorkflowActionCompleted { action invoiceId } ... on LedgerStatus { message } }',
  ),
  fc.constant('w4: saveApprovers(approvers: []) { __typename }'),
  fc.constant('__typename'),
);

test('a mutation is executed as Apollo alone executes it: the same writes, one after another', async () => {
  let writes = 0;
  const compare = async (roots: string, token: string | null) => {
    const query = `mutation ${roots.includes('$none') ? '($none: WorkflowAction! = RESTART)' : ''} ${roots}`;
    const variables = roots.includes('$none') ? { none: null } : {};
    const expected = await answerOf(apolloAlone, query, variables, token, 1);
    const { text, errors, calls } = await answerOf(compiling, query, variables, token, 1);
    expect(calls).toEqual(expected.calls);
    expect(errors).toEqual(expected.errors);
    // The words about a variable are ours.
    if (!roots.includes('$none')) expect(text).toBe(expected.text);
    for (let n = 0; n < calls.length; n += 2) {
      expect(calls[n + 1]).toBe(calls[n]?.replace('begins', 'ends'));
    }
    writes += calls.length / 2;
  };
  const property = fc.asyncProperty(some(write), fc.option(fc.constant('token')), compare);
  await fc.assert(property, { numRuns: 500 });
  expect(writes).toBeGreaterThan(100);
});

test('a mutation that ends without data is not executed anew', async () => {
  // No JSON holds an undefined: nothing that comes over HTTP gets here.
  const query =
    'mutation ($a: WorkflowAction! = RESTART) { workflowAction(action: $a) { __typename } }';
  await expect(answerOf(interpreting, query, { a: undefined }, 'token', 1)).rejects.toThrow();
  expect(calls).toEqual([]);
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
