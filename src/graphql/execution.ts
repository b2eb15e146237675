import { isPromise } from 'node:util/types';
import type {
  ApolloServerPlugin,
  GraphQLRequest,
  GraphQLRequestListener,
  HTTPGraphQLHead,
} from '@apollo/server';
import { unwrapResolverError } from '@apollo/server/errors';
import { type Span, SpanKind } from '@opentelemetry/api';
import {
  type ExecutionResult,
  execute,
  type FormattedExecutionResult,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { GatewayError, httpError, PublicError } from '../errors/gateway-error.ts';
import type { FieldResult, RequestState } from '../request-state.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';
import type { Operation } from '../upstream/operations.ts';
import { findCompiled } from './compiled-query.ts';
import type { GraphqlDocument } from './document.ts';
import type { FormatError } from './error-format.ts';
import { checkInput, checkResponseName } from './input-checks.ts';
import type { RequestContext } from './request-context.ts';
import { type ResponseLimits, tooLongToInterpret } from './response-limits.ts';

/** Executes operations in place of Apollo Server: compiled queries, and everything else by graphql-js (docs/decisions/0010). */
export function createExecution(
  formatError: FormatError,
  observe: FieldObserver,
): ApolloServerPlugin<RequestContext> {
  const toResponse = ({ data = null, errors = [] }: ExecutionResult, http: HTTPGraphQLHead) => {
    for (const error of errors) setHead(http, error);
    return errors.length > 0
      ? { errors: errors.map((error) => formatError(error.toJSON(), error)), data }
      : { data };
  };
  const listener: GraphQLRequestListener<RequestContext> = {
    responseForOperation({ operation, request, contextValue, response: { http } }) {
      const { document, state, limits } = contextValue;
      // Apollo would execute a document that is not checked.
      if (!document) throw new Error('The document of a request was not checked.');
      const respond = (singleResult: FormattedExecutionResult) => {
        const response = { http, body: { kind: 'single' as const, singleResult } };
        return limits?.admitResponse(singleResult)?.then(() => response) ?? response;
      };
      if (document.faults.length > 0) {
        http.status = 400;
        const errors = document.faults.map((fault) => formatError(fault, fault));
        return Promise.resolve(respond({ errors }));
      }
      if (!operation) return Promise.resolve(null); // Apollo reports this error.
      const { operation: type, name } = operation;
      state.operation = name?.value ?? type; // At most 256 characters (document-limits.ts).
      // The names are those of OpenTelemetry's conventions for GraphQL. The name of the span does not contain that of the
      // operation, because clients choose it.
      const attributes = { 'graphql.operation.type': type, 'graphql.operation.name': name?.value };
      return inSpan(type, { kind: SpanKind.SERVER, attributes }, async (span) => {
        try {
          const result = await run(document, operation, request, contextValue, limits);
          const response = respond(toResponse(result, http));
          return isPromise(response) ? await response : response;
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error; // This is a bug of the gateway.
          setHead(http, error);
          return respond({ errors: [formatError({ message: error.message }, error)] });
        } finally {
          report(state, observe, span);
        }
      });
    },
  };
  return { requestDidStart: async () => listener };
}

/** Sets the status and headers that an error asks for. */
function setHead(head: HTTPGraphQLHead, error: Error): void {
  const cause = unwrapResolverError(error);
  if (!(cause instanceof PublicError)) return;
  if (cause.retryAfterS !== undefined) {
    // The whole request may be sent again when the last of its fields may.
    const others = Number(head.headers.get('retry-after') ?? 0);
    head.headers.set('retry-after', String(Math.max(cause.retryAfterS, others)));
  }
  const http = cause instanceof GatewayError ? cause.http : undefined;
  // Status 503 is for a whole request. If only one list has no memory or time, the response has the others.
  if (!http || http.status === 503) return;
  head.status = http.status;
  for (const [name, value] of Object.entries(http.headers)) head.headers.set(name, value);
}

/** Executes an operation. Rejects with a GatewayError if nothing can be executed. */
async function run(
  document: GraphqlDocument,
  operation: OperationDefinitionNode,
  { variables = {}, operationName }: GraphQLRequest,
  contextValue: RequestContext,
  /** Null if the request has no token. Compiling is expensive, so such a request is not compiled. */
  limits: ResponseLimits | null,
): Promise<ExecutionResult> {
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
    throw httpError(400, 'Subscriptions are not supported.');
  }
  checkInput(document, operation, variables);
  const { idempotencyResponseName: responseName } = contextValue.scope ?? {};
  if (responseName !== undefined) checkResponseName(operation, responseName);
  const runCompiled = (threshold?: number) => {
    const compiled = findCompiled(document, operation, variables, threshold);
    limits?.start('compiled');
    return compiled?.(contextValue, variables);
  };
  const interpret = () => {
    limits?.start('interpreted');
    const { schema, ast } = document;
    const all = { schema, document: ast, contextValue, operationName };
    return execute({ ...all, variableValues: variables });
  };
  // A mutation is executed exactly once. A query may be executed again: its lists are in the loaders.
  const isQuery = operation.operation === OperationTypeNode.QUERY;
  const compiled = isQuery && limits ? await runCompiled() : undefined;
  // Without data, no resolver has run.
  let result = compiled?.data === undefined ? await interpret() : compiled;
  const isTooLong = result.errors?.some((error) => error.originalError === tooLongToInterpret);
  if (isQuery && isTooLong) {
    const again = await runCompiled(1);
    if (again?.data !== undefined) result = again;
  }
  // `checkInput` has accepted the variables, and graphql-js rejects them, so nothing was executed. Its message would repeat the values.
  if (result.data === undefined) {
    const message = 'The variables do not match their types.';
    throw new GatewayError('BAD_USER_INPUT', message, { status: 400 });
  }
  return result;
}

/** Counts the results of root fields, notes those of writes for the log, and marks the span of a failure. */
function report(state: RequestState, observe: FieldObserver, span: Span): void {
  const [failure] = state.errorCodes;
  if (failure !== undefined) fail(span, failure);
  for (const one of state.fields.values()) {
    const { field, result, code, invoiceId } = one;
    observe(one);
    // `settleWrites` is no write: it sends nothing, and the client may ask again.
    const isWrite = field.startsWith('Mutation.') && field !== 'Mutation.settleWrites';
    const words = [field, result, code, invoiceId && `invoice=${invoiceId}`];
    if (isWrite) state.writes.push(words.filter(Boolean).join(' '));
  }
}

export type FieldObserver = (field: FieldResult) => void;

/** Registers the metric of resolved root fields, and returns the function that counts one. */
export function createFieldObserver(
  metrics: Metrics,
  operations: readonly Operation[],
): FieldObserver {
  const help = 'Root fields resolved, by field and by union member or error code';
  const fields = metrics.counter('operations_total', help, 'operation', 'outcome');
  for (const { effect, graphql: operation } of operations) {
    fields.inc({ operation, outcome: 'INTERNAL_SERVER_ERROR' }, 0);
    if (effect === 'write') fields.inc({ operation, outcome: 'LedgerOutcomeUnknown' }, 0);
  }
  return ({ field, result }) => fields.inc({ operation: field, outcome: result });
}
