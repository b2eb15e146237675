import type { ApolloServerPlugin, GraphQLRequest } from '@apollo/server';
import {
  type ExecutionResult,
  execute,
  GraphQLError,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import type { RequestRecord } from '../telemetry/request-record.ts';
import { findCompiled } from './compiled-query.ts';
import type { Context } from './context.ts';
import type { GraphqlDocument } from './document.ts';
import { toGraphqlError } from './error-format.ts';
import type { FieldObserver } from './field-metrics.ts';
import { checkInput } from './input-checks.ts';
import { inOperationSpan } from './operation-span.ts';
import { type FormatError, toResponse } from './response-errors.ts';
import type { ResponseLimits } from './response-limits.ts';
import { checkResponseName } from './response-name.ts';
import { schema } from './schema.ts';

/**
 * Executes operations in place of Apollo Server, which gets the parsed and checked document of the context. Queries
 * that are frequent and simple mutations are compiled, everything else is executed by graphql-js, with the same results
 * (docs/decisions/0010).
 */
export function createExecution(
  formatError: FormatError,
  observe: FieldObserver,
): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async didResolveSource(requestContext) {
          const { document } = requestContext.contextValue;
          // Apollo would execute a document that is not checked.
          if (!document) throw new Error('The document of a request was not checked.');
          Object.assign(requestContext, { document: document.ast });
        },
        async responseForOperation({ operation, request, contextValue, response: { http } }) {
          const { document, record } = contextValue;
          if (!document) return null; // For the type: didResolveSource has thrown.
          const limits = contextValue.isAuthenticated ? contextValue.limits() : undefined;
          const respond = async ({ data, errors = [] }: ExecutionResult) => {
            const formatted = errors.map((error) => toResponse(error, document, http, formatError));
            const singleResult = {
              ...(formatted.length > 0 && { errors: formatted }),
              ...(data !== undefined && { data }),
            };
            const serialized = await limits?.serialize(singleResult);
            contextValue.response.serialized = serialized;
            return {
              http,
              body: { kind: 'single' as const, singleResult: serialized ? {} : singleResult },
            };
          };
          if (document.faults.length > 0) return respond({ errors: document.errors });
          if (!operation) return null; // Apollo reports this error.
          return inOperationSpan(operation, record, async () => {
            try {
              return await respond(await run(document, operation, request, contextValue, limits));
            } catch (error) {
              const rejection = error instanceof GatewayError ? toGraphqlError(error) : error;
              if (!(rejection instanceof GraphQLError)) throw error; // A fault of ours.
              return respond({ errors: [rejection] });
            } finally {
              report(record, observe);
            }
          });
        },
      };
    },
  };
}

/** Executes an operation. Rejects with a GraphQLError or a GatewayError if nothing can be executed. */
async function run(
  document: GraphqlDocument,
  operation: OperationDefinitionNode,
  { variables = {}, operationName }: GraphQLRequest,
  contextValue: Context,
  /** Undefined if the request has no token. Then it is not compiled, which is expensive. */
  limits: ResponseLimits | undefined,
): Promise<ExecutionResult> {
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) throw noSubscriptions();
  checkInput(document, operation, variables);
  checkResponseName(operation, contextValue.responseName);
  const runCompiled = async (threshold?: number) => {
    const compiled = findCompiled(document, operation, variables, threshold);
    limits?.start('compiled');
    const result = await compiled?.(contextValue, variables);
    return result?.data === undefined ? undefined : result; // Without data, no resolver has run.
  };
  let result = limits && (await runCompiled());
  if (!result) {
    limits?.start('interpreted');
    const all = { schema, document: document.ast, contextValue, operationName };
    result = await execute({ ...all, variableValues: variables });
    // Its lists have been read, and are not requested again.
    if (limits?.isTooLargeToInterpret) result = (await runCompiled(1)) ?? result;
  }
  if (result.data === undefined) throw new Error(result.errors?.[0]?.message ?? 'no result');
  return result;
}

/** Counts the outcomes of root fields, and notes those of writes for the log. */
function report(record: RequestRecord, observe: FieldObserver): void {
  for (const field of record.fields.values()) {
    const { operation, outcome, code } = field;
    observe(field);
    // `settleWrites` sends nothing, and its client may ask again.
    const isWrite = operation.startsWith('Mutation.') && operation !== 'Mutation.settleWrites';
    const words = [operation, outcome, ...(code === undefined ? [] : [code])];
    if (isWrite) record.writes.push(words.join(' '));
  }
}

function noSubscriptions(): GraphQLError {
  return new GraphQLError('Subscriptions are not supported.', {
    extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
  });
}
