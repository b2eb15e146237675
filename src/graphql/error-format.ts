import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { Logger } from 'pino';
import {
  type Description,
  entryOf,
  loggable,
  PublicError,
  toPublicError,
} from '../errors/gateway-error.ts';
import { currentState, hasMutated, noteError } from '../request-state.ts';

/** Codes of Apollo Server whose messages concern only the client's document or request. */
const apolloCodes = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
]);

/** The messages of graphql-js for a null that it finds only during execution. */
const argumentFault = /^Argument "(\w+)"/;

export type FormatError = ReturnType<typeof createErrorFormatter>;

/** Formats an error of GraphQL execution or of Apollo's HTTP handling. Logs the errors that it masks. */
export function createErrorFormatter(log: Logger) {
  /** Errors that are logged already. One error, such as that of a failed list, may be reported for thousands of entities. */
  const logged = new WeakSet<object>();
  return (formatted: GraphQLFormattedError, thrown: unknown): GraphQLFormattedError => {
    const error = unwrapResolverError(thrown);
    const state = currentState.getStore();
    const description = describeOperationError(formatted, error);
    const { code } = description;
    const isBug = code === 'INTERNAL_SERVER_ERROR';
    if (isBug && !logged.has(Object(error))) {
      logged.add(Object(error));
      log.error({ requestId: state?.requestId, error: loggable(error) }, 'internal error');
    }
    if (state) noteError(state, code, error);
    // An unexpected error has no request id if it proves nothing about a write.
    const isUnclear = isBug && state && hasMutated(state);
    return { ...formatted, ...entryOf(description, isUnclear ? undefined : state?.requestId) };
  };
}

function describeOperationError(
  { message, extensions }: GraphQLFormattedError,
  error: unknown,
): Description {
  const [, argument] = (error instanceof GraphQLError && argumentFault.exec(message)) || [];
  if (argument) {
    const faults = [{ path: [argument], message }];
    return { message, code: 'BAD_USER_INPUT', retryable: false, faults };
  }
  const code = String(extensions?.code);
  if (error instanceof PublicError || !apolloCodes.has(code)) return toPublicError(error);
  return { message, code, retryable: false };
}
