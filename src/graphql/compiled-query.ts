import {
  type ASTVisitor,
  type DocumentNode,
  type GraphQLSchema,
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
  const { ast, plans } = document;
  document.conditions ??= conditionsOf(ast);
  const { conditions } = document;
  const variables = conditions.size > 0 ? { ...defaultsOf(operation), ...given } : given;
  // A variable that only another operation declares may have any value.
  const values = Array.from(conditions, (name) => variables[name] === true);
  const key = [operation.name?.value, ...values].join();
  const plan = plans.memo(key);
  plan.executions += 1;
  if (plan.compiled === undefined && plan.executions >= threshold) {
    plan.compiled = compile(document, operation, variables);
  }
  return plan.compiled ?? null;
}

function compile(
  { ast, schema }: GraphqlDocument,
  operation: OperationDefinitionNode,
  variables: Variables,
): Compiled | null {
  const query = toCompile(ast, variables);
  const { isCompilable, selectsEnum } = inspect(query, schema);
  if (!isCompilable) return null;
  const options = { disableLeafSerialization: !selectsEnum };
  const result = compileQuery(schema, query, operation.name?.value ?? '', options);
  if (!isCompiledQuery(result)) return null;
  const defaults = defaultsOf(operation);
  // Compiled code ignores the default of a nullable type.
  return (context, given) => result.query(undefined, context, { ...defaults, ...given });
}

/** The default values of the variables that have one. */
function defaultsOf({ variableDefinitions = [] }: OperationDefinitionNode): Variables {
  const entries = variableDefinitions.flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
  );
  return Object.fromEntries(entries);
}

/** The names of the variables in `@include` and `@skip`. */
function conditionsOf(document: DocumentNode): ReadonlySet<string> {
  const names = new Set<string>();
  visit(document, {
    Directive({ arguments: conditions = [] }) {
      for (const { value } of conditions) {
        if (value.kind === Kind.VARIABLE) names.add(value.name.value);
      }
    },
  });
  return names;
}

/** The document to compile: without fields that these variables exclude, and without directives, of which compiled code ignores some. */
function toCompile(document: DocumentNode, variables: Variables): DocumentNode {
  const enter = (node: SelectionNode) =>
    isIncluded(node, variables) ? { ...node, directives: [] } : null;
  return visit(document, {
    Field: enter,
    InlineFragment: enter,
    FragmentSpread: enter,
  });
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

/**
 * Finds two things. `isCompilable`: whether compiled code gives the same result as graphql-js. It loses entities after a
 * rejected reference, and fails on names that its own code uses (docs/decisions/0010). `selectsEnum`: whether the document
 * selects an enum, whose values differ inside and outside of the gateway. All other leaves already have their final form, and
 * checking each of them again would be a tenth of the cost of a long list.
 */
function inspect(document: DocumentNode, schema: GraphQLSchema) {
  const costOf = selectionCosts(schema, fragmentsOf(document));
  const typeInfo = new TypeInfo(schema);
  let [isCompilable, selectsEnum] = [true, false];
  const visitor: ASTVisitor = {
    OperationDefinition({ selectionSet }) {
      if (costOf([selectionSet]).nodes > MAX_FIELDS) isCompilable = false;
    },
    SelectionSet({ selections }) {
      if (selections.length === 0) isCompilable = false;
    },
    Field({ name, alias }) {
      if (name.value === '_entities' || alias?.value.startsWith('__')) isCompilable = false;
      if (isEnumType(getNamedType(typeInfo.getType()))) selectsEnum = true;
    },
    VariableDefinition({ variable }) {
      if (variable.name.value in Object.prototype) isCompilable = false;
    },
  };
  visit(document, visitWithTypeInfo(typeInfo, visitor));
  return { isCompilable, selectsEnum };
}
