import {
  type ASTVisitor,
  type DocumentNode,
  getNamedType,
  isEnumType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  TypeInfo,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Compiled, GraphqlDocument, Variables } from './document.ts';
import { fragmentsOf, selectionCosts } from './selection-cost.ts';

/** A query is compiled on its Nth execution, so that a query that occurs only once or twice is not. */
export const COMPILE_AT = 3;
/** Documents with more fields are not compiled, because that could take hundreds of milliseconds. */
const MAX_FIELDS = 300;

/** The compiled form of a query, by graphql-jit. Null if it cannot be compiled, or was executed less often than `threshold`. */
export function findCompiled(
  document: GraphqlDocument,
  operation: OperationDefinitionNode,
  given: Variables,
  threshold = COMPILE_AT,
): Compiled | null {
  // Each combination of conditions is compiled on its own. A variable that only another operation declares may have any value.
  const { name, variableDefinitions = [] } = operation;
  const values = variableDefinitions.map(({ variable, defaultValue }) => {
    const value = given[variable.name.value];
    const isDefault = value === undefined && defaultValue?.kind === Kind.BOOLEAN;
    return isDefault ? defaultValue.value : value === true;
  });
  const plan = document.plans.memo([name?.value, ...values].join());
  plan.executions += 1;
  if (plan.compiled === undefined && plan.executions >= threshold) {
    plan.compiled = compile(document, operation, given);
  }
  return plan.compiled ?? null;
}

function compile(
  document: GraphqlDocument,
  operation: OperationDefinitionNode,
  given: Variables,
): Compiled | null {
  const defaults = defaultsOf(operation);
  const { query, isCompilable, selectsEnum } = toCompile(document, { ...defaults, ...given });
  if (!isCompilable) return null;
  const options = { disableLeafSerialization: !selectsEnum };
  const result = compileQuery(document.schema, query, operation.name?.value ?? '', options);
  if (!isCompiledQuery(result)) return null;
  // Compiled code ignores the default of a nullable type.
  return (context, variables) => result.query(undefined, context, { ...defaults, ...variables });
}

/** The default values of the variables that have one. */
function defaultsOf({ variableDefinitions = [] }: OperationDefinitionNode): Variables {
  const entries = variableDefinitions.flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
  );
  return Object.fromEntries(entries);
}

/**
 * The document to compile: without fields that these variables exclude, and without directives, of which compiled code ignores
 * some. `isCompilable`: whether compiled code gives the same result as graphql-js. It loses entities after a rejected reference,
 * and fails on names that its own code uses (docs/decisions/0010). `selectsEnum`: whether the document selects an enum, whose
 * values differ inside and outside of the gateway. All other leaves already have their final form, and checking each of them
 * again would be a tenth of the cost of a long list.
 */
function toCompile({ ast, schema }: GraphqlDocument, variables: Variables) {
  const typeInfo = new TypeInfo(schema);
  let [isCompilable, selectsEnum] = [true, false];
  const enter = (node: SelectionNode) =>
    isIncluded(node, variables) ? { ...node, directives: [] } : null;
  const visitor: ASTVisitor = {
    OperationDefinition({ selectionSet }) {
      const { nodes } = selectionCosts(schema, fragmentsOf(ast))([selectionSet]);
      if (nodes > MAX_FIELDS) isCompilable = false;
    },
    SelectionSet: {
      leave({ selections }) {
        if (selections.length === 0) isCompilable = false;
      },
    },
    Field(node) {
      const { name, alias } = node;
      const entered = enter(node);
      if (!entered) return entered;
      if (name.value === '_entities' || alias?.value.startsWith('__')) isCompilable = false;
      if (isEnumType(getNamedType(typeInfo.getType()))) selectsEnum = true;
      return entered;
    },
    InlineFragment: enter,
    FragmentSpread: enter,
    VariableDefinition({ variable }) {
      if (variable.name.value in Object.prototype) isCompilable = false;
    },
  };
  const query: DocumentNode = visit(ast, visitWithTypeInfo(typeInfo, visitor));
  return { query, isCompilable, selectsEnum };
}

/** Whether the `@include` and `@skip` of a selection let it be executed with these values. */
function isIncluded({ directives = [] }: SelectionNode, variables: Variables): boolean {
  return directives.every(({ name, arguments: [condition] = [] }) => {
    const { value } = condition ?? {};
    if (value?.kind === Kind.BOOLEAN) return value.value === (name.value === 'include');
    if (value?.kind !== Kind.VARIABLE) return true;
    return variables[value.name.value] === (name.value === 'include');
  });
}
