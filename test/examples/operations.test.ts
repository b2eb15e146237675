import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { describe, expect, test } from '@jest/globals';
import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLUnionType,
  getNamedType,
  isAbstractType,
  isUnionType,
  Kind,
  parse,
  type SelectionSetNode,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { startReferenceService } from '../../dev/service.ts';
import { closeAfterTest } from '../support/cleanup.ts';
import { operation, operationNames } from '../support/example-operation.ts';
import { startTestGateway } from '../support/gateway.ts';
import { testIssuer } from '../support/issuer.ts';

const schema = buildSubgraphSchema(
  parse(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')),
);

/** Every root field. The document of `glCodes` is called GlCodes. */
const rootFields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
  Object.keys(type?.getFields() ?? {}).filter((field) => !field.startsWith('_')),
);

test('there is one document for each operation of the schema', () => {
  const expected = rootFields.map((field) => `${field[0]?.toUpperCase()}${field.slice(1)}`);
  expect(operationNames).toEqual(expected.sort());
});

/** The fields that a selection set selects of an object type, inline fragments included. */
function fieldsOn(type: GraphQLObjectType, set: SelectionSetNode): string[] {
  return set.selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection.name.value];
    if (selection.kind === Kind.FRAGMENT_SPREAD) throw new Error('only inline fragments are used');
    const on = schema.getType(selection.typeCondition?.name.value ?? type.name);
    const applies = on === type || (isAbstractType(on) && schema.isSubType(on, type));
    return applies ? fieldsOn(type, selection.selectionSet) : [];
  });
}

/** The only field of a document whose type is a union: the union, and its selection. */
function unionOf(document: ReturnType<typeof parse>) {
  const found: { union: GraphQLUnionType; set: SelectionSetNode }[] = [];
  const info = new TypeInfo(schema);
  const enter = ({ selectionSet: set }: FieldNode) => {
    const union = getNamedType(info.getType());
    if (isUnionType(union) && set) found.push({ union, set });
  };
  visit(document, visitWithTypeInfo(info, { [Kind.FIELD]: enter }));
  const [only, ...others] = found;
  if (!only || others.length > 0) throw new Error('not one union');
  return only;
}

describe.each(operationNames)('%s', (name) => {
  const document = parse(operation(name));

  test('is valid, starts with a comment, and contains one operation with its own name', () => {
    expect(validate(schema, document)).toEqual([]);
    expect(operation(name)).toMatch(/^# \w/);
    const own = { kind: Kind.OPERATION_DEFINITION, name: { value: name } };
    expect(document.definitions).toMatchObject([own]);
  });

  test('selects every field of every member of its union', () => {
    const { union, set } = unionOf(document);
    for (const member of union.getTypes()) {
      const selected = fieldsOn(member, set);
      expect(selected).toContain('__typename');
      const all = Object.keys(member.getFields());
      expect([member.name, selected]).toEqual([member.name, expect.arrayContaining(all)]);
    }
  });

  test('selects problems through an interface, which includes future ones', () => {
    const conditions = unionOf(document).set.selections.flatMap((selection) =>
      selection.kind === Kind.INLINE_FRAGMENT ? [selection.typeCondition?.name.value] : [],
    );
    expect(conditions).toContain(name === 'GlCodes' ? 'LedgerStatus' : 'LedgerProblem');
  });

  test('runs unchanged, through the gateway and against the reference service', async () => {
    const issuer = await testIssuer();
    const service = await startReferenceService({ issuerKeys: issuer.jwks });
    closeAfterTest(() => service.close());
    const gateway = await startTestGateway(service);

    const { status, data, errors } = await gateway.graphql(operation(name));
    expect([status, errors]).toEqual([200, undefined]);
    const [outcome] = Object.values(data);
    expect(outcome).not.toMatchObject({ __typename: expect.stringMatching(/^Ledger/) });
  });
});
