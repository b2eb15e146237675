import type { ApolloServerPlugin } from '@apollo/server';
import {
  coerceInputValue,
  GraphQLError,
  type GraphQLSchema,
  isInputType,
  isNonNullType,
  OperationTypeNode,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql';
import type { Context } from '../context.ts';

/** The longest part of a client's input or of a reason that an error message repeats, in characters. */
const MAX_QUOTED_LENGTH = 200;

/** Rejects subscriptions and variables that do not match their types, before anything is executed. */
export function createOperationChecks(schema: GraphQLSchema): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ operation, request }) {
          if (!operation) return; // Apollo reports this error.
          if (operation.operation === OperationTypeNode.SUBSCRIPTION) throw noSubscriptions();
          checkVariables(schema, operation.variableDefinitions ?? [], request.variables ?? {});
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
