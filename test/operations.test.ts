import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { describe, expect, test } from '@jest/globals';
import {
  type FieldNode,
  type GraphQLCompositeType,
  type GraphQLObjectType,
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
import { startReferenceService } from '../dev/service.ts';
import { closeAfterTest, startTestGateway, testIssuer } from './helper.ts';
import { operation, operationNames } from './operations.ts';

const schema = buildSubgraphSchema(
  parse(readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8')),
);

/** Every root field, by the name of its document: `glCodes` is shown by GlCodes. */
const rootFields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
  Object.keys(type?.getFields() ?? {}).filter((field) => !field.startsWith('_')),
);

test('there is one document for each operation of the schema', () => {
  const wanted = rootFields.map((field) => `${field[0]?.toUpperCase()}${field.slice(1)}`);
  expect(operationNames).toEqual(wanted.sort());
});

/** The fields that a selection reads of one object type, through whatever fragments. */
function fieldsOn(type: GraphQLObjectType, set: SelectionSetNode): string[] {
  return set.selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection.name.value];
    if (selection.kind === Kind.FRAGMENT_SPREAD) throw new Error('fragments are written in place');
    const condition = selection.typeCondition?.name.value;
    return condition === undefined || applies(condition, type)
      ? fieldsOn(type, selection.selectionSet)
      : [];
  });
}

function applies(condition: string, type: GraphQLObjectType): boolean {
  const on = schema.getType(condition);
  return on === type || (isAbstractType(on) && schema.isSubType(on, type));
}

/** The places of a document where a union is answered with. */
function unionsOf(document: ReturnType<typeof parse>) {
  const found: { union: GraphQLCompositeType; field: FieldNode }[] = [];
  const info = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(info, {
      [Kind.FIELD](field) {
        const type = info.getType();
        const named = type && getNamedType(type);
        if (isUnionType(named)) found.push({ union: named, field });
      },
    }),
  );
  return found;
}

describe.each(operationNames)('%s', (name) => {
  const document = parse(operation(name));

  test('is valid', () => {
    expect(validate(schema, document)).toEqual([]);
  });

  test('opens with a comment and holds one operation of its own name', () => {
    expect(operation(name)).toMatch(/^# \w/);
    expect(document.definitions).toEqual([
      expect.objectContaining({
        kind: Kind.OPERATION_DEFINITION,
        name: expect.objectContaining({ value: name }),
      }),
    ]);
  });

  test('handles every member of its union', () => {
    const [place, ...others] = unionsOf(document);
    if (!place || !isUnionType(place.union) || others.length > 0) throw new Error('one union');
    const set = place.field.selectionSet;
    if (!set) throw new Error('a union has a selection');
    for (const member of place.union.getTypes()) {
      const selected = fieldsOn(member, set);
      expect(selected).toContain('__typename');
      // Every field, in fact: a person shall see all that there is to see.
      const all = Object.keys(member.getFields());
      expect([member.name, selected]).toEqual([member.name, expect.arrayContaining(all)]);
    }
  });

  test('handles the problems through an interface, so that a new one is handled too', () => {
    const [place] = unionsOf(document);
    const conditions = (place?.field.selectionSet?.selections ?? []).flatMap((selection) =>
      selection.kind === Kind.INLINE_FRAGMENT ? [selection.typeCondition?.name.value] : [],
    );
    const interfaces = conditions.filter((condition) =>
      /^Ledger(Status|Problem)$/.test(condition ?? ''),
    );
    expect(interfaces).toContain(name === 'GlCodes' ? 'LedgerStatus' : 'LedgerProblem');
  });

  test('runs as it is, through the gateway and against the reference service', async () => {
    const issuer = await testIssuer();
    const service = await startReferenceService({ issuerKeys: issuer.jwks });
    closeAfterTest(() => service.close());
    const gateway = await startTestGateway(service);

    const { status, data, errors } = await gateway.graphql(operation(name));

    expect(status).toBe(200);
    expect(errors).toBeUndefined();
    const [answer] = Object.values(data);
    expect(answer).toMatchObject({ __typename: expect.not.stringMatching(/^Ledger/) });
  });
});

test('the documents can stand in one, as an explorer shows them', () => {
  const all = parse(operationNames.map(operation).join('\n'));
  expect(validate(schema, all)).toEqual([]);
});
