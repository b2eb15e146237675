import { expect, test } from '@jest/globals';
import {
  type GraphQLInputType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isRequiredInputField,
} from 'graphql';
import { schema } from '../../src/graphql/schema.ts';
import { json } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway();

/** The contents of a file, which are limited by the body of a request. */
const contents = ['csv', 'contentBase64'];

type Path = (string | number)[];
type Samples = Record<string, unknown>;
const samples: Samples = { String: 'a', ID: '1', Int: 1, Float: 1, Boolean: true };
const long: Samples = { ...samples, String: 'a'.repeat(20_000), ID: '1'.repeat(20_000) };

/** The paths of the texts and ids in a value of a type. */
function textsIn(type: GraphQLInputType, path: Path): Path[] {
  const inner = getNullableType(type);
  if (isListType(inner)) return textsIn(inner.ofType, [...path, 0]);
  if (!isInputObjectType(inner)) return /^(String|ID)$/.test(`${inner}`) ? [path] : [];
  return Object.values(inner.getFields())
    .filter(({ name }) => !contents.includes(name))
    .flatMap((field) => textsIn(field.type, [...path, field.name]));
}

/** A value of a type with what is required, and with a long text at a path. */
function valueFor(type: GraphQLInputType, [at, ...path]: Path = []): unknown {
  const inner = getNullableType(type);
  if (isListType(inner)) return [valueFor(inner.ofType, path)];
  if (isEnumType(inner)) return inner.getValues()[0]?.name;
  if (!isInputObjectType(inner)) return (at === 'long' ? long : samples)[inner.name];
  const fields = Object.values(inner.getFields());
  const given = fields.filter((field) => field.name === at || isRequiredInputField(field));
  return Object.fromEntries(
    given.map(({ name, type }) => [name, valueFor(type, name === at ? path : [])]),
  );
}

const cases = [schema.getQueryType(), schema.getMutationType()].flatMap((root) =>
  Object.values(root?.getFields() ?? {})
    .filter(({ name }) => !name.startsWith('_'))
    .flatMap(({ name: field, args }) =>
      args.flatMap((tested) =>
        textsIn(tested.type, [tested.name]).map((path) => {
          const given = args.filter((arg) => arg === tested || `${arg.type}`.endsWith('!'));
          const [, ...inside] = path;
          return {
            text: `${field}: ${path.join('.')}`,
            path,
            query: `${`${root}`.toLowerCase()} (${given.map(({ name, type }) => `$${name}: ${type}`)}) {
              ${field}(${given.map(({ name }) => `${name}: $${name}`)}) { __typename }
            }`,
            variables: Object.fromEntries(
              given.map((arg) => [
                arg.name,
                valueFor(arg.type, arg === tested ? [...inside, 'long'] : []),
              ]),
            ),
          };
        }),
      ),
    ),
);

test.each(cases)('a long text is rejected before sending: $text', async (one) => {
  const { service, gateway } = share(json({}));
  const { errors } = await gateway.graphql(one.query, one.variables);
  const faults = expect.arrayContaining([expect.objectContaining({ path: one.path })]);
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', faults } }]);
  expect(service.received).toEqual([]);
});
