import {
  type ASTNode,
  type ASTVisitFn,
  type ASTVisitor,
  coerceInputValue,
  type FloatValueNode,
  GraphQLError,
  GraphQLID,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  type IntValueNode,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { core } from 'zod';
import { GatewayError } from '../errors/gateway-error.ts';
import { InputFaults, type Path } from '../errors/input-fault.ts';
import { isExact, longNumber, withLongNumbers } from '../lib/json.ts';
import type { GraphqlDocument } from './document.ts';
import type { Variables } from './selection-cost.ts';

/** Throws `BAD_USER_INPUT` with all faults of variables that do not match their types, and of numbers that cannot be sent exactly. */
export function checkInput(
  document: GraphqlDocument,
  operation: OperationDefinitionNode,
  variables: Variables,
): void {
  const nodes = new Set<ASTNode>();
  const toError = (message: string, all: unknown) => {
    const extensions = { code: 'BAD_USER_INPUT', http: { status: 400 }, faults: all };
    return new GraphQLError(message, { nodes: [...nodes], extensions });
  };
  let faults: InputFaults | undefined;
  const add: AddFault = (node, path, message) => {
    nodes.add(node);
    faults ??= new InputFaults(toError);
    faults.add(path, message);
  };
  let uses: Map<string, Use> | undefined;
  const useOf: UseOf = (variable) => {
    uses ??= usesOf(document, operation);
    return uses.get(variable) ?? { path: [], isNonNull: false };
  };
  if (!document.isExact) checkLiterals(document, add, useOf);
  checkVariables(document.schema, operation, variables, add, useOf);
  faults?.throwIfAny();
}

/** Adds a fault of a part of the document. */
type AddFault = (node: ASTNode, path: Path, message: string) => void;

/** How the operation uses a variable: the path of its first use, and whether a value is required at any of them. */
type UseOf = (variable: string) => Use;
type Use = { path: Path; isNonNull: boolean };

/**
 * Adds a fault for each number in a document that a double cannot represent exactly, also in default values. graphql-js
 * would send 1e400 as null, and 9007199254740993 as another number.
 */
function checkLiterals(document: GraphqlDocument, add: AddFault, useOf: UseOf): void {
  document.isExact = true;
  const types = new TypeInfo(document.schema);
  const check: ASTVisitFn<IntValueNode | FloatValueNode> = (node, _, parent, keys, ancestors) => {
    const type = types.getInputType();
    // An ID is a text, so its digits are kept.
    if ((type && getNamedType(type) === GraphQLID) || isExact(node.value)) return;
    document.isExact = false;
    const path = argumentPath(keys, [...ancestors, parent], useOf);
    add(node, path, 'A number in the document cannot be sent exactly.');
  };
  visit(document.ast, visitWithTypeInfo(types, { IntValue: check, FloatValue: check }));
}

/**
 * Adds a fault for each value that does not match the type of its variable, and converts the numbers that `parseJson` kept
 * as objects. The messages of graphql-js are not used, because they repeat the whole input and suggest names of the schema.
 */
function checkVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Variables,
  addFault: AddFault,
  useOf: UseOf,
): void {
  for (const node of variableDefinitions) {
    const name = node.variable.name.value;
    const type = typeFromAST(schema, node.type);
    if (!isInputType(type)) continue; // Validation has rejected such a document.
    const add = (problem: string, path: readonly PropertyKey[] = []) =>
      addFault(node, [...useOf(name).path, ...path], `Variable "$${name}" ${problem}`);
    const given = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (given === undefined) {
      if (isNonNullType(type) && !node.defaultValue) add('is required.');
      continue;
    }
    // Validation allows a nullable variable here if it has a default. graphql-js would find a null only when it executes the
    // field, after earlier writes of the mutation.
    const mustNotBeNull = given === null && node.defaultValue && useOf(name).isNonNull;
    if (mustNotBeNull) add('must not be null.');
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
  if (!isObject(value)) return value;
  if (isListType(nullable)) {
    const convert = (item: unknown) => convertLongNumbers(item, nullable.ofType);
    return Array.isArray(value) ? value.map(convert) : convert(value); // A single value, which is coerced to a list.
  }
  const text = longNumber(value);
  if (text !== undefined) {
    return isExact(text) || isInputObjectType(nullable) ? Number(text) : value;
  }
  if (!isInputObjectType(nullable)) return value;
  // This visits the fields of the type, because the value may have many more.
  for (const { name, type } of Object.values(nullable.getFields())) {
    if (value[name] != null) value[name] = convertLongNumbers(value[name], type);
  }
  return value;
}

/** Whether a value is a number that is an integer, but not a safe one. */
function isLargeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return /^-?\d+$/.test(longNumber(value) ?? '');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
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

function usesOf(
  { ast, schema }: GraphqlDocument,
  operation: OperationDefinitionNode,
): Map<string, Use> {
  const uses = new Map<string, Use>();
  const types = new TypeInfo(schema);
  const visitor: ASTVisitor = {
    OperationDefinition: (node) => (node === operation ? undefined : false),
    VariableDefinition: () => false,
    Variable({ name }, _key, parent, keys, ancestors) {
      const known = uses.get(name.value);
      const path = known?.path ?? argumentPath(keys, [...ancestors, parent]);
      const isNonNull = known?.isNonNull || isNonNullType(types.getInputType());
      uses.set(name.value, { path, isNonNull });
    },
  };
  visit(ast, visitWithTypeInfo(types, visitor));
  return uses;
}

/**
 * The path of a value in a document, beginning with its argument. The path of a default value begins with the first use of
 * its variable. `visit` passes the keys that lead from the document to the value, and the node or list that has each key.
 */
function argumentPath(
  keys: readonly (string | number)[],
  parents: readonly (ASTNode | readonly ASTNode[] | undefined)[],
  useOf?: UseOf,
): Path {
  return parents.flatMap((parent, level) => {
    const key = keys[level];
    if (parent === undefined || key === undefined) return [];
    if (!('kind' in parent)) {
      const list = parents[level - 1];
      return list && 'kind' in list && list.kind === Kind.LIST ? [key] : [];
    }
    if (parent.kind === Kind.VARIABLE_DEFINITION)
      return useOf?.(parent.variable.name.value).path ?? [];
    const isNamed = parent.kind === Kind.ARGUMENT || parent.kind === Kind.OBJECT_FIELD;
    return isNamed ? [parent.name.value] : [];
  });
}
