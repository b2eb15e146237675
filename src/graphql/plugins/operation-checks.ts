import type { ApolloServerPlugin } from '@apollo/server';
import {
  coerceInputValue,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  isInputType,
  isNonNullType,
  OperationTypeNode,
  TypeInfo,
  typeFromAST,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Context } from '../context.ts';

/** The longest part of a client's input or of a reason that an error message repeats, in characters. */
const MAX_QUOTED_LENGTH = 200;

/** Rejects subscriptions and variables that do not match their types, before anything is executed. */
export function createOperationChecks(schema: GraphQLSchema): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ document, operation, request }) {
          if (!operation) return; // Apollo reports this error.
          if (operation.operation === OperationTypeNode.SUBSCRIPTION) throw noSubscriptions();
          const definitions = operation.variableDefinitions ?? [];
          const variables = request.variables ?? {};
          checkVariables(schema, definitions, variables);
          checkNulls(schema, document, definitions, variables);
        },
      };
    },
  };
}

/**
 * Throws `BAD_USER_INPUT` for the first variable that does not match its type, with the path and the
 * reason. The messages of graphql-js would repeat the whole input and suggest names of the schema.
 */
function checkVariables(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  variables: Record<string, unknown>,
): void {
  for (const node of definitions) {
    const name = node.variable.name.value;
    const type = typeFromAST(schema, node.type);
    if (!isInputType(type)) continue; // Validation rejects it.
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value === undefined) {
      if (isNonNullType(type) && !node.defaultValue) throw badVariable(node, 'is required.');
      continue;
    }
    coerceInputValue(value, type, (path, _, { message }) => {
      const [reason = ''] = message.split(' Did you mean ');
      const quoted = reason.slice(0, MAX_QUOTED_LENGTH);
      throw badVariable(node, `is invalid${formatPath(path)}: ${quoted}`);
    });
  }
}

/**
 * Throws `BAD_USER_INPUT` for a null where a value is required. A nullable variable with a default value
 * passes validation there. graphql-js would find the null only below a field, after its write.
 */
function checkNulls(
  schema: GraphQLSchema,
  document: DocumentNode,
  definitions: readonly VariableDefinitionNode[],
  variables: Record<string, unknown>,
): void {
  const isNull = ({ variable, defaultValue }: VariableDefinitionNode) =>
    defaultValue !== undefined && variables[variable.name.value] === null;
  const nulls = new Map(definitions.filter(isNull).map((node) => [node.variable.name.value, node]));
  if (nulls.size === 0) return;
  const types = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(types, {
      VariableDefinition: () => false,
      Variable({ name }) {
        const node = nulls.get(name.value);
        if (node && isNonNullType(types.getInputType())) {
          throw badVariable(node, 'must not be null.');
        }
      },
    }),
  );
}

function badVariable(node: VariableDefinitionNode, reason: string): GraphQLError {
  return new GraphQLError(`Variable "$${node.variable.name.value}" ${reason}`, {
    nodes: node,
    extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
  });
}

/** A path within a variable, such as ` at [0].name`. */
function formatPath(path: readonly (string | number)[]): string {
  if (path.length === 0) return '';
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  return ` at ${text.slice(0, MAX_QUOTED_LENGTH)}`;
}

function noSubscriptions(): GraphQLError {
  return new GraphQLError('Subscriptions are not supported.', {
    extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
  });
}
