import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import {
  buildSchema,
  type GraphQLNamedType,
  getNamedType,
  isAbstractType,
  isObjectType,
  parse,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { settleDocument as sent } from '../../packages/client/src/settle-document.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const schema = buildSchema(read('schema.client.graphql'));

/** What a document selects, such as `LedgerStatus.message`. */
function selected(document: string): Set<string> {
  const fields = new Set<string>();
  const info = new TypeInfo(schema);
  const Field = () => void fields.add(`${info.getParentType()}.${info.getFieldDef()?.name}`);
  visit(parse(document), visitWithTypeInfo(info, { Field }));
  return fields;
}

/** For each field of a type, and of all that it contains, the places where a document may select it. */
function fieldsOf(type: GraphQLNamedType): string[][] {
  if (isAbstractType(type)) return schema.getPossibleTypes(type).flatMap(fieldsOf);
  if (!isObjectType(type)) return [];
  return Object.values(type.getFields()).flatMap((field) => [
    [type, ...type.getInterfaces()].map((parent) => `${parent}.${field.name}`),
    ...fieldsOf(getNamedType(field.type)),
  ]);
}

test.each([
  ['the package sends', sent],
  ['the explorer shows', read('examples/operations/SettleWrites.graphql')],
])('what %s for settling selects every field of every outcome', (_, document) => {
  expect(validate(schema, parse(document))).toEqual([]);
  const fields = selected(document);
  const settled = schema.getMutationType()?.getFields().settleWrites;
  const expected = settled ? fieldsOf(getNamedType(settled.type)) : [];
  expect(expected.length).toBeGreaterThan(10);
  expect(expected.filter((places) => !places.some((place) => fields.has(place)))).toEqual([]);
});
