import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse } from 'graphql';
import { camelCase } from '../src/lib/camel-case.ts';
import { services } from '../src/upstream/declarations.ts';

/*
 * `npm run new-operation -- blockVendor --write --outcome VendorBlocked --body 'vendor_id:identifier reason:text?'` writes
 * what follows from the name and the fields of an operation, and says what is left (CONTRIBUTING.md).
 */

/**
 * The types of a field (`wire-types.ts`): the type in GraphQL, and a sample in JSON, which is one in GraphQL too. The samples of
 * two fields differ, so that the test finds a resolver that takes one for the other.
 */
const types: Readonly<
  Record<string, readonly [graphql: string, sample: (wire: string, n: number) => string]>
> = {
  text: ['String', (wire) => `"${wire}"`],
  flag: ['Boolean', () => 'true'],
  int32: ['Int', (_, n) => `${n}`],
  double: ['Float', (_, n) => `${n}.5`],
  identifier: ['ID', (_, n) => `${n}`],
  exactInteger: ['ID', (_, n) => `${n}`],
  decimal: ['String', (_, n) => `${n}.50`],
};
/** The number in the last sample. That of the status record is 7. */
let lastNumber = 7;

/** A field of a record. `reason:text?` is one that may be missing. */
type Field = {
  wire: string;
  name: string;
  type: string;
  graphql: string;
  sample: string;
  isOptional: boolean;
  /** The fields of the records of a list, such as `lines:Line[line_id:identifier,amount:decimal]`. */
  inner?: Field[];
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    write: { type: 'boolean', default: false },
    service: { type: 'string' },
    outcome: { type: 'string' },
    parameters: { type: 'string', default: '' },
    body: { type: 'string', default: '' },
    item: { type: 'string', default: '' },
    fields: { type: 'string', default: '' },
    beside: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
    pages: { type: 'string', default: '' },
  },
});
const [operation = ''] = positionals;
const isWrite = values.write;
const upper = (name: string) => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
const lower = (name: string) => `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
const field = lower(operation.replace(/^get(?=[A-Z])/, ''));
const item = values.item;
if (!/^[A-Za-z]\w*$/.test(operation) || (!isWrite && item === '')) {
  throw new Error(
    'Name the operation, and the type of the items of a read: getVendors --item Vendor',
  );
}
const serviceNames = Object.keys(services);
const [onlyService] = serviceNames.length === 1 ? serviceNames : [];
const ofService = values.service ?? onlyService;
if (ofService === undefined || !serviceNames.includes(ofService)) {
  throw new Error(`--service names a service of declarations.ts: ${serviceNames.join(' or ')}`);
}
const member = values.outcome ?? (isWrite ? `${upper(field)}Completed` : `${item}List`);
const [parameters, body, fields] = [values.parameters, values.body, values.fields].map(fieldsOf);
/** The fields of the response beside its list or its status record. */
const beside = fieldsOf(values.beside);
const sent = [...(parameters ?? []), ...(body ?? [])];
if ([...(parameters ?? []), ...(fields ?? []), ...beside].some(({ inner }) => inner)) {
  throw new Error('Only --body has lists');
}
if (isWrite && beside.some(({ isOptional }) => !isOptional)) {
  throw new Error(
    'A field beside a status record is optional: records of earlier versions lack it',
  );
}
/** The field that identifies an item in a federated graph. */
const key = fields?.find(({ wire }) => wire === values.key);
if (
  values.key !== '' &&
  (isWrite || !key || key.isOptional || !/^(ID|String)$/.test(key.graphql))
) {
  throw new Error('--key names a field of a read that is required and a text or an identifier');
}
/** The parameters that a reference needs values of. They are fields of the item, and of its key. */
const requested = key ? (parameters ?? []).filter(({ isOptional }) => !isOptional) : [];
if (requested.some(({ graphql }) => !/^(ID|String)$/.test(graphql))) {
  throw new Error('With --key, a required parameter is a text, a decimal or an identifier');
}
/** The fields of an item in GraphQL. */
const itemFields = [...requested, ...(fields ?? [])];
if (new Set(itemFields.map(({ name }) => name)).size < itemFields.length) {
  throw new Error('With --key, no field of an item has the name of a required parameter');
}
/** The parameter that asks for a page, and the field of the response that names the next one. Both are missing if there is one page. */
const [, pageParameter, nextPage] = /^(?:(\w+):(\w+)|none)$/.exec(values.pages) ?? [];
const asked = parameters?.find(({ wire }) => wire === pageParameter);
const next = beside.find(({ wire }) => wire === nextPage);
const isPaged = asked?.isOptional && next?.isOptional && asked.type === next.type;
if (key ? values.pages !== 'none' && !isPaged : values.pages !== '') {
  throw new Error(
    '--pages is none, or an optional parameter and a field beside the list of the same type, such as page:next_page. Only --key needs it',
  );
}
function fieldsOf(list: string): Field[] {
  return list
    .split(/\s+/)
    .filter(Boolean)
    .map((text) => {
      const [, wire = '', type = '', list, optional] =
        /^(\w+):(\w+)(?:\[(.+)\])?(\?)?$/.exec(text) ?? [];
      const name = camelCase(wire);
      const isOptional = optional !== undefined;
      if (list !== undefined) {
        const inner = fieldsOf(list.replaceAll(',', ' '));
        const graphql = `[${type}Input!]`;
        return { wire, name, type, graphql, sample: `[${sampleOf(inner)}]`, isOptional, inner };
      }
      const [graphql, create] = types[type] ?? [];
      if (!graphql || !create) throw new Error(`${text} is no field, such as reason:text?`);
      lastNumber += 1;
      return { wire, name, type, graphql, sample: create(wire, lastNumber), isOptional };
    });
}

// The examples of subgraphs are composed with the schema, so a name in them is taken, too.
for (const file of ['schema.graphql', ...exampleSubgraphs()]) {
  const taken = namesIn(file);
  const inputs = sent.flatMap(({ type, inner }) => (inner ? [`${type}Input`] : []));
  const names = [field, `${upper(field)}Result`, member, item, ...inputs];
  const found = names.filter((name) => taken.has(name));
  if (found.length > 0) {
    throw new Error(
      `${file} has ${found.join(' and ')}. Choose other names, or rename those there`,
    );
  }
}
function exampleSubgraphs(): string[] {
  const folder = 'examples/federation';
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((file) => file.endsWith('.graphql'));
  return files.map((file) => `${folder}/${file}`);
}
/** The names of the types and of the root fields in a schema. */
function namesIn(file: string): Set<string> {
  const { definitions } = parse(readFileSync(file, 'utf8'));
  const names = definitions.flatMap((definition) => {
    if (!('name' in definition) || !definition.name) return [];
    const { value } = definition.name;
    if (!/^(Query|Mutation)$/.test(value)) return [value];
    return 'fields' in definition ? (definition.fields ?? []).map(({ name }) => name.value) : [];
  });
  return new Set(names);
}

/** The names of the types in `wire-types.ts` that these fields use. */
function typesOf(all: readonly Field[]): string[] {
  return all.flatMap(({ type, inner }) => (inner ? ['list', ...typesOf(inner)] : [type]));
}

/** The check of an argument, if the schema accepts what the declaration may not. */
function checkOf({ type, inner, isOptional }: Field, isInQuery: boolean): string | undefined {
  const inside = inner ? checksOf(inner, false) : '';
  const ofType = type === 'text' && isInQuery ? 'wellFormed' : undefined;
  const check = inside ? `z.array(${inside})` : type === 'decimal' ? 'decimalText' : ofType;
  return check && `${check}${isOptional ? '.nullish()' : ''}`;
}

/** The check of a record with these fields. Empty if none is checked. */
function checksOf(all: readonly Field[], isInQuery: boolean): string {
  const checks = all.flatMap((one) => {
    const check = checkOf(one, isInQuery);
    return check ? [`${one.name}: ${check}`] : [];
  });
  return checks.length > 0 ? `z.object({ ${checks.join(', ')} })` : '';
}

function join(all: readonly Field[] | undefined, each: (one: Field) => string, by = ', ') {
  return (all ?? []).map(each).join(by);
}
/** The types of the fields of a record. */
const fieldTypesOf = (all: readonly Field[] | undefined): string =>
  `{ ${join(all, ({ wire, type, isOptional, inner }) => {
    const one = inner ? `list(${recordOf(inner)})` : type;
    return `${wire}: ${isOptional ? `optional(${one})` : one}`;
  })} }`;
const recordOf = (all: readonly Field[] | undefined): string => `record(${fieldTypesOf(all)})`;
const argumentsOf = (all: readonly Field[] | undefined, from = 'args'): string =>
  `{ ${join(all, ({ wire, name, inner, isOptional }) => {
    const items = `${isOptional ? '?' : ''}.map((one) => (${argumentsOf(inner, 'one')}))`;
    return `${wire}: ${from}.${name}${inner ? items : ''}`;
  })} }`;
function sampleOf(all: readonly Field[] | undefined): string {
  return `{${join(all, ({ wire, sample }) => `"${wire}":${sample}`, ',')}}`;
}
const status = '{"invoice_id":7,"message":"done","status":0}';
/** What follows the list or the status record in the sample, which is the last page. */
const rest = join(
  beside,
  ({ wire, sample }) => `,"${wire}":${wire === nextPage ? 'null' : sample}`,
  '',
);
const sample = isWrite
  ? status.replace('}', `${rest}}`)
  : `{"service_status":${status},"list":[${sampleOf(fields)}]${rest}}`;

/** Inserts a text before another one. */
function insert(file: string, before: string, text: string): void {
  const old = readFileSync(file, 'utf8');
  if (!old.includes(before)) throw new Error(`${file} does not have: ${before}`);
  writeFileSync(
    file,
    old.replace(before, () => text + before),
  );
}

const besideTypes = beside.length > 0 ? [fieldTypesOf(beside)] : [];
const servicePage = 'docs/reference/service-api.md';
const described = existsSync(servicePage) ? readFileSync(servicePage, 'utf8') : '';
const section = `4.${[...described.matchAll(/^### 4\./gm)].length + 1}`;

// The declaration, and the types that it is the first to use.
const declarations = 'src/upstream/declarations.ts';
insert(
  declarations,
  '} as const satisfies Record<string, Declaration>;',
  `  ${operation}: {
    service: '${ofService}',
    section: '${section}',
    method: '${isWrite ? 'POST' : 'GET'}',
    path: '${operation}',
    effect: '${isWrite ? 'write' : 'read'}',
    parameters: ${recordOf(parameters)},
    body: ${body?.length ? recordOf(body) : 'null'},
    response: ${isWrite ? `statusResponse(${besideTypes.join()})` : `listResponse(${[recordOf(fields), ...besideTypes].join(', ')})`},
    sample: '${sample}',
${key ? `    pages: ${isPaged ? `{ parameter: '${pageParameter}', next: '${nextPage}' }` : 'null'},\n` : ''}    graphql: '${isWrite ? 'Mutation' : 'Query'}.${field}',
  },
`,
);
const [imports = ''] = readFileSync(declarations, 'utf8').split("} from './wire-types.ts'");
for (const type of new Set(typesOf([...sent, ...(fields ?? []), ...beside]))) {
  if (!imports.includes(`\n  ${type},`))
    insert(declarations, "} from './wire-types.ts'", `  ${type},\n`);
}

// The schema.
const root = isWrite ? 'Mutation' : 'Query';
const variables = (each: (field: Field) => string) =>
  sent.length > 0 ? `(${join(sent, each)})` : '';
const argument = ({ wire, name, graphql, isOptional }: Field) =>
  `"The service's \`${wire}\`." ${name}: ${graphql}${isOptional ? '' : '!'}`;
const schemaField = (one: Field) => `  ${argument(one).replace('." ', '."\n  ')}\n`;
const statusFields = `  "The service's \`invoice_id\`, an integer of any size."
  invoiceId: ID
  "The message in the status record."
  message: String
`;
const unknown = isWrite ? ['LedgerOutcomeUnknown'] : [];
const members = [
  member,
  'LedgerFailed',
  'LedgerNotPermitted',
  'LedgerNoMoreInvoices',
  'LedgerUnrecognizedStatus',
  ...unknown,
];
appendFileSync(
  'schema.graphql',
  `
extend type ${root} {
  "Sends \`${operation}\`."
  ${field}${variables(argument)}: ${upper(field)}Result
}

"The outcome of \`${field}\`."
union ${upper(field)}Result =${members.map((name) => `\n  | ${name}`).join('')}

"The outcome of \`${operation}\` with status 0, OK."
type ${member} implements LedgerStatus {
${isWrite ? '' : `  "In the order of the service."\n  ${field}: [${item}!]!\n`}${join(beside, schemaField, '')}${statusFields}}
${isWrite ? `\nextend union WriteOutcome = ${member}\n` : `\n"An item of \`${operation}\`."\ntype ${item}${key ? ` @key(fields: "${join([...requested, key], ({ name }) => name, ' ')}")` : ''} {\n${join(itemFields, schemaField, '')}}\n`}`,
);

// The input types of lists.
for (const { type, inner } of sent) {
  if (!inner) continue;
  const inputFields = join(inner, schemaField, '');
  appendFileSync(
    'schema.graphql',
    `\n"An item of a list in \`${operation}\`."\ninput ${type}Input {\n${inputFields}}\n`,
  );
}

// The resolver.
const checked = [
  ...(parameters ?? []).map((one) => [one.name, checkOf(one, true)]),
  ...(body ?? []).map((one) => [one.name, checkOf(one, false)]),
].flatMap(([name, check]) => (check ? [`${name}: ${check}`] : []));
const uses = (check: string) => checked.some((text) => text.includes(check));
const args = sent.length > 0 ? 'args' : '_args';
const input = [
  ...(parameters?.length ? [`parameters: ${argumentsOf(parameters)}`] : []),
  ...(body?.length ? [`body: ${argumentsOf(body)}`] : []),
];
/** The fields of a record of the service in GraphQL. */
const membersOf = (all: readonly Field[] | undefined, from: string) =>
  join(
    all,
    ({ wire, name, isOptional }) => `${name}: ${from}.${wire}${isOptional ? ' ?? null' : ''}`,
  );
const toItem = `(record) => ({ ${key ? `__typename: '${item}' as const, ` : ''}${requested.length > 0 ? '...requested, ' : ''}${membersOf(fields, 'record')} })`;
const besideMembers = beside.length > 0 ? `, ${membersOf(beside, 'status')}` : '';
/** The types of the service that a check uses. */
const guarded = new Set([
  ...(uses('decimalText') ? ['decimal'] : []),
  ...requested.map(({ type }) => type).filter((type) => type !== 'text'),
]);
const imported = [
  ...(checked.length > 0 || key ? ["import { z } from 'zod';"] : []),
  `import type { ${root}Resolvers } from '../generated/resolvers.ts';`,
  ...(key || (isWrite && beside.length > 0)
    ? ["import type { Responses } from '../upstream/operations.ts';"]
    : []),
  ...(isWrite && beside.length === 0
    ? ["import type { ServiceStatus } from '../upstream/responses.ts';"]
    : []),
  ...(guarded.size > 0
    ? [`import { ${[...guarded].sort().join(', ')}, guardOf } from '../upstream/wire-types.ts';`]
    : []),
  ...(key ? ["import { invalidKey, type ReadReference } from './entity.ts';"] : []),
  `import { outcome${isWrite ? ', writeOutcome' : ''} } from './outcome.ts';`,
  ...(key ? ["import { pagesOf } from './pages.ts';"] : []),
  ...(uses('wellFormed') || requested.some(({ type }) => type === 'text')
    ? ["import { wellFormed } from './well-formed.ts';"]
    : []),
];
const decimalCheck =
  "const decimalText = z.string().refine(guardOf(decimal), 'is not a decimal number, such as 10.50');";
const checks = `
${uses('decimalText') ? decimalCheck : ''}

/** What the schema cannot express of the arguments. */
export const ${field}Args = z.object({ ${checked.join(', ')} });
`.replace('\n\n\n', '\n');
const write = `
export const ${field}: NonNullable<MutationResolvers['${field}']> = async (_, ${args}, { service }, { path }) => {
  const result = await service().write('${operation}', String(path.key), { ${input.join(', ')} });
  return writeOutcome(result, ${lower(member)});
};

export const ${lower(member)} = (status: ${beside.length > 0 ? `Responses['${operation}']` : 'ServiceStatus'}) => outcome(status, { __typename: '${member}'${besideMembers} });
`;
/** What maps a response to items. Their requested fields are arguments of the read. */
const toItems =
  requested.length > 0
    ? `toItems({ ${join(requested, ({ name }) => `${name}: args.${name}`)} })`
    : 'toItems';
const read = `
export const ${field}: NonNullable<QueryResolvers['${field}']> = async (_, ${args}, context) => {
  const { list } = context.loaders(); // Throws first if the token is missing.
  const { list: ${field}, ...status } = await list('${operation}', ${argumentsOf(parameters)}, ${key ? toItems : `(response) => response.list.map(${toItem})`});
  return outcome(status, { __typename: '${member}', ${field}${besideMembers} });
};
`;
const typeOfRequested = `{ ${join(requested, ({ name }) => `${name}: string`)} }`;
/** The check of a field of a reference. */
const keyCheckOf = ({ type }: Field) =>
  type === 'text' ? 'wellFormed.max(1000)' : `z.string().max(1000).refine(guardOf(${type}))`;
const reader = key
  ? `
const toItems = ${requested.length > 0 ? `(requested: ${typeOfRequested}) => ` : ''}(response: Responses['${operation}']) => response.list.map(${toItem});

/** The fields of a reference. They come from another subgraph, so the schema has not checked them. */
const keySchema = z.object({ ${join(requested, (one) => `${one.name}: ${keyCheckOf(one)}, `, '')}${key.name}: z.string() });

/** Reads a reference. It is found if the list ${requested.length > 0 ? 'for its parameters ' : ''}has it. */
export const read${item}Reference: ReadReference = (representation) => {
  const { data, error } = keySchema.safeParse(representation);
  if (error) return invalidKey('${item}', error);
  const { ${key.name}${requested.length > 0 ? ', ...requested' : ''} } = data;
  const parameters = ${argumentsOf(requested, 'requested')};
  const list = JSON.stringify(['${operation}', parameters]);
  return {
    list,
    key: ${key.name},
    readIndex(loaders) {
      const read = () => pagesOf(loaders, '${operation}', parameters, toItems${requested.length > 0 ? '(requested)' : ''});
      return loaders.index(list, read, (item) => item.${key.name});
    },
  };
};
`
  : '';
/** The name of the files for the field, such as `block-vendor` for `blockVendor`. */
const fileName = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const resolver = `src/resolvers/${fileName}.ts`;
writeFileSync(
  resolver,
  `${imported.join('\n')}\n${checked.length > 0 ? checks : ''}${isWrite ? write : read}${reader}`,
);
const index = 'src/resolvers/index.ts';
const names = [
  field,
  ...(isWrite ? [lower(member)] : []),
  ...(checked.length > 0 ? [`${field}Args`] : []),
  ...(key ? [`read${item}Reference`] : []),
];
insert(
  index,
  'import { writeOutcome }',
  `import { ${names.join(', ')} } from './${fileName}.ts';\n`,
);
insert(
  index,
  isWrite ? '    saveApprovers,' : 'glCodes },',
  isWrite ? `    ${field},\n` : `${field}, `,
);
if (checked.length > 0) insert(index, '  glCodes: glCodesArgs,', `  ${field}: ${field}Args,\n`);
if (key) insert(index, 'GlCode: readGlCodeReference', `${item}: read${item}Reference, `);
if (isWrite) {
  insert(
    index,
    '    default:\n',
    `    case '${operation}':\n      return ${lower(member)}(known.response);\n`,
  );
}

// An example, a test, and the pages that name each member and each union.
const keyword = isWrite ? 'mutation' : 'query';
const namesOf = (all: readonly Field[] | undefined) => join(all, ({ name }) => name, ' ');
/** The selection of everything that the member has of its own. */
const ofMember =
  isWrite && beside.length === 0
    ? ''
    : `... on ${member} { ${isWrite ? '' : `${field} { ${namesOf(itemFields)} } `}${namesOf(beside)} }`;
const selection = `__typename
    ... on LedgerStatus { invoiceId message }
    ... on LedgerProblem { message }
    ... on LedgerUnrecognizedStatus { status }
${isWrite ? '... on LedgerOutcomeUnknown { code requestId }' : ''}
    ${ofMember}`;
const value = ({ graphql, sample, inner }: Field): string => {
  if (inner) return `[{ ${join(inner, (one) => `${one.name}: ${value(one)}`)} }]`;
  return graphql === 'String' && !sample.startsWith('"') ? `"${sample}"` : sample;
};
const given = sent.length > 0 ? `(${join(sent, (one) => `${one.name}: ${value(one)}`)})` : '';
writeFileSync(
  `examples/operations/${upper(field)}.graphql`,
  `# Sends ${operation}.\n${keyword} ${upper(field)} {\n  ${field}${given} {\n    ${selection}\n  }\n}\n`,
);
const fragment = isWrite ? 'outcomeFields' : 'readFields';
/** The value of a field in the response to the query of the test. */
const readOf = ({ graphql, sample }: Field): string =>
  /^(ID|String)$/.test(graphql) ? `'${sample.replaceAll('"', '')}'` : sample;
const expected = [
  ...(isWrite
    ? []
    : [`${field}: [{ ${join(itemFields, (one) => `${one.name}: ${readOf(one)}`)} }]`]),
  ...beside.map((one) => `${one.name}: ${one.wire === nextPage ? 'null' : readOf(one)}`),
];
const search = join(parameters, ({ wire, sample }) => `${wire}=${sample.replaceAll('"', '')}`, '&');
writeFileSync(
  `test/resolvers/${fileName}.test.ts`,
  `import { expect, test } from '@jest/globals';
import { ${fragment} } from '../../testkit/graphql-operation.ts';
import { json } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway();

test('${operation} is sent as declared, and its outcome is read', async () => {
  const { service, gateway } = share(json('${sample}'));
  const { data } = await gateway.graphql(\`${isWrite ? 'mutation ' : ''}{ ${field}${given} { \${${fragment}} ${ofMember} } }\`);
  expect(data.${field}).toEqual({ __typename: '${member}', invoiceId: '7', message: 'done'${expected.map((one) => `, ${one}`).join('')} });
  expect(service.received.map(({ method, url, body }) => [method, url, body])).toEqual([
    ['${isWrite ? 'POST' : 'GET'}', '/${operation}${search ? `?${search}` : ''}', '${body?.length ? sampleOf(body) : ''}'],
  ]);
});
`,
);
const page = (file: string, before: string, text: string) =>
  existsSync(file) && insert(file, before, text);
const besideNames = [...(isWrite ? [] : [field]), ...beside.map(({ name }) => name)].map(
  (name) => `\`${name}\``,
);
page(
  'docs/reference/errors.md',
  '| `LedgerFailed` | 1 |',
  `| \`${member}\` | 0 | The outcome of \`${operation}\`. | ${besideNames.join(', ')} |\n`,
);
const schemaPage = 'docs/reference/schema.md';
page(
  schemaPage,
  '| `Mutation.settleWrites` |',
  `| \`${root}.${field}\` | sends \`${operation}\` | \`${upper(field)}Result\` |\n`,
);
const others = isWrite ? ', the same four, and `LedgerOutcomeUnknown`' : ' and the same four';
const unionRow = `| \`${upper(field)}Result\` | \`${member}\`${others} |\n`;
page(schemaPage, '| `WriteOutcome` |', unionRow);
if (isWrite)
  page(schemaPage, '`WorkflowCsvUploaded`, `WorkflowActionCompleted`,', `\`${member}\`, `);
const documented = (all: readonly Field[] | undefined): string =>
  join(
    all,
    ({ wire, type, isOptional, inner }) =>
      `\`${wire}\` (${inner ? `array of records with ${documented(inner)}` : type}${isOptional ? ', optional' : ''})`,
  );
const besideDocumented = documented(beside);
const ofOther = ofService === 'ledger' ? '' : ` of the service \`${ofService}\``;
const service = `### ${section} ${operation}\n\n\`${isWrite ? 'POST' : 'GET'} /${operation}\`${ofOther}. Parameters: ${documented(parameters) || 'none'}. ${isWrite ? `Body: ${documented(body) || 'none'}. The response is a ServiceStatus (2.1)${besideDocumented && ` with ${besideDocumented}`}.` : `The response has a ServiceStatus (2.1) as \`service_status\`, and a \`list\` of records with ${documented(fields)}${besideDocumented && `, and beside it ${besideDocumented}`}.`}\n\n`;
page(servicePage, '## 5. Authentication', service);

execFileSync('graphql-codegen', ['--config', 'codegen.yml'], { stdio: 'ignore' });
writeFileSync(
  'docs/reference/policy.schema.json',
  execFileSync(process.execPath, ['dev/policy-schema.ts']),
);
process.stdout.write(`Written. Left by hand, with descriptions that say what the service documents:
  docs/reference/service-api.md, ${declarations}: what is known, and its section
  docs/reference/errors.md, docs/reference/schema.md: what the operation does, in the rows that have its name
  schema.graphql: descriptions, and @limit where 1,000 characters are not the limit of a text
  ${resolver}, test/resolvers/${fileName}.test.ts: what is more than names and types
${key ? '  docs/how-to/federation.md: how another subgraph refers to the entity\n' : ''}  CHANGELOG.md
Then: npm run setup (once), npm run codegen, npm run web codegen, npm run format, npm run check
`);
