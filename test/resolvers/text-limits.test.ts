import { expect, test } from '@jest/globals';
import {
  type GraphQLInputType,
  getDirectiveValues,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isObjectType,
  isUnionType,
} from 'graphql';
import { ledger } from '../../src/resolvers/ledger.ts';
import { json } from '../../testkit/service.ts';
import { eachText, type Input, rootFields } from '../support/argument-literals.ts';
import { schema } from '../support/schema.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway();

const limit = schema.getDirective('limit');

/** The `@limit` of an argument or field. */
const saidOf = ({ astNode }: Input): { characters?: number; items?: number } =>
  Object(limit && astNode && getDirectiveValues(limit, astNode));

/** The longest text of an argument or field, in UTF-16 code units. */
const limitOf = (input: Input) => saidOf(input).characters ?? 1000;

/** The texts and ids that a document has room for: it is shorter than the contents of a file may be. */
const isTested = (input: Input, type: GraphQLInputType) =>
  limitOf(input) < 20_000 && /^(String|ID)$/.test(`${type}`);

const cases = rootFields.flatMap(({ name, args, keyword }) =>
  eachText(args, { text: `"${'1'.repeat(20_000)}"`, isTested }).map(({ path, literal }) => {
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

/** The objects in the fields of the members of a union. */
const objectsIn = (type: unknown) =>
  (isUnionType(type) ? type.getTypes() : []).flatMap((member) =>
    Object.values(member.getFields()).map((field) => getNamedType(field.type)),
  );

/** The texts in the keys of entities that are also arguments of the query that lists these entities. */
const keyTexts = Object.values(schema.getQueryType()?.getFields() ?? {}).flatMap((list) =>
  objectsIn(getNamedType(list.type))
    .filter(isObjectType)
    .filter(({ name }) => Object.hasOwn(ledger.entities, name))
    .flatMap((entity) =>
      list.args
        .filter(
          ({ name, type }) => entity.getFields()[name] && `${getNamedType(type)}` === 'String',
        )
        .map((argument) => ({ entity, argument, text: `${entity}.${argument.name}` })),
    ),
);

test.each(keyTexts)(
  'a text of a reference may be as long as the argument: $text',
  async ({ entity, argument }) => {
    const others = Object.values(entity.getFields()).map(({ name, type }) => {
      const named = getNamedType(type);
      return [name, isEnumType(named) ? named.getValues()[0]?.name : '1'];
    });
    // The `id` of an entity would be enough, so it is left out.
    const key = { ...Object.fromEntries(others), __typename: entity.name, id: undefined };
    const codes = [0, 1].map(async (more) => {
      const { gateway } = share(json({ service_status: { status: 0 }, list: [] }));
      const reference = { ...key, [argument.name]: 'x'.repeat(limitOf(argument) + more) };
      const query = 'query ($of: [_Any!]!) { _entities(representations: $of) { __typename } }';
      const { errors } = await gateway.graphql(query, { of: [reference] });
      return errors?.[0]?.extensions.code;
    });
    expect(await Promise.all(codes)).toEqual([undefined, 'BAD_USER_INPUT']);
  },
);

const inputs = Object.values(schema.getTypeMap())
  .flatMap((type) => (isInputObjectType(type) ? Object.values(type.getFields()) : []))
  .map((input): Input => input)
  .concat(rootFields.flatMap(({ args }) => args));

test('the description of an argument says each of its limits, and no other', () => {
  const wrong = inputs.flatMap((input) => {
    const said = [...(input.description ?? '').matchAll(/\bat\s+most\s+([\d,]+)/gi)];
    const described = said.map(([, n]) => Number(n?.replaceAll(',', '')));
    const limits = Object.values(saidOf(input));
    const isSame = [...described].sort().join() === [...limits].sort().join();
    return isSame ? [] : [`${input.name}: ${described}, and not ${limits}`];
  });
  expect(wrong).toEqual([]);
});

test('no text is longer than a body', () => {
  expect(Math.max(...inputs.map(limitOf))).toBeLessThanOrEqual(16 * 1024 * 1024);
});
