import {
  type ASTVisitor,
  coerceInputValue,
  type GraphQLError,
  GraphQLID,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { core } from 'zod';
import { GatewayError } from '../errors/gateway-error.ts';
import { addFault, faultsError, type InputFault, type Path } from '../errors/input-fault.ts';
import { isExact, longNumber, withLongNumbers } from '../lib/json.ts';
import type { GraphqlDocument, Variables } from './document.ts';

/** Throws `BAD_USER_INPUT` with all faults of variables that do not match their types, or have numbers that cannot be sent exactly. */
export function checkInput(
  document: GraphqlDocument,
  operation: OperationDefinitionNode,
  variables: Variables,
): void {
  const faults: InputFault[] = [];
  let inputs: Input[] | undefined;
  const usesOf: UsesOf = (variable) => {
    inputs ??= inputsOf(document, operation);
    return inputs.filter(
      ({ value }) => value.kind === Kind.VARIABLE && value.name.value === variable,
    );
  };
  checkVariables(document, operation, variables, (fault) => addFault(faults, fault, 400), usesOf);
  if (faults.length > 0) throw faultsError(faults, 400);
}

/** A value in a document that is no list and no object, with its type, and its path from the argument on. */
type Input = { value: ValueNode; type: GraphQLInputType | undefined; path: Path };

/** Finds where the operation uses a variable, in order. */
type UsesOf = (variable: string) => Input[];

/** The values in the arguments of an operation and of all fragments. */
function inputsOf({ ast, schema }: GraphqlDocument, operation: OperationDefinitionNode): Input[] {
  const inputs: Input[] = [];
  const types = new TypeInfo(schema);
  const visitor: ASTVisitor = {
    OperationDefinition: (node) => (node === operation ? undefined : false),
    VariableDefinition: () => false,
    Argument({ name, value }) {
      inputs.push(...inputsIn(value, types.getInputType() ?? undefined, [name.value]));
    },
  };
  visit(ast, visitWithTypeInfo(types, visitor));
  return inputs;
}

function inputsIn(value: ValueNode, type: GraphQLInputType | undefined, path: Path): Input[] {
  if (value.kind === Kind.LIST) {
    const list = type && getNullableType(type);
    const inner = isListType(list) ? list.ofType : type;
    return value.values.flatMap((item, index) => inputsIn(item, inner, [...path, index]));
  }
  if (value.kind !== Kind.OBJECT) return [{ value, type, path }];
  const named = type && getNamedType(type);
  const fields = isInputObjectType(named) ? named.getFields() : {};
  return value.fields.flatMap(({ name, value: field }) =>
    inputsIn(field, fields[name.value]?.type, [...path, name.value]),
  );
}

/**
 * Adds a fault for each value that does not match the type of its variable, and converts the numbers that `parseJson` kept
 * as objects. The messages of graphql-js are not used, because they repeat the whole input and suggest names of the schema.
 */
function checkVariables(
  { schema }: GraphqlDocument,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Variables,
  report: (fault: InputFault) => void,
  usesOf: UsesOf,
): void {
  for (const node of variableDefinitions) {
    const name = node.variable.name.value;
    const type = typeFromAST(schema, node.type);
    if (!isInputType(type)) continue; // Validation has rejected such a document.
    const add = (problem: string, path: readonly PropertyKey[] = []) => {
      const [use] = usesOf(name);
      report({ path: [...(use?.path ?? []), ...path], message: `Variable "$${name}" ${problem}` });
    };
    const given = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (given === undefined) {
      if (isNonNullType(type) && !node.defaultValue) add('is required.');
      continue;
    }
    // Validation allows a nullable variable here if it has a default. graphql-js would find a null only when it executes the
    // field, after earlier writes of the mutation.
    const isNullWithDefault = given === null && node.defaultValue;
    if (isNullWithDefault && usesOf(name).some((use) => isNonNullType(use.type))) {
      add('must not be null.');
    }
    const value = convertLongNumbers(given, type);
    variables[name] = value;
    coerceInputValue(
      value,
      type,
      (path, invalid, error) => {
        const place = path.length === 0 ? '' : ` at ${core.toDotPath(path)}`;
        add(`is invalid${place}: ${reasonOf(invalid, error)}`, path);
      },
      true,
    );
  }
}

/** Why a value does not match its type. The message of graphql-js may repeat a part of the input. */
function reasonOf(invalid: unknown, { message }: GraphQLError): string {
  if (invalid === LARGE_ID) {
    return `An integer beyond ${Number.MAX_SAFE_INTEGER} must be a text, because many programs in JavaScript round such numbers.`;
  }
  if (longNumber(invalid) !== undefined) return 'The number cannot be sent exactly.';
  return withLongNumbers(message).slice(0, 200);
}

/**
 * Takes the place of a number in JSON where an ID is expected, if the number is an integer beyond those that JavaScript keeps
 * apart. A router may have rounded it, so it may be the ID of something else. No type accepts this value.
 */
const LARGE_ID = Symbol('large ID');

/** Replaces long numbers, at all levels, by doubles of the same value. No type accepts those that remain, nor `LARGE_ID`. */
function convertLongNumbers(value: unknown, type: GraphQLInputType): unknown {
  const nullable = getNullableType(type);
  if (nullable === GraphQLID && isLargeInteger(value)) return LARGE_ID;
  if (typeof value !== 'object' || value === null) return value;
  if (isListType(nullable)) {
    const convert = (item: unknown) => convertLongNumbers(item, nullable.ofType);
    return Array.isArray(value) ? value.map(convert) : convert(value); // A single value, which is coerced to a list.
  }
  const text = longNumber(value);
  if (text !== undefined) {
    return isExact(text) || isInputObjectType(nullable) ? Number(text) : value;
  }
  if (!isInputObjectType(nullable)) return value;
  const fields: Record<string, unknown> = Object(value);
  // This visits the fields of the type, because the value may have many more.
  for (const { name, type } of Object.values(nullable.getFields())) {
    if (fields[name] != null) fields[name] = convertLongNumbers(fields[name], type);
  }
  return fields;
}

/** Whether a value is a number that is an integer, but not a safe one. */
function isLargeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return /^-?\d+$/.test(longNumber(value) ?? '');
}

/** A GraphQL name (section 2.1.9 of the GraphQL specification). */
const namePattern = /^[_A-Za-z][_0-9A-Za-z]{0,254}$/;

/** Checks the header `Idempotency-Response-Name`, by which a router names the field in the client's mutation. Throws `BAD_USER_INPUT`. */
export function checkResponseName(
  { operation, selectionSet }: OperationDefinitionNode,
  name: string,
): void {
  if (operation !== OperationTypeNode.MUTATION) return;
  const { selections } = selectionSet;
  const isOneField = selections.length === 1 && selections[0]?.kind === Kind.FIELD;
  const isName = namePattern.test(name);
  if (isName && isOneField) return;
  const problem = isName ? 'needs an operation with one root field' : 'must be the name of a field';
  throw new GatewayError('BAD_USER_INPUT', `The header Idempotency-Response-Name ${problem}.`);
}
