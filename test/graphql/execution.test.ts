import { setImmediate as immediate } from 'node:timers/promises';
import { ApolloServer, type GraphQLRequestContext } from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import { expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { GraphQLObjectType, GraphQLScalarType, GraphQLSchema, GraphQLString } from 'graphql';
import { pino } from 'pino';
import { clientDisconnected, GatewayError, overloaded } from '../../src/errors/gateway-error.ts';
import { WorkflowAction } from '../../src/generated/resolvers.ts';
import { COMPILE_AT } from '../../src/graphql/compiled-query.ts';
import { Documents } from '../../src/graphql/documents.ts';
import { createErrorFormatter } from '../../src/graphql/error-format.ts';
import { createExecution } from '../../src/graphql/execution.ts';
import { createContext, type RequestContext } from '../../src/graphql/request-context.ts';
import type { RequestScope } from '../../src/request-scope.ts';
import { currentState, type RequestState } from '../../src/request-state.ts';
import type { Reads, Writes } from '../../src/upstream/call.ts';
import type { UpstreamRequest } from '../../src/upstream/operations.ts';
import { OutcomeUnknown, UpstreamError } from '../../src/upstream/upstream-error.ts';
import { actionArguments } from '../../testkit/graphql-operation.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';
import { createReservation } from '../support/admission.ts';
import { schema } from '../support/schema.ts';
import { scopeOf } from '../support/upstream-call.ts';

/** The response bodies of the service by project, or by operation for writes. Other calls fail. */
const bodies: Record<string, string> = {
  codes:
    '{"service_status":{"invoice_id":12345678901234567890,"status":0},"list":[{"Code":"1","Name":null,"Value":"","Hide":1},{"Code":null},{"Code":"1","Hide":-2147483648}]}',
  long: `{"service_status":{"status":0},"list":[${Array(25_000).fill('{"Code":""}').join()}]}`,
  failed: '{"service_status":{"invoice_id":-5,"message":"m","status":1}}',
  forbidden: '{"service_status":{"status":3}}',
  unknown: '{"service_status":{"status":77}}',
  restartWorkflow2: '{"invoice_id":1,"status":0}',
  upgradeToHQ: '{"message":"m","status":3}',
};

/** When each call starts and ends, in order. */
const calls: string[] = [];

async function respond<Result>({ operation, search }: UpstreamRequest<Result>): Promise<Result> {
  const { name } = operation;
  calls.push(`${name} starts`);
  if (operation.effect === 'write') await immediate();
  calls.push(`${name} ends`);
  const body = bodies[new URLSearchParams(search).get('project') ?? name];
  if (!body) throw new UpstreamError('UPSTREAM_FAILED', { sent: 'yes', fault: 'test' });
  return operation.response.decode(Buffer.from(body));
}

const service: Reads & Writes = {
  read: respond,
  write: (request, { requestId }) =>
    respond(request).then(
      (response) => request.operation.member(response),
      () => new OutcomeUnknown('UPSTREAM_FAILED', requestId),
    ),
};

const logger = pino({ enabled: false });
const formatError = createErrorFormatter(logger);
const base = { schema, formatError, logger };
const apollo = new ApolloServer<RequestContext>({
  ...base,
  plugins: [createExecution(formatError, () => {})],
  documentStore: null,
  dangerouslyDisableValidation: true,
});
/** The reference. */
const apolloAlone = new ApolloServer<RequestContext>({
  ...base,
  validationOptions: { maxErrors: 9 },
  plugins: [{ requestDidStart: async () => ({ didEncounterErrors: setHead }) }],
});

/** Sets the status and headers that errors of the gateway ask for, which Apollo does not know. */
async function setHead({ errors, response: { http } }: GraphQLRequestContext<RequestContext>) {
  for (const error of errors ?? []) {
    const cause = unwrapResolverError(error);
    if (!(cause instanceof GatewayError) || !cause.http) continue;
    http.status = cause.http.status;
    for (const [name, value] of Object.entries(cause.http.headers)) http.headers.set(name, value);
  }
}

const ofDocuments = { introspection: true, maxWritesPerOperation: 100, areOthersExecuted: false };
const newDocuments = () => new Documents({ ...ofDocuments, schema, log: logger });
const remembered = newDocuments();

type Request = {
  query: string;
  variables?: Record<string, unknown>;
  token?: string | null;
  maxResponseBytes?: number;
  scope?: RequestScope;
};

type Response = { text: string; errors: string[]; calls: string[] };

type Result = { data?: unknown; errors?: readonly { extensions?: { code?: unknown } }[] };

/** The scope of a request that never waits for CPU time, so that every call is made in the same iteration. */
const alone = (): RequestScope => ({ ...scopeOf(), turn: () => undefined });

const newState = (): RequestState => ({
  requestId: 'request-1',
  errorCodes: [],
  fields: new Map(),
  writes: [],
});

/** A whole response, with its status and headers, and the calls made for it. */
async function execute(
  server: ApolloServer<RequestContext>,
  documents: Documents,
  request: Request,
): Promise<Response> {
  const { query, variables = {}, token, maxResponseBytes = 1_000_000, scope = alone() } = request;
  calls.length = 0;
  const contextValue = createContext(
    {
      reads: service,
      writes: service,
      keys: { settle: async () => ({ writes: [], isComplete: false, keyArrived: false }) },
      csvOptionParam: undefined,
      workflowActions: Object.values(WorkflowAction),
      maxResponseBytes,
    },
    token === null ? null : scope,
    currentState.getStore() ?? newState(),
    documents.find({ query }),
  );
  const response = await server.executeOperation({ query, variables }, { contextValue });
  await immediate(); // After an error in one field, others may start their calls after the response.
  if (response.body.kind !== 'single') throw new Error('not a single result');
  const { data, errors = [] }: Result = response.body.singleResult;
  const { status, headers } = response.http;
  return {
    text: JSON.stringify({ status, headers: [...headers], errors, data }),
    errors: errors.map(({ extensions }) => String(extensions?.code)),
    calls: [...calls],
  };
}

test('Apollo Server gets the parsed documents, and parses none itself', async () => {
  const documents = newDocuments();
  const server = new ApolloServer<RequestContext>({
    ...base,
    plugins: [createExecution(formatError, () => {})],
    documentStore: documents,
    parseOptions: { maxTokens: 1 }, // Every document that Apollo parses is a syntax error.
  });
  const { errors, text } = await execute(server, documents, { query: '{ __typename }' });
  expect([errors, text]).toEqual([[], expect.stringContaining('"__typename":"Query"')]);
});

test.each(['mutation', 'query'] as const)(
  'an unexpected error in a %s has a request id only if no write may have been done',
  async (type) => {
    const bug = new TypeError('a bug');
    const spy = jest.spyOn(service, type === 'mutation' ? 'write' : 'read').mockRejectedValue(bug);
    const field =
      type === 'mutation'
        ? `workflowAction(${actionArguments('UPGRADE_TO_HQ')})`
        : 'glCodes(target: EMAIL, project: "a")';
    const query = `${type} { ${field} { __typename } }`;
    const { text } = await currentState.run(newState(), () =>
      execute(apollo, newDocuments(), { query }),
    );
    spy.mockRestore();
    const { errors } = JSON.parse(text);
    expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }]);
    expect(errors[0].extensions.requestId).toBe(type === 'mutation' ? undefined : 'request-1');
  },
);

