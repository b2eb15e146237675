import {
  type ASTVisitor,
  type DocumentNode,
  getNamedType,
  isEnumType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeInfo,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Context } from './context.ts';
import type { GraphqlDocument, Variables } from './document.ts';
import { schema } from './schema.ts';
import { fragmentsOf, isIncluded, selectionCosts } from './selection-cost.ts';

/** A query is compiled when it is executed for this time: most that occur only once never are. */
export const COMPILE_AT = 3;
/** Compiling a document with more fields could take hundreds of milliseconds. */
const MAX_FIELDS = 300;

/**
 * A function that executes a query with these variables, compiled by graphql-jit. Without data, no resolver has run. Null
 * if the query cannot be compiled, or was executed less often than `threshold`.
 */
export function findCompiled(
  document: GraphqlDocument,
  operation: OperationDefinitionNode,
  given: Variables,
  threshold = COMPILE_AT,
): ((context: Context) => ReturnType<CompiledQuery['query']>) | null {
  // The order of writes must be certain, and compiled mutations are collected late (docs/decisions/0011).
  if (operation.operation !== OperationTypeNode.QUERY) return null;
  const { ast, plans } = document;
  document.conditions ??= conditionsOf(ast);
  const { conditions } = document;
  const variables = withDefaults(operation, given);
  // The value of a variable that another operation declares may be anything.
  const values = Array.from(conditions, (name) => variables[name] === true);
  const key = [operation.name?.value, ...values].join();
  const plan = plans.memo(key);
  plan.executions += 1;
  if (plan.compiled === undefined && plan.executions >= threshold) {
    plan.compiled = compile(ast, operation, variables);
  }
  const { compiled } = plan;
  return compiled ? (context) => compiled.query(undefined, context, variables) : null;
}

function compile(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): CompiledQuery | null {
  const query = toCompile(document, variables);
  const { isCompilable, selectsEnum } = inspect(query);
  if (!isCompilable) return null;
  const options = { disableLeafSerialization: !selectsEnum };
  const result = compileQuery(schema, query, operation.name?.value ?? '', options);
  return isCompiledQuery(result) ? result : null;
}

/** Variables with their defaults: compiled code ignores the default of a nullable type. */
function withDefaults(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Variables,
): Variables {
  if (!variableDefinitions.some(({ defaultValue }) => defaultValue)) return variables;
  const all = { ...variables };
  for (const { variable, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    if (defaultValue && all[name] === undefined) all[name] = valueFromASTUntyped(defaultValue);
  }
  return all;
}

/** The names of the variables that decide what is included. */
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

/**
 * A document without what these values exclude, and without directives: compiled code ignores some of them.
 */
function toCompile(document: DocumentNode, variables: Variables): DocumentNode {
  const enter = (node: Parameters<typeof isIncluded>[0]) =>
    isIncluded(node, variables) ? { ...node, directives: [] } : null;
  return visit(document, {
    Field: enter,
    InlineFragment: enter,
    FragmentSpread: enter,
  });
}

/**
 * Whether compiled code gives the same result as graphql-js. It loses entities after a rejected reference, and
 * fails on names that its own code uses (docs/decisions/0010). And whether a document selects an enum, whose values differ
 * inside and outside: all other leaves already have their final form, and checking each again would be a tenth of the
 * cost of a long list.
 */
function inspect(document: DocumentNode) {
  const costOf = selectionCosts(fragmentsOf(document));
  const typeInfo = new TypeInfo(schema);
  let [isCompilable, selectsEnum] = [true, false];
  const visitor: ASTVisitor = {
    OperationDefinition({ selectionSet }) {
      if (costOf(selectionSet).fields > MAX_FIELDS) isCompilable = false;
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
