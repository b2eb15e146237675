import { expect, test } from '@jest/globals';
import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  getDirectiveValues,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { schema } from '../../src/graphql/schema.ts';
import { json } from '../../testkit/service.ts';
import { given, rootFields } from '../support/argument-literals.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway();

const limit = schema.getDirective('limit');

/** The longest text of an argument or field, in UTF-16 code units. */
function limitOf({ astNode }: GraphQLArgument | GraphQLInputField): number {
  const said = limit && astNode ? getDirectiveValues(limit, astNode) : undefined;
  return Number(said?.characters ?? 1000);
}

/** The path of a text or id, and a literal of the input around it that has a long one there. */
type Case = { path: (string | number)[]; literal: string };

function longTextsIn(type: GraphQLInputType, path: Case['path']): Case[] {
  const inner = getNullableType(type);
  // A literal that is no list is its only item.
  if (isListType(inner)) return longTextsIn(inner.ofType, [...path, 0]);
  if (isInputObjectType(inner)) {
    const cases = longTextsOf(Object.values(inner.getFields()), path);
    return cases.map(({ path, literal }) => ({ path, literal: `{ ${literal} }` }));
  }
  return /^(String|ID)$/.test(`${inner}`) ? [{ path, literal: `"${'1'.repeat(20_000)}"` }] : [];
}

/** The long texts of arguments or fields, each beside those that are required. */
function longTextsOf(inputs: readonly (GraphQLArgument | GraphQLInputField)[], path: Case['path']) {
  // A document is shorter than the contents of a file may be.
  const tested = inputs.filter((input) => limitOf(input) < 20_000);
  return tested.flatMap((one) => {
    const others = inputs.filter((other) => other !== one);
    const required = given(others, { text: '"1"', isFull: false });
    return longTextsIn(one.type, [...path, one.name]).map(({ path, literal }): Case => {
      return { path, literal: [required, `${one.name}: ${literal}`].filter(Boolean).join(', ') };
    });
  });
}

const cases = rootFields.flatMap(({ name, args, keyword }) =>
  longTextsOf(args, []).map(({ path, literal }) => {
    const query = `${keyword} { ${name}(${literal}) { __typename } }`;
    return { text: `${name}: ${path.join('.')}`, path, query };
  }),
);

test.each(cases)('a long text is neither sent nor repeated: $text', async ({ path, query }) => {
  const { service, gateway } = share(json({}));
  const { errors, text } = await gateway.graphql(query);
  const faults = expect.arrayContaining([expect.objectContaining({ path })]);
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', faults } }]);
  expect(text.length).toBeLessThan(10_000);
  expect(service.received).toEqual([]);
});

test('the description of a text says its limit, and no text is longer than a body', () => {
  let described = 0;
  for (const type of Object.values(schema.getTypeMap())) {
    if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) check(field);
  }
  for (const { args } of rootFields) for (const arg of args) check(arg);
  expect(described).toBeGreaterThanOrEqual(5);

  function check(input: GraphQLArgument | GraphQLInputField) {
    const characters = limitOf(input);
    expect(characters).toBeLessThanOrEqual(16 * 1024 * 1024);
    const [, said] = /at most ([\d,]+)\s+characters/i.exec(input.description ?? '') ?? [];
    if (said === undefined) return;
    described += 1;
    expect([input.name, said]).toEqual([input.name, characters.toLocaleString('en')]);
  }
});