const executeAlone = (request: Request) => execute(apolloAlone, remembered, request);

/** The response to a document that is new, so that it is not compiled. */
const interpret = (request: Request) => execute(apollo, newDocuments(), request);

/** The response to a query that was executed often enough to be compiled. */
async function executeCompiled(request: Request): Promise<Response> {
  for (let n = 1; n < COMPILE_AT; n++) await execute(apollo, remembered, request);
  return execute(apollo, remembered, request);
}

const alias = fc.constantFrom('', '', '', 'a: ', 'b: ', '__proto__: ', 'valueOf: ');
const condition = fc.constantFrom('', '', '', ' @skip(if: $yes)', ' @include(if: $no)');
const text = (...parts: (fc.Arbitrary<string> | string)[]) =>
  fc
    .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
    .map((all) => all.join(''));
const selection = (field: fc.Arbitrary<string>) =>
  fc.array(field, { minLength: 1, maxLength: 4 }).map((all) => `{ ${all.join(' ')} }`);
const leaf = (...names: string[]) =>
  text(alias, fc.constantFrom('__typename', ...names), condition);
const on = (type: string, field: fc.Arbitrary<string>) =>
  text(`... on ${type}`, condition, selection(field));

const code = leaf('id', 'code', 'name', 'value', 'hide', 'project', 'target');
const codes = text(alias, 'codes', condition, selection(fc.oneof(code, on('GlCode', code))));
const result = selection(
  fc.oneof(
    leaf(),
    on('LedgerStatus', leaf('invoiceId', 'message')),
    on('LedgerProblem', leaf('message')),
    on('LedgerUnrecognizedStatus', leaf('status')),
    on('GlCodeList', fc.oneof(codes, leaf('invoiceId', 'totalCount'))),
    fc.constant('...Shared'),
  ),
);
const queryField = fc.oneof(
  text(
    fc.constantFrom('r1: ', 'r2: ', ''),
    'glCodes(target: EMAIL, project: "',
    fc.constantFrom(...Object.keys(bodies).filter((name) => name !== 'long'), 'nowhere'),
    '"',
    fc.constantFrom('', '', ' only: ["1"]', ' search: "1", first: 1', ' skip: 1', ' first: -1'),
    ')',
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

/** A query with these root fields, and with the variables and the fragment that they use. */
function queryOf(fields: string): string {
  const used = ['yes', 'no'].filter((name) => fields.includes(`$${name}`));
  const variables = used.map((name) => `$${name}: Boolean!`).join(', ');
  return `query ${variables && `(${variables})`} ${fields} ${fields.includes('...Shared') ? fragment : ''}`;
}

/** Whether a document is within the limits of the gateway. A random one may have too many directives. */
function isWithinLimits(query: string): boolean {
  try {
    return Boolean(newDocuments().find({ query }));
  } catch {
    return false;
  }
}

test('any query has the same response as from Apollo alone, compiled or interpreted', async () => {
  const compared = { conditional: 0, plain: 0 };
  const queries = fc.record({
    query: selection(queryField).map(queryOf),
    variables: fc.record({ yes: fc.boolean(), no: fc.boolean() }),
    token: fc.option(fc.constant('token')),
  });
  const property = fc.asyncProperty(queries, async (request) => {
    fc.pre(isWithinLimits(request.query));
    const expected = await executeAlone(request);
    expect(await interpret(request)).toEqual(expected);
    expect(await executeCompiled(request)).toEqual(expected);
    fc.pre(!expected.errors.includes('GRAPHQL_VALIDATION_FAILED')); // Others are compared, and not counted.
    compared[request.query.includes('$') ? 'conditional' : 'plain'] += 1;
  });
  await fc.assert(property, { numRuns: 60 });
  // Usually about 20 and 40. Few would mean that little was compared.
  expect(compared.conditional).toBeGreaterThan(5);
  expect(compared.plain).toBeGreaterThan(5);
});

const action = fc.constantFrom(
  actionArguments('RESTART'),
  actionArguments('UPGRADE_TO_HQ'),
  actionArguments('RESTORE_SOLUTION'),
  'action: NONE',
  'action: $none',
);
const mutationField = fc.oneof(
  text(
    fc.constantFrom('w1: ', 'w2: ', 'w3: ', ''),
    'workflowAction(',
    action,
    ') { __typename ... on WorkflowActionCompleted { action invoiceId } ... on LedgerStatus { message } }',
  ),
  fc.constant('w4: saveApprovers(approvers: []) { __typename }'),
  fc.constant('__typename'),
);

test('any mutation sends the same writes in the same order as Apollo alone', async () => {
  let writes = 0;
  const token = fc.option(fc.constant('token'));
  const property = fc.asyncProperty(selection(mutationField), token, async (fields, token) => {
    const hasVariable = fields.includes('$none');
    const query = `mutation ${hasVariable ? '($none: WorkflowAction! = RESTART)' : ''} ${fields}`;
    const variables = hasVariable ? { none: null } : {};
    const request = { query, variables, token, maxResponseBytes: 1 };
    const expected = await executeAlone(request);
    const { text, errors, calls } = await executeCompiled(request);
    expect(calls).toEqual(expected.calls);
    expect(errors).toEqual(expected.errors);
    // The gateway has its own messages about variables.
    if (!hasVariable) expect(text).toBe(expected.text);
    for (let n = 0; n < calls.length; n += 2) {
      expect(calls[n + 1]).toBe(calls[n]?.replace('starts', 'ends'));
    }
    writes += calls.length / 2;
  });
  await fc.assert(property, { numRuns: 40 });
  // Usually more than 20; few would mean that little was compared.
  expect(writes).toBeGreaterThan(5);
});

const listOf = (project: string) =>
  `${project}: glCodes(target: EMAIL, project: "${project}") { __typename }`;

test('a list that is not held is an error of its field, and the status stays 200', async () => {
  for (const error of [overloaded(), clientDisconnected()]) {
    const scope = scopeOf();
    jest.spyOn(scope.reservation, 'reserve').mockRejectedValueOnce(error);
    const query = `{ ${listOf('codes')} ${listOf('failed')} }`;
    const { text, errors } = await interpret({ query, scope });
    expect(errors).toEqual([error.code]);
    expect(JSON.parse(text)).toMatchObject({
      errors: [{ path: ['codes'], extensions: { retryable: true } }],
      data: { codes: null, failed: { __typename: 'LedgerFailed' } },
    });
    expect(JSON.parse(text).status).toBeUndefined();
  }
});

const part =
  '{ glCodes(target: EMAIL, project: "long", skip: 1) { ... on GlCodeList { codes { code } } } }';

test('a part of a list is booked before it exists', async () => {
  const held: number[] = [];
  const reservation = createReservation();
  jest.spyOn(reservation, 'reserve').mockImplementation(async (bytes) => void held.push(bytes));
  await interpret({ query: part, scope: { ...alone(), reservation } });
  expect(held[0]).toBe(25_000 * 8);
});

const all = 'glCodes(target: EMAIL, project: "codes"';
const paged = `query ($only: [String!], $search: String, $skip: Int! = 1, $first: Int) { ${all}, only: $only, search: $search, skip: $skip, first: $first) { ... on GlCodeList { totalCount codes { hide } } } }`;

type Row = [query: string, variables: Record<string, unknown>];

test.each<Row>([
  // The compiler gets these wrong, so they are not compiled.
  ...[
    `{ a: ${all}) { __typename } a: ${all}) @include(if: $no) { ... on GlCodeList { invoiceId } } }`,
    `{ a: ${all}) { __typename } ... @include(if: $no) { a: ${all}) { ... on LedgerStatus { message } } } }`,
    '{ _entities(representations: [{ __typename: "GlCode", target: "EMAIL", project: "codes", code: "9" }, { __typename: "GlCode", target: 5 }]) { ... on GlCode { code } } }',
    `{ ${all}) { ... on GlCodeList { codes { __proto__: name code } } } }`,
  ].map((fields): Row => [queryOf(fields), { no: false }]),
  // Arguments may be given or not.
  ...[{}, { skip: 0 }, { only: ['1'] }, { search: '1', first: 1 }, { first: null }].map(
    (variables): Row => [paged, variables],
  ),
  // Variables may have the names of properties that all objects have.
  ...['constructor', '__proto__', 'valueOf'].flatMap((name) => {
    const list = `{ ${all}, includeHide: $${name}) { ... on GlCodeList { codes { code hide } } } }`;
    const types = ['Boolean! = true', 'Boolean = true', 'Boolean!'];
    return types.map((type): Row => [`query ($${name}: ${type}) ${list}`, {}]);
  }),
])('a query has the same response compiled and interpreted: %s with %j', async (query, given) => {
  const interpreted = await interpret({ query, variables: { ...given } });
  expect(await executeCompiled({ query, variables: { ...given } })).toEqual(interpreted);
  // The gateway has its own messages about variables.
  if (interpreted.text.includes('is required')) return;
  expect(await executeAlone({ query, variables: { ...given } })).toEqual(interpreted);
});

// So does graphql 17: its `coerceInputValue` calls no function for a fault, and the message of its `execute` repeats the value.
test('variables that graphql-js rejects although they were checked are BAD_USER_INPUT, without their values', async () => {
  const once = new GraphQLScalarType({
    name: 'Once',
    parseValue: jest
      .fn<(value: unknown) => unknown>()
      .mockReturnValueOnce('checked')
      .mockImplementation((value) => {
        throw new Error(`rejects ${value}`);
      }),
  });
  const other = new GraphQLSchema({
    query: new GraphQLObjectType({
      name: 'Query',
      fields: { a: { type: GraphQLString, args: { v: { type: once } } } },
    }),
  });
  const recorder = createLogRecorder();
  const formatter = createErrorFormatter(recorder.createLogger('info'));
  const server = new ApolloServer<RequestContext>({
    ...{ schema: other, formatError: formatter, logger, documentStore: null },
    plugins: [createExecution(formatter, () => {})],
    dangerouslyDisableValidation: true,
  });
  const documents = new Documents({ ...ofDocuments, schema: other, log: logger });
  const query = 'query ($v: Once) { a(v: $v) }';
  const { text, errors } = await execute(server, documents, { query, variables: { v: 'secret' } });
  expect(errors).toEqual(['BAD_USER_INPUT']);
  expect(JSON.parse(text)).toMatchObject({ status: 400 });
  expect(text + JSON.stringify(recorder.lines)).not.toContain('secret');
});
