import type { ApolloServerPlugin } from '@apollo/server';
import { GraphQLError, type GraphQLSchema, OperationTypeNode } from 'graphql';
import type { Context } from '../context.ts';
import { createLiteralChecks } from './literal-checks.ts';
import { OperationFaults } from './operation-fault.ts';
import { checkNulls, checkVariables } from './variable-checks.ts';

/**
 * Rejects subscriptions, variables that do not match their types, and numbers that cannot be sent
 * exactly, before anything is executed.
 */
export function createOperationChecks(schema: GraphQLSchema): ApolloServerPlugin<Context> {
  const checkLiterals = createLiteralChecks(schema);
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ document, operation, request }) {
          if (!operation) return; // Apollo reports this error.
          if (operation.operation === OperationTypeNode.SUBSCRIPTION) throw noSubscriptions();
          const definitions = operation.variableDefinitions ?? [];
          const variables = request.variables ?? {};
          const faults = new OperationFaults(document, operation);
          checkLiterals(document, faults);
          checkVariables(schema, definitions, variables, faults);
          checkNulls(schema, document, definitions, variables, faults);
          faults.throwIfAny();
        },
      };
    },
  };
}

function noSubscriptions(): GraphQLError {
  return new GraphQLError('Subscriptions are not supported.', {
    extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
  });
}
