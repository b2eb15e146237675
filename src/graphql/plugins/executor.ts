import type { ApolloServerPlugin, GraphQLRequest, HTTPGraphQLHead } from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { Context } from '../context.ts';
import { CompiledQueries } from './compiled-queries.ts';

type FormatError = (formatted: GraphQLFormattedError, error: unknown) => GraphQLFormattedError;

/**
 * Executes operations: compiled queries by graphql-jit, everything else by graphql-js. The results are
 * the same; for large lists, compiled queries cost a third. Mutations are never compiled: they have few
 * fields, and their order of execution is a promise of this gateway (docs/decisions/0010). The queries of
 * `trusted` documents are compiled at once, others when they are frequent.
 */
export function createExecutor(
  schema: GraphQLSchema,
  formatError: FormatError,
  trusted: readonly DocumentNode[] = [],
): ApolloServerPlugin<Context> {
  const compiledQueries = new CompiledQueries(schema);
  for (const document of trusted) compiledQueries.compileAll(document);

  async function run(
    document: DocumentNode,
    operation: OperationDefinitionNode,
    { variables: variableValues, operationName }: GraphQLRequest,
    contextValue: Context,
  ): Promise<ExecutionResult> {
    // Only for authenticated requests: compiling is expensive.
    if (operation.operation === OperationTypeNode.QUERY && contextValue.isAuthenticated) {
      const compiled = compiledQueries.find(document, operation);
      const result = await compiled?.(contextValue, variableValues ?? {});
      if (result?.data !== undefined) return result;
    }
    return execute({ schema, document, contextValue, variableValues, operationName });
  }

  return {
    async requestDidStart() {
      return {
        async responseForOperation({ document, operation, request, contextValue, response }) {
          if (!operation) return null;
          const { http } = response;
          const { data, errors } = await run(document, operation, request, contextValue);
          if (data === undefined) {
            // No resolver has run. Apollo executes again to report these errors, except for mutations.
            if (operation.operation !== OperationTypeNode.MUTATION) return null;
            throw errors?.[0] ?? new Error('A mutation ended without data.');
          }
          await contextValue.limits.admitSerialization();
          const singleResult = errors
            ? { data, errors: errors.map((error) => toResponse(error, http, formatError)) }
            : { data };
          return { http, body: { kind: 'single', singleResult } };
        },
      };
    },
  };
}

/** Formats an error and sets the status and headers that it asks for, as Apollo does. */
function toResponse(
  error: GraphQLError,
  head: HTTPGraphQLHead,
  formatError: FormatError,
): GraphQLFormattedError {
  const cause = unwrapResolverError(error);
  if (cause instanceof GatewayError && cause.http) {
    head.status = cause.http.status;
    for (const [name, value] of cause.http.headers) head.headers.set(name, value);
  }
  return formatError(error.toJSON(), error);
}
