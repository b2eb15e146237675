import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { type GraphQLObjectType, isEnumType, isUnionType } from 'graphql';
import { parseSync, Visitor } from 'oxc-parser';
import { ledger } from '../../src/resolvers/ledger.ts';
import type { Operation } from '../../src/upstream/operations.ts';
import type { WireType } from '../../src/upstream/wire-types.ts';
import { operation } from '../../testkit/example-operation.ts';
import { actionArguments, outcomeFields, writes } from '../../testkit/graphql-operation.ts';
import { json, type Reply, reply, success } from '../../testkit/service.ts';
import { schema } from '../support/schema.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const { operations, resolvers } = ledger;
const writing = operations.filter(({ effect }) => effect === 'write');
/** `GET /getGLCodes5` and so on. */
const rows = operations.map(({ method, name }) => `${method} /${name}`).sort();
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

test('the name of each operation is one segment of a path, because the gateway has no parameters in paths', () => {
  const names = operations.map(({ name }) => name);
  expect(names.filter((name) => !/^\w+$/.test(name))).toEqual([]);
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

test.each(operations)(
  'the section of $name in docs/reference/service-api.md names its parameters and fields',
  ({ name, section, method, parameters, body, response }) => {
    expect(documentedIn(section, 'request')).toContain(`\`${method} /${name}\``);
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

test.each(writing)(
  '$name has an `identifier` for each integer that is an id, because the audit record shows it',
  ({ parameters, body }) => {
    const others = [parameters, body ?? {}]
      .flatMap((type) => fieldsIn(type))
      .filter(([field, { exact, type, identifies }]) => {
        const isInteger = exact || [type].flat().includes('integer');
        return isInteger && /(?:^|_)id$|I[dD]$/.test(field) && !identifies;
      });
    expect(others.map(([field]) => field)).toEqual([]);
  },
);

test('the root fields are those of the table, reads of Query and writes of Mutation', () => {
  const known = new Set(operations.map(({ graphql }) => graphql));
  known.add('Mutation.settleWrites'); // It never calls the service.
  const fields = [
    ...fieldsOf(schema.getQueryType()).map((field) => `Query.${field}`),
    ...fieldsOf(schema.getMutationType()).map((field) => `Mutation.${field}`),
  ];
  expect(new Set(fields)).toEqual(known);
});

test('every root field has a resolver', () => {
  const { Query, Mutation } = resolvers;
  expect(Object.keys(Object(Query)).sort()).toEqual(fieldsOf(schema.getQueryType()).sort());
  expect(Object.keys(Object(Mutation)).sort()).toEqual(fieldsOf(schema.getMutationType()).sort());
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

test.each(operations)('the sample of $name is a response to it', (operation) => {
  const response = operation.response.decode(Buffer.from(operation.sample));
  expect(response).toEqual(expect.anything());
  const recorded: unknown = JSON.parse(JSON.stringify(response));
  expect(operation.response.isRecorded(recorded)).toBe(operation.effect === 'write');
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

test.each(operations)(
  'the sample of $name has every field that is declared',
  ({ response, sample }) => {
    const [wire = {}]: readonly WireType[] = response.wire;
    expect(pathsIn(JSON.parse(sample))).toEqual(expect.arrayContaining(declaredPathsOf(wire)));
  },
);

test('`settleWrites` returns the outcome of each write', () => {
  const members = (name: string) => {
    const type = schema.getType(name);
    return isUnionType(type) ? type.getTypes().map(String) : [];
  };
  for (const { field } of writing) {
    const union = String(schema.getMutationType()?.getFields()[field]?.type);
    expect(members('WriteOutcome')).toEqual(expect.arrayContaining(members(union)));
  }
});

test('every workflow action is an operation that writes', () => {
  const type = schema.getType('WorkflowAction');
  const values = isEnumType(type) ? type.getValues().map(({ name }) => name) : [];
  const known = writing.flatMap(({ action }) => action ?? []);
  expect(values.sort()).toEqual(known.sort());
});

test('`workflowAction` has an argument for each parameter of an action, and no others', () => {
  const actions = writing.filter(({ action }) => action !== undefined);
  const declared = actions.flatMap(({ parameters }) => fieldsIn(parameters).map(([name]) => name));
  const args = schema.getMutationType()?.getFields().workflowAction?.args ?? [];
  const names = args.map(({ name }) => name).filter((name) => name !== 'action');
  const plain = (name: string) => name.replaceAll('_', '').toLowerCase();
  expect(new Set(names.map(plain))).toEqual(new Set(declared.map(plain)));
});

const setReply = shareGateway();
const unknown = 'LedgerOutcomeUnknown';
/** The last one keeps the circuit closed. */
const responses: [response: string, Reply, outcome: unknown][] = [
  ['503', reply(503, '', { 'retry-after': '0' }), unknown],
  ['a redirect', reply(303, '', { location: '/elsewhere' }), unknown],
  ['a reset connection', (response) => void response.socket?.resetAndDestroy(), unknown],
  ['a success', json({ status: 0, unresolved: null }), expect.not.stringContaining('Ledger')],
];

/** The mutation or query of an operation, with all of its parameters. */
function documentOf({ field, action }: Operation): string {
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

test.each(operations)(
  'the example of $name sends each declared parameter and field, and gets the values of the sample',
  async (declared) => {
    const { parameters, body, sample, field } = declared;
    const { gateway, service } = setReply(json(sample));
    const { data, errors } = await gateway.graphql(documentOf(declared));
    expect(errors).toBeUndefined();
    const [request] = service.received;
    const { searchParams } = new URL(request?.url ?? '', 'http://service');
    const sent = [...searchParams.keys()].map((parameter) => `.${parameter}`);
    const fields = request?.body ? pathsIn(JSON.parse(request.body)) : [];
    const paths = [parameters, body ?? {}].flatMap((type) => declaredPathsOf(type));
    expect([...sent, ...fields]).toEqual(expect.arrayContaining(paths));
    const expected = valuesIn(JSON.parse(sample));
    const values = valuesIn(data[field]);
    const wrong = [...values].flatMap(([name, own]) => {
      const known = expected.get(name);
      return known ? own.filter((one) => !known.includes(one)).map((one) => [name, one]) : [];
    });
    expect(wrong).toEqual([]);
    const shown = [...values.values()].flat();
    const lost = [...expected].filter(
      ([name, known]) =>
        name !== 'status' && known.some((one) => one !== null && !shown.includes(one)),
    );
    expect(lost).toEqual([]);
  },
);

test.each(writing)('$name is sent exactly once, whatever the response is', async (write) => {
  const { name, field, method } = write;
  const example = operation(`${field[0]?.toUpperCase()}${field.slice(1)}`);
  const document = writes[name] === undefined ? example : `mutation { ${writes[name]} }`;
  for (const [response, reaction, outcome] of responses) {
    const { gateway, service } = setReply(reaction);
    const { data, errors } = await gateway.graphql(document);
    expect([response, errors, data?.[field].__typename]).toEqual([response, undefined, outcome]);
    expect(service.received.map(({ method, path }) => [method, path])).toEqual([
      [method, `/${name}`],
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
  // They are sent on several connections, so they may arrive in any order.
  expect(service.received.map(({ url }) => url).sort()).toEqual([
    '/getGLCodes5?target=5&project=north&includeHide=false',
    '/getGLCodes5?target=5&project=north&includeHide=true',
    '/getGLCodes5?target=5&project=south&includeHide=false',
  ]);
});
