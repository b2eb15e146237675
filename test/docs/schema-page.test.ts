import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { buildSchema, isInterfaceType, isUnionType } from 'graphql';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/reference/schema.md');
const types = Object.values(
  buildSchema(read('schema.graphql'), { assumeValidSDL: true }).getTypeMap(),
);
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
