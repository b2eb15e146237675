import { readdirSync, readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { expect, test } from '@jest/globals';
import { type GraphQLObjectType, isEnumType, isUnionType, parse } from 'graphql';
import { parseSync, Visitor } from 'oxc-parser';
import { WorkflowAction } from '../../src/generated/resolvers.ts';
import { resolvers } from '../../src/resolvers/index.ts';
import { probe } from '../../src/upstream/declarations.ts';
import { type OperationName, operations } from '../../src/upstream/operations.ts';
import type { WireType } from '../../src/upstream/wire-types.ts';
import { operation } from '../../testkit/example-operation.ts';
import { actionArguments, outcomeFields, writes } from '../../testkit/graphql-operation.ts';
import { json, type Reply, reply, success } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const names = Object.keys(operations) as OperationName[];
/** `GET /getGLCodes5` and so on. */
const rows = Object.values(operations)
  .map(({ method, path }) => `${method} /${path}`)
  .sort();
const writeNames = names.filter((name) => operations[name].effect === 'write');
const typeDefs = parse(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));
const schema = buildSubgraphSchema([{ typeDefs, resolvers }]);
/** The fields of a root type without those that federation adds, which are no operations. */
function fieldsOf(type: GraphQLObjectType | null | undefined): string[] {
  return Object.keys(type?.getFields() ?? {}).filter((field) => !field.startsWith('_'));
}

/*
 * What an operation needs, which is added by hand (CONTRIBUTING.md). Each check names what is missing.
 */

const page = readFileSync(new URL('../../docs/reference/service-api.md', import.meta.url), 'utf8');

test('the table holds exactly the operations of docs/reference/service-api.md, with their methods', () => {
  const [, section = ''] = page.split('\n## 4. Operations\n');
  const documented = [...section.matchAll(/^(?:- )?`((?:GET|POST) \/\w+)`/gm)];
  expect(rows).toEqual(documented.map(([, operation]) => operation).sort());
});

test('no two operations have the same path, because the reference service has all of them', () => {
  expect(new Set(rows).size).toBe(rows.length);
});

test('the probe is a read, with parameters as declared', () => {
  const { effect, toSearch } = operations[probe.operation];
  const { project = '', ...others } = Object.fromEntries(new URLSearchParams(probe.search));
  const values = Object.entries(others).map(([name, text]) => [name, JSON.parse(text)]);
  const search = toSearch({ ...Object.fromEntries(values), project });
  expect(new URLSearchParams(search)).toEqual(new URLSearchParams(probe.search));
  expect(effect).toBe('read');
});

