import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  GraphQLString,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isRequiredInputField,
} from 'graphql';
import { schema } from '../../src/graphql/schema.ts';

/** What a literal has: this literal as each text, and all fields, or only those that are required. */
type Options = { text: string; isFull: boolean };
type Input = GraphQLArgument | GraphQLInputField;

/** A literal of a type of the schema. */
function literalOf(type: GraphQLInputType, options: Options): string {
  const inner = getNullableType(type);
  if (isListType(inner)) return `[${literalOf(inner.ofType, options)}]`;
  if (isInputObjectType(inner)) return `{ ${given(Object.values(inner.getFields()), options)} }`;
  if (isEnumType(inner)) return inner.getValues()[0]?.name ?? '';
  if (inner === GraphQLString) return options.text;
  return `${inner}` === 'Boolean' ? 'true' : '1';
}

/** Literals of arguments or fields, with their names. */
export function given(inputs: readonly Input[], options: Options): string {
  const kept = inputs.filter((input) => options.isFull || isRequiredInputField(input));
  return kept.map(({ name, type }) => `${name}: ${literalOf(type, options)}`).join(', ');
}

/** The fields of the schema's root types, without those that federation adds. */
export const rootFields = [schema.getQueryType(), schema.getMutationType()].flatMap((root) =>
  Object.values(root?.getFields() ?? {})
    .filter(({ name }) => !name.startsWith('_'))
    .map(({ name, args }) => ({ name, args, keyword: `${root}`.toLowerCase() })),
);
