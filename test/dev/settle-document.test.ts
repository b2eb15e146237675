import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import {
  buildSchema,
  extendSchema,
  type GraphQLSchema,
  isUnionType,
  parse,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { plugin, settleDocument } from '../../dev/settle-document.ts';
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

test.each([
  ['the package sends', sent],
  ['the explorer shows', read('examples/operations/SettleWrites.graphql')],
])('what %s for settling selects every field of every outcome', (_, document) => {
  expect(validate(schema, parse(document))).toEqual([]);
  const fields = selected(document);
  const outcomes = schema.getType('WriteOutcome');
  const members = isUnionType(outcomes) ? outcomes.getTypes() : [];
  expect(members.length).toBeGreaterThan(5);
  const missing = members.flatMap((member) =>
    Object.keys(member.getFields()).filter((name) =>
      [member, ...member.getInterfaces()].every((type) => !fields.has(`${type}.${name}`)),
    ),
  );
  expect(missing).toEqual([]);
  expect([...fields]).toEqual(
    expect.arrayContaining(['SettledWrites.isComplete', 'SettledWrite.responseName']),
  );
});

const extended = (text: string): GraphQLSchema => extendSchema(schema, parse(text));

test('a field that is added to an outcome is selected, and what it contains', () => {
  const next = extended(`
    extend type WorkflowActionCompleted { note: String rejected(first: Int): [Row!]! }
    type Row { number: Int! cause: Cause }
    union Cause = Missing | Invalid
    interface Named { name: String }
    type Missing implements Named { name: String }
    type Invalid implements Named { name: String value: String }
  `);
  expect(settleDocument(next).replace(/\s+/g, ' ')).toContain(
    '... on WorkflowActionCompleted { action note rejected { cause { __typename ... on Invalid { value } ... on Named { name } } number } }',
  );
});

test.each([
  [
    'needs an argument',
    'extend type ApproversSaved { row(number: Int!): String }',
    'ApproversSaved.row needs arguments',
  ],
  [
    'contains itself',
    'extend type ApproversSaved { row: Row } type Row { parent: Row }',
    'Row contains itself',
  ],
  [
    'has the name of another one of another type',
    'extend type ApproversSaved { status: String }',
    'conflict',
  ],
])('a field that %s is named, for it cannot be selected', (_, text, message) => {
  expect(() => settleDocument(extended(text))).toThrow(message);
});

test('an example has values for its variables, and a module the text', () => {
  const outputFile = 'SettleWrites.graphql';
  const example = plugin(schema, [], { values: { ageMs: '60000' } }, { outputFile });
  expect(example).toContain(
    'mutation SettleWrites($ageMs: Float = 60000, $idempotencyKey: String!)',
  );
  expect(plugin(schema, [], {})).toContain(`\`${sent}\``);
});