/** The sections of docs/reference/service-api.md, such as 4.1. */
const sections = page.split(/^### /m).map((part) => {
  const [, number = '', title = ''] = /^(\S+) (.*)/.exec(part) ?? [];
  return { number, title, text: part.split(/^## /m)[0] ?? '' };
});

/** The text of a section, with the records that it refers to by their number or name. The status record is one of a response. */
function documentedIn(section: string, of: 'request' | 'response'): string {
  const status = sections.find(({ number }) => number === '2.1');
  const known = sections.filter((one) => one !== status);
  const found = new Set(known.filter(({ number }) => number === section));
  if (status && of === 'response') found.add(status);
  // A set visits what is added meanwhile.
  for (const { text } of found) {
    const isNamed = ({ number, title }: (typeof sections)[number]) =>
      number.startsWith('2.') && new RegExp(`[([]${number}\\b|\\b${title}\\b`).test(text);
    for (const record of known.filter(isNamed)) found.add(record);
  }
  return [...found].map(({ text }) => text).join('');
}

test.each(names)(
  'the section of %s in docs/reference/service-api.md names its parameters and fields',
  (name) => {
    const { section, method, path, parameters, body, response } = operations[name];
    expect(documentedIn(section, 'request')).toContain(`\`${method} /${path}\``);
    const missingIn = (of: 'request' | 'response', types: readonly WireType[]) => {
      const text = documentedIn(section, of);
      const fields = types.flatMap((type) => fieldsIn(type)).map(([field]) => field);
      return fields.filter((field) => !text.includes(`\`${field}\``));
    };
    expect(missingIn('request', [parameters, body ?? {}])).toEqual([]);
    expect(missingIn('response', response.wire)).toEqual([]);
  },
);

/** The fields of a type, inside lists and records too. */
function fieldsIn({ items, properties = {} }: WireType): [name: string, WireType][] {
  const inner = Object.values(properties).flatMap(fieldsIn);
  return [...Object.entries(properties), ...inner, ...(items ? fieldsIn(items) : [])];
}

test.each(writeNames)(
  '%s has an `identifier` for each integer that is an id, because the audit record shows it',
  (name) => {
    const { parameters, body } = operations[name];
    const others = [parameters, body ?? {}]
      .flatMap((type) => fieldsIn(type))
      .filter(([field, { exact, type, target }]) => {
        const isInteger = exact || [type].flat().includes('integer');
        return isInteger && /(?:^|_)id$|I[dD]$/.test(field) && target !== 'identifier';
      });
    expect(others.map(([field]) => field)).toEqual([]);
  },
);

test('the root fields are those of the table, reads of Query and writes of Mutation', () => {
  const root = { read: 'Query.', write: 'Mutation.' };
  const known = new Set(['Mutation.settleWrites']); // It never calls the service.
  for (const name of names) {
    const { effect, graphql } = operations[name];
    expect([name, graphql]).toEqual([name, expect.stringMatching(`^${root[effect]}`)]);
    known.add(graphql);
  }
  const fields = [
    ...fieldsOf(schema.getQueryType()).map((field) => `Query.${field}`),
    ...fieldsOf(schema.getMutationType()).map((field) => `Mutation.${field}`),
  ];
  expect(new Set(fields)).toEqual(known);
});

test('every root field has a resolver', () => {
  const { Query, Mutation }: Record<'Query' | 'Mutation', object> = resolvers;
  expect(Object.keys(Query).sort()).toEqual(fieldsOf(schema.getQueryType()).sort());
  expect(Object.keys(Mutation).sort()).toEqual(fieldsOf(schema.getMutationType()).sort());
});

test('a test requests every root field', () => {
  const folder = new URL('../', import.meta.url);
  const requested: string[] = [];
  const visitor = new Visitor({
    Literal: ({ value }) => void requested.push(String(value)),
    TemplateElement: ({ value }) => void requested.push(value.raw),
  });
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts')) continue;
    visitor.visit(parseSync(path, readFileSync(new URL(path, folder), 'utf8')).program);
  }
  for (const field of [schema.getQueryType(), schema.getMutationType()].flatMap(fieldsOf)) {
    const isRequested = requested.some((text) => new RegExp(`\\b${field}\\(`).test(text));
    expect([field, isRequested]).toEqual([field, true]);
  }
});

test.each(names)('the sample of %s is a response to it', (name) => {
  const { sample, effect, decode, isRecorded } = operations[name];
  const response = decode(Buffer.from(sample));
  expect(response).toEqual(expect.anything());
  const recorded: unknown = JSON.parse(JSON.stringify(response));
  expect(isRecorded(recorded)).toBe(effect === 'write');
});

/** The paths of the fields of a value, such as `list[].Name`. Those of all items of a list count. */
function pathsIn(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, `${at}[]`));
  if (typeof value !== 'object' || value === null) return [at];
  return Object.entries(value).flatMap(([name, field]) =>
    field === undefined ? [] : [`${at}.${name}`, ...pathsIn(field, `${at}.${name}`)],
  );
}

/** The same of a declared type. */
function declaredPathsOf({ items, properties = {} }: WireType, at = ''): string[] {
  if (items) return declaredPathsOf(items, `${at}[]`);
  return Object.entries(properties).flatMap(([name, field]) => [
    `${at}.${name}`,
    ...declaredPathsOf(field, `${at}.${name}`),
  ]);
}

test.each(names)('the sample of %s has every field that is declared', (name) => {
  const { response, sample } = operations[name];
  const [wire = {}]: readonly WireType[] = response.wire;
  expect(pathsIn(JSON.parse(sample))).toEqual(expect.arrayContaining(declaredPathsOf(wire)));
});

test('`settleWrites` returns the outcome of each write', () => {
  const members = (name: string) => {
    const type = schema.getType(name);
    return isUnionType(type) ? type.getTypes().map(String) : [];
  };
  for (const name of writeNames) {
    const [, field = ''] = operations[name].graphql.split('.');
    const union = String(schema.getMutationType()?.getFields()[field]?.type);
    expect(members('WriteOutcome')).toEqual(expect.arrayContaining(members(union)));
  }
});

test('every workflow action is an operation that writes', () => {
  const type = schema.getType('WorkflowAction');
  const values = isEnumType(type) ? type.getValues().map(({ value }) => value) : [];
  const known = writeNames.filter((name) => operations[name].graphql === 'Mutation.workflowAction');
  expect(values.sort()).toEqual(known.sort());
});

