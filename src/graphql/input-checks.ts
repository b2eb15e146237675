import {
  type ASTNode,
  type ASTVisitFn,
  type ASTVisitor,
  coerceInputValue,
  type DocumentNode,
  type FloatValueNode,
  GraphQLError,
  GraphQLID,
  type GraphQLInputType,
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
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import { formatPath, type InputFault, InputFaults, type Path } from '../errors/input-fault.ts';
import { isExact, longNumber, withLongNumbers } from '../lib/json.ts';
import type { GraphqlDocument, Variables } from './document.ts';
import { schema } from './schema.ts';

/**
 * Checks the input of an operation before anything is executed. Throws `BAD_USER_INPUT` with all faults of variables
 * that do not match their types, and of numbers that cannot be sent exactly.
 */
export function checkInput(
  document: GraphqlDocument,
  operation: OperationDefinitionNode,
  variables: Variables,
): void {
  const definitions = operation.variableDefinitions ?? [];
  const faults = new OperationFaults(document.ast, operation);
  if (!document.isExact) checkLiterals(document, faults);
  checkVariables(definitions, variables, faults);
  checkNulls(document, definitions, variables, faults);
  faults.throwIfAny();
}

/**
 * Adds a fault for each number in a document, default values included, that a double would change: graphql-js would
 * send 1e400 as null, and 9007199254740993 as another number.
 */
function checkLiterals(document: GraphqlDocument, faults: OperationFaults): void {
  document.isExact = true;
  let variable: VariableDefinitionNode | undefined;
  const types = new TypeInfo(schema);
  const check: ASTVisitFn<IntValueNode | FloatValueNode> = (node, _, parent, keys, ancestors) => {
    const type = types.getInputType();
    // An ID keeps its digits.
    if ((type && getNamedType(type) === GraphQLID) || isExact(node.value)) return;
    document.isExact = false;
    const path = argumentPath(keys, [...ancestors, parent]);
    const message = 'A number in the document cannot be sent exactly.';
    if (variable) faults.addInVariable(variable, node, path, message);
    else faults.addAt(node, path, message);
  };
  const visitor: ASTVisitor = {
    VariableDefinition: {
      enter(node) {
        variable = node;
      },
      leave() {
        variable = undefined;
      },
    },
    IntValue: check,
    FloatValue: check,
  };
  visit(document.ast, visitWithTypeInfo(types, visitor));
}

/**
 * Adds a fault for each value that does not match the type of its variable. The messages of graphql-js would repeat the
 * whole input and suggest names of the schema. Converts the numbers that `parseJson` left as text.
 */
function checkVariables(
  definitions: readonly VariableDefinitionNode[],
  variables: Variables,
  faults: OperationFaults,
): void {
  for (const node of definitions) {
    const name = node.variable.name.value;
    const type = typeFromAST(schema, node.type);
    if (!isInputType(type)) continue; // Validation rejects it.
    if (!Object.hasOwn(variables, name) || variables[name] === undefined) {
      const isRequired = isNonNullType(type) && !node.defaultValue;
      if (isRequired) faults.addInVariable(node, node, [], `Variable "$${name}" is required.`);
      continue;
    }
    const value = convertLongNumbers(variables[name], type);
    variables[name] = value;
    coerceInputValue(
      value,
      type,
      (path, invalid, error) => {
        const isNumber = longNumber(invalid) !== undefined;
        const reason = isNumber ? 'The number cannot be sent exactly.' : error.message;
        // It may repeat a part of the input.
        const quoted = withLongNumbers(reason).slice(0, 200);
        const place = path.length === 0 ? '' : ` at ${formatPath(path)}`;
        const message = `Variable "$${name}" is invalid${place}: ${quoted}`;
        faults.addInVariable(node, node, [...path], message);
      },
      true,
    );
  }
}

/**
 * Replaces long numbers, inside lists and objects too: by their digits where an ID is expected, otherwise
 * by a double if it has the same value. No type accepts those that remain.
 */
function convertLongNumbers(value: unknown, type: GraphQLInputType): unknown {
  if (!isObject(value)) return value;
  const named = getNamedType(type);
  const text = longNumber(value);
  if (text !== undefined) {
    if (named === GraphQLID && /^-?\d+$/.test(text)) return text;
    return isExact(text) || isInputObjectType(named) ? Number(text) : value;
  }
  const nullable = getNullableType(type);
  if (isListType(nullable) && !Array.isArray(value)) {
    return convertLongNumbers(value, nullable.ofType); // A list of one.
  }
  if (isListType(nullable)) {
    for (const [index, item] of Object.entries(value)) {
      if (isObject(item)) value[index] = convertLongNumbers(item, nullable.ofType);
    }
  }
  if (!isInputObjectType(nullable)) return value;
  // By the fields of the type: those of the value may be many.
  for (const { name, type } of Object.values(nullable.getFields())) {
    if (isObject(value[name])) value[name] = convertLongNumbers(value[name], type);
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/**
 * Adds a fault for each null where a value is required. A nullable variable with a default value passes
 * validation there. graphql-js would find the null only below a field, after its write.
 */
function checkNulls(
  document: GraphqlDocument,
  definitions: readonly VariableDefinitionNode[],
  variables: Variables,
  faults: OperationFaults,
): void {
  const isNull = ({ variable, defaultValue }: VariableDefinitionNode) =>
    defaultValue !== undefined && variables[variable.name.value] === null;
  if (!definitions.some(isNull)) return;
  const nulls = new Map(definitions.filter(isNull).map((node) => [node.variable.name.value, node]));
  const types = new TypeInfo(schema);
  visit(
    document.ast,
    visitWithTypeInfo(types, {
      VariableDefinition: () => false,
      Variable({ name: { value: name } }) {
        const node = nulls.get(name);
        if (!node || !isNonNullType(types.getInputType())) return;
        nulls.delete(name);
        faults.addInVariable(node, node, [], `Variable "$${name}" must not be null.`);
      },
    }),
  );
}

/** A GraphQL name (section 2.1.9 of the GraphQL specification). */
const namePattern = /^[_A-Za-z][_0-9A-Za-z]{0,254}$/;

/**
 * Checks the header `Idempotency-Response-Name`: a router that splits a mutation sends in it the response name that the
 * field has for its client. Throws `BAD_USER_INPUT`.
 */
export function checkResponseName(
  { operation, selectionSet }: OperationDefinitionNode,
  name: string | undefined,
): void {
  if (name === undefined || operation !== OperationTypeNode.MUTATION) return;
  const { selections } = selectionSet;
  if (!namePattern.test(name)) throw badHeader('must be the name of a field');
  if (selections.length > 1 || selections[0]?.kind !== Kind.FIELD) {
    throw badHeader('needs an operation with one root field');
  }
}

function badHeader(problem: string): GatewayError {
  const message = `The header Idempotency-Response-Name ${problem}.`;
  return new GatewayError('BAD_USER_INPUT', message, { faults: [{ path: [], message }] });
}

/** Collects the faults of the variables and literals of an operation. Nothing of it is executed then. */
class OperationFaults extends InputFaults {
  readonly #document: DocumentNode;
  readonly #operation: OperationDefinitionNode;
  #uses: Map<string, Path> | undefined;
  readonly #nodes = new Set<ASTNode>();

  constructor(document: DocumentNode, operation: OperationDefinitionNode) {
    super();
    this.#document = document;
    this.#operation = operation;
  }

  /** Adds a fault of a value in the document. */
  addAt(node: ASTNode, path: Path, message: string): void {
    this.#nodes.add(node);
    this.add(path, message);
  }

  /** Adds a fault inside a variable. Its path begins where the operation first uses the variable. */
  addInVariable({ variable }: VariableDefinitionNode, node: ASTNode, path: Path, message: string) {
    this.#uses ??= firstUses(this.#document, this.#operation);
    const use = this.#uses.get(variable.name.value) ?? [];
    this.addAt(node, [...use, ...path], message);
  }

  protected override toError(message: string, faults: InputFault[]): GraphQLError {
    return new GraphQLError(message, {
      nodes: [...this.#nodes],
      extensions: { code: 'BAD_USER_INPUT', http: { status: 400 }, faults },
    });
  }
}

/** The path of the first use of each variable of an operation. */
function firstUses(document: DocumentNode, operation: OperationDefinitionNode): Map<string, Path> {
  const uses = new Map<string, Path>();
  visit(document, {
    OperationDefinition: (node) => (node === operation ? undefined : false),
    VariableDefinition: () => false,
    Variable({ name }, _key, parent, keys, ancestors) {
      if (uses.has(name.value)) return;
      uses.set(name.value, argumentPath(keys, [...ancestors, parent]));
    },
  });
  return uses;
}

/**
 * The path of a value in a document, from its argument on. `visit` passes the keys from the document to the
 * value, and the node or list in which each of them is.
 */
function argumentPath(
  keys: readonly (string | number)[],
  parents: readonly (ASTNode | readonly ASTNode[] | undefined)[],
): Path {
  return parents.flatMap((parent, level) => {
    const key = keys[level];
    if (parent === undefined || key === undefined) return [];
    if (!('kind' in parent)) {
      const list = parents[level - 1];
      return list && 'kind' in list && list.kind === Kind.LIST ? [key] : [];
    }
    const isNamed = parent.kind === Kind.ARGUMENT || parent.kind === Kind.OBJECT_FIELD;
    return isNamed ? [parent.name.value] : [];
  });
}
