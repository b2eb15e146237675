import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { describe, expect, test } from '@jest/globals';
import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLUnionType,
  getNamedType,
  isObjectType,
  isUnionType,
  Kind,
  parse,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { startReferenceService } from '../../dev/service.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { operation, operationNames } from '../../testkit/example-operation.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { testIssuer } from '../../testkit/issuer.ts';

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

/** The only union of a document, and its selected fields by the type on which they are selected. */
function selectionsOf(document: ReturnType<typeof parse>) {
  const unions: GraphQLUnionType[] = [];
  const fields = new Set<string>();
  const info = new TypeInfo(schema);
  const enter = ({ name }: FieldNode) => {
    fields.add(`${info.getParentType()?.name}.${name.value}`);
    const type = getNamedType(info.getType());
    if (isUnionType(type)) unions.push(type);
  };
  visit(document, visitWithTypeInfo(info, { [Kind.FIELD]: enter }));
  const [union, ...others] = unions;
  if (!union || others.length > 0) throw new Error('not one union');
  return { union, fields };
}

/** These types, and those of their fields, on all levels. */
function withNested(types: readonly GraphQLObjectType[]): Set<GraphQLObjectType> {
  const all = new Set(types);
  // A set visits what is added meanwhile.
  for (const type of all) {
    const nested = Object.values(type.getFields()).map((field) => getNamedType(field.type));
    for (const one of nested.filter(isObjectType)) all.add(one);
  }
  return all;
}

describe.each(operationNames)('%s', (name) => {
  const document = parse(operation(name));

  test('is valid, starts with a comment, and contains one operation with its own name', () => {
    expect(validate(schema, document)).toEqual([]);
    expect(operation(name)).toMatch(/^# \w/);
    const own = { kind: Kind.OPERATION_DEFINITION, name: { value: name } };
    expect(document.definitions).toMatchObject([own]);
  });

  test('selects every field of every member of its union, and of the types in them', () => {
    const { union, fields } = selectionsOf(document);
    expect(fields).toContain(`${union.name}.__typename`);
    for (const type of withNested(union.getTypes())) {
      const types = [type, ...type.getInterfaces()].map(({ name }) => name);
      const all = Object.keys(type.getFields());
      const left = all.filter((field) => !types.some((type) => fields.has(`${type}.${field}`)));
      expect([type.name, left]).toEqual([type.name, []]);
    }
  });

  test('selects problems through an interface, which includes future ones', () => {
    const type = name === 'GlCodes' ? 'LedgerStatus' : 'LedgerProblem';
    expect(selectionsOf(document).fields).toContain(`${type}.message`);
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
