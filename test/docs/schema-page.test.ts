import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { buildSchema, isEnumType, isInterfaceType, isObjectType, isUnionType } from 'graphql';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/reference/schema.md');
const schema = buildSchema(read('schema.graphql'), { assumeValidSDL: true });
const types = Object.values(schema.getTypeMap());
const unions = types.filter(isUnionType).filter(({ name }) => !name.startsWith('_'));
const interfaces = types.filter(isInterfaceType);

/** The names in a cell. Four members of all unions are written out once. */
function namesIn(cell: string): string[] {
  const four = ['Failed', 'NotPermitted', 'NoMoreInvoices', 'UnrecognizedStatus'];
  const written = [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
  return cell.includes('the same four')
    ? [...written, ...four.map((one) => `Ledger${one}`)]
    : written;
}

/** The second cell of the row of a type. */
const cellOf = (type: string) => page.split(`\n| \`${type}\` | `)[1]?.split(' |')[0] ?? '';

test.each(unions)('the members of $name are those of the schema', (union) => {
  const members = union.getTypes().map(({ name }) => name);
  expect(namesIn(cellOf(union.name)).sort()).toEqual(members.sort());
});

test.each(interfaces)('the fields of $name are those of the schema', (type) => {
  expect(namesIn(cellOf(type.name))).toEqual(Object.keys(type.getFields()));
});

/** The root fields of a schema, such as `Query.glCodes`, and the types that they return. */
const rootFieldsOf = (schema: ReturnType<typeof buildSchema>) =>
  [schema.getQueryType(), schema.getMutationType()].flatMap((root) =>
    Object.values(root?.getFields() ?? {}).map(
      ({ name, type }) => [`${root}.${name}`, String(type)] as const,
    ),
  );

test('the table of root fields has each one, and what it returns', () => {
  const [, table = ''] = page.split('\n## Root fields\n');
  const [section = ''] = table.split('\n## ');
  const written = [...section.matchAll(/^\| `(\w+\.\w+)` \|.*\| `(\w+)`[^|]* \|$/gm)];
  expect(written.map(([, field, type]) => [field, type]).sort()).toEqual(
    rootFieldsOf(schema).sort(),
  );
});

test('the picture has each type of a response', () => {
  const [, picture = ''] = /```mermaid\n(.*?)```/s.exec(page) ?? [];
  const names = types.filter(isObjectType).map(({ name }) => name);
  const shown = names.filter((name) => !/^(__|_Service$|Query$|Mutation$)/.test(name));
  expect(shown.filter((name) => !new RegExp(`\\b${name}\\b`).test(picture))).toEqual([]);
});

test('the page of federation shows how a subgraph refers to each entity by each of its keys', () => {
  const page = read('docs/how-to/federation.md').replaceAll(/\s+/g, ' ');
  const entities = read('schema.graphql').matchAll(/^(?:extend )?type (\w+) (@key.+) \{$/gm);
  const references = [...entities].flatMap(([, name, keys = '']) =>
    [...keys.matchAll(/@key\(fields: "[^"]+"/g)].map(([key]) => `type ${name} ${key}`),
  );
  expect(references.length).toBeGreaterThan(1);
  expect(references.filter((reference) => !page.includes(reference))).toEqual([]);
});

/** The names of a schema, such as `GlCode.name` and `Query.glCodes.first`, without the fields that a type has of an interface. */
const namesOf = (schema: ReturnType<typeof buildSchema>) =>
  Object.values(schema.getTypeMap()).flatMap((type) => {
    if (isEnumType(type)) return type.getValues().map(({ name }) => `${type}.${name}`);
    const inherited = isObjectType(type)
      ? type.getInterfaces().flatMap((one) => Object.keys(one.getFields()))
      : [];
    const all = 'getFields' in type ? Object.values(type.getFields()) : [];
    const fields = all.filter(({ name }) => !inherited.includes(name));
    return fields.flatMap((field) => {
      const args: readonly { name: string }[] = 'args' in field ? field.args : [];
      const name = `${type}.${field.name}`;
      return [name, ...args.map((argument) => `${name}.${argument.name}`)];
    });
  });

const releases = new URL('test/fixtures/releases/', root);
const released = readdirSync(releases).flatMap((name) =>
  namesOf(buildSchema(readFileSync(new URL(`${name}/schema.graphql`, releases), 'utf8'))),
);
const [, rest = ''] = read('CHANGELOG.md').split('\n## Unreleased\n');
const [unreleased = ''] = rest.split('\n## ');

test('the changelog names each field, argument and enum value that no release has', () => {
  const added = namesOf(schema).filter((name) => !released.includes(name));
  const isNamed = (name: string) => unreleased.includes(`\`${name.replace(/.*\./, '')}\``);
  expect(added.filter((name) => !isNamed(name))).toEqual([]);
});
