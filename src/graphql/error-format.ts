import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { Logger } from 'pino';
import {
  GatewayError,
  internalError,
  loggable,
  MAX_MESSAGE_LENGTH,
} from '../errors/gateway-error.ts';
import { shorten } from '../lib/short-text.ts';
import { currentState, hasMutated } from '../request-state.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';

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
    const { message, code, retryable, retryAfterS, faults } = describe(formatted, error);
    if (code === internalError.code && !logged.has(Object(error))) {
      logged.add(Object(error));
      log.error({ requestId: state?.requestId, error: loggable(error) }, 'internal error');
    }
    state?.errorCodes.push(code);
    if (state && error instanceof GatewayError && error.rejection) {
      state.rejection = error.rejection;
    }
    const shown = shorten(message, MAX_MESSAGE_LENGTH);
    // An unexpected error has no request id if it proves nothing about a write.
    const isUnclear = code === internalError.code && state && hasMutated(state);
    const requestId = isUnclear ? undefined : state?.requestId;
    // An error without a list of faults is itself the only fault.
    const all = faults ?? (code === 'BAD_USER_INPUT' ? [{ path: [], message: shown }] : undefined);
    const extensions = { code, requestId, retryable, retryAfterS, faults: all };
    return { ...formatted, message: shown, extensions };
  };
}

type Description = Pick<UpstreamError, 'message' | 'retryable'> & {
  code: string;
  retryAfterS?: number | undefined;
  faults?: unknown;
};

function describe({ message, extensions }: GraphQLFormattedError, error: unknown): Description {
  if (error instanceof UpstreamError || error instanceof GatewayError) return error;
  const [, argument] = (error instanceof GraphQLError && argumentFault.exec(message)) || [];
  if (argument) {
    const faults = [{ path: [argument], message }];
    return { message, code: 'BAD_USER_INPUT', retryable: false, faults };
  }
  const code = String(extensions?.code);
  if (!apolloCodes.has(code)) return { ...internalError, retryable: false };
  return { message, code, retryable: false, faults: extensions?.faults };
}
