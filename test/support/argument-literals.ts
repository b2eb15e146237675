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
import { schema } from './schema.ts';

/** What a literal has: this literal as each text, and all fields, or only those that are required. */
type Options = { text: string; isFull: boolean };
export type Input = GraphQLArgument | GraphQLInputField;

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

/** The path of one text in arguments, and literals of the arguments with this text and otherwise only what is required. */
type OneText = { path: (string | number)[]; literal: string };
/** The literal of the text, and which arguments and fields of this type have it. */
type Texts = { text: string; isTested(input: Input, type: GraphQLInputType): boolean };

/** Each text of arguments or fields, on all levels. */
export function eachText(
  inputs: readonly Input[],
  texts: Texts,
  path: OneText['path'] = [],
): OneText[] {
  return inputs.flatMap((input) => {
    const others = inputs.filter((other) => other !== input);
    const required = given(others, { text: '"1"', isFull: false });
    const own = eachTextIn(input.type, input, texts, [...path, input.name]);
    return own.map(({ path, literal }) => ({
      path,
      literal: [required, `${input.name}: ${literal}`].filter(Boolean).join(', '),
    }));
  });
}

function eachTextIn(
  type: GraphQLInputType,
  input: Input,
  texts: Texts,
  path: OneText['path'],
): OneText[] {
  const inner = getNullableType(type);
  if (isListType(inner)) {
    const items = eachTextIn(inner.ofType, input, texts, [...path, 0]);
    return items.map(({ path, literal }) => ({ path, literal: `[${literal}]` }));
  }
  if (isInputObjectType(inner)) {
    const cases = eachText(Object.values(inner.getFields()), texts, path);
    return cases.map(({ path, literal }) => ({ path, literal: `{ ${literal} }` }));
  }
  return texts.isTested(input, inner) ? [{ path, literal: texts.text }] : [];
}

/** The fields of the schema's root types, without those that federation adds. */
export const rootFields = [schema.getQueryType(), schema.getMutationType()].flatMap((root) =>
  Object.values(root?.getFields() ?? {})
    .filter(({ name }) => !name.startsWith('_'))
    .map(({ name, args }) => ({ name, args, keyword: `${root}`.toLowerCase() })),
);