const setReply = shareGateway();
const unknown = 'LedgerOutcomeUnknown';
/** The last one keeps the circuit closed. */
const responses: [response: string, Reply, outcome: unknown][] = [
  ['503', reply(503, '', { 'retry-after': '0' }), unknown],
  ['a redirect', reply(307, '', { location: '/elsewhere' }), unknown],
  ['a reset connection', (response) => void response.socket?.resetAndDestroy(), unknown],
  ['a success', json({ status: 0, unresolved: null }), expect.not.stringContaining('Ledger')],
];

/** The mutation or query of an operation, with all of its parameters. */
function documentOf(name: OperationName): string {
  const [, field = ''] = operations[name].graphql.split('.');
  const action = Object.values(WorkflowAction).find((one) => one === name);
  if (!action) return operation(`${field[0]?.toUpperCase()}${field.slice(1)}`);
  const selection = `${outcomeFields} ... on WorkflowActionCompleted { action }`;
  return `mutation { workflowAction(${actionArguments(action)}) { ${selection} } }`;
}

/** The values of the fields in JSON, by their names in lower case and without underscores. A number is equal to its text. */
function valuesIn(value: unknown): Map<string, unknown[]> {
  const values = new Map<string, unknown[]>();
  JSON.stringify(value, (field, inner: unknown) => {
    const name = field.replaceAll('_', '').toLowerCase();
    const known = values.get(name) ?? [];
    const isNumber =
      typeof inner === 'string' && /^-?\d/.test(inner) && !Number.isNaN(Number(inner));
    if (typeof inner !== 'object' || inner === null)
      values.set(name, [...known, isNumber ? Number(inner) : inner]);
    return inner;
  });
  return values;
}

test.each(names)(
  'the example of %s sends each declared parameter and field, and gets the values of the sample',
  async (name) => {
    const { parameters, body, sample, graphql } = operations[name];
    const { gateway, service } = setReply(json(sample));
    const { data, errors } = await gateway.graphql(documentOf(name));
    expect(errors).toBeUndefined();
    const [request] = service.received;
    const { searchParams } = new URL(request?.url ?? '', 'http://service');
    const sent = [...searchParams.keys()].map((parameter) => `.${parameter}`);
    const fields = request?.body ? pathsIn(JSON.parse(request.body)) : [];
    const declared = [parameters, body ?? {}].flatMap((type) => declaredPathsOf(type));
    expect([...sent, ...fields]).toEqual(expect.arrayContaining(declared));
    const expected = valuesIn(JSON.parse(sample));
    const values = valuesIn(data[graphql.replace(/.*\./, '')]);
    const wrong = [...values].flatMap(([field, own]) => {
      const known = expected.get(field);
      return known ? own.filter((one) => !known.includes(one)).map((one) => [field, one]) : [];
    });
    expect(wrong).toEqual([]);
    const shown = [...values.values()].flat();
    const lost = [...expected].filter(
      ([field, known]) =>
        field !== 'status' && known.some((one) => one !== null && !shown.includes(one)),
    );
    expect(lost).toEqual([]);
  },
);

test.each(writeNames)('%s is sent exactly once, whatever the response is', async (name) => {
  const [, field = ''] = operations[name].graphql.split('.');
  const example = operation(`${field[0]?.toUpperCase()}${field.slice(1)}`);
  const document = writes[name] === undefined ? example : `mutation { ${writes[name]} }`;
  for (const [response, reaction, outcome] of responses) {
    const { gateway, service } = setReply(reaction);
    const { data, errors } = await gateway.graphql(document);
    expect([response, errors, data?.[field].__typename]).toEqual([response, undefined, outcome]);
    expect(service.received.map(({ method, url }) => [method, url.split('?')[0]])).toEqual([
      [operations[name].method, `/${operations[name].path}`],
    ]);
  }
});

test('equal reads of one request are one call', async () => {
  const { service, gateway } = setReply(success);
  const field = (project: string, includeHide = false) =>
    `glCodes(target: EMAIL, project: "${project}", includeHide: ${includeHide}) { __typename }`;

  const { data, errors } = await gateway.graphql(
    `{ a: ${field('north')} b: ${field('north')} c: ${field('south')} d: ${field('north', true)} }`,
  );

  expect(errors).toBeUndefined();
  expect(Object.keys(data)).toEqual(['a', 'b', 'c', 'd']);
  expect(service.received.map(({ url }) => url)).toEqual([
    '/getGLCodes5?target=5&project=north&includeHide=false',
    '/getGLCodes5?target=5&project=south&includeHide=false',
    '/getGLCodes5?target=5&project=north&includeHide=true',
  ]);
});
