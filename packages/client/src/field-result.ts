import { type GraphqlError, isObject } from './answer.ts';
import type { Intent } from './intent.ts';

/** The codes of errors: those of this package, then those of the gateway, which may add more. */
export type LedgerErrorCode =
  | 'RESPONSE_LOST'
  | 'OUTCOME_UNKNOWN'
  | 'SIGN_IN_FAILED'
  | `HTTP_${number}`
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'BAD_USER_INPUT'
  | 'UPSTREAM_BAD_REQUEST'
  | 'UPSTREAM_FAILED'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_UNAVAILABLE'
  | 'UPSTREAM_INVALID_RESPONSE'
  | 'UPSTREAM_BUSY'
  | 'AUTH_UNAVAILABLE'
  | 'OVERLOADED'
  | 'OPERATION_LIMIT_EXCEEDED'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'IDEMPOTENCY_KEY_SETTLED'
  | 'IDEMPOTENCY_UNAVAILABLE'
  | 'QUERY_NOT_IN_SAFELIST'
  | 'PERSISTED_QUERY_NOT_IN_LIST'
  | 'REQUEST_TIMEOUT'
  | 'PAYLOAD_TOO_LARGE'
  | 'INTERNAL_SERVER_ERROR'
  | (string & {});

/** A fault of the input, and the path of what has it, from the argument on. */
export type Fault = { readonly path: readonly (string | number)[]; readonly message: string };

export type LedgerError = {
  readonly code: LedgerErrorCode;
  readonly message: string;
  /** Operators find the request with it. */
  readonly requestId: string | undefined;
  readonly faults: readonly Fault[];
};

/** What became of one root field. */
export type FieldResult<Member> =
  /** Its outcome, a member of its union. */
  | { readonly kind: 'member'; readonly member: Member }
  /** It did nothing. */
  | { readonly kind: 'error'; readonly error: LedgerError }
  /** It is not known yet. `settle` can find out. */
  | { readonly kind: 'lost'; readonly error: LedgerError; readonly intent: Intent | undefined }
  /** Nobody can know whether it took effect. */
  | { readonly kind: 'unknown'; readonly error: LedgerError };

/** The result of any GraphQL client. */
export type AnyResult<Data extends object> = {
  readonly data?: Partial<Data> | null | undefined;
  readonly error?: unknown;
  readonly errors?: unknown;
  readonly extensions?: unknown;
};

/**
 * Reads the result of one root field by its response name, from a request that `createLedgerFetch` sent, or from
 * `settle`. Each field of a mutation has its own result.
 */
export function readField<Data extends object, Name extends keyof Data & string>(
  result: AnyResult<Data>,
  name: Name,
): FieldResult<NonNullable<Data[Name]>> {
  const member = result.data?.[name];
  if (member != null) return { kind: 'member', member };
  const errors = errorsOf(result);
  const found =
    errors.find(({ path }) => path?.[0] === name) ?? errors.find(({ path }) => path === undefined);
  const error = toError(found ?? missing(result.extensions));
  if (error.code === 'OUTCOME_UNKNOWN') return { kind: 'unknown', error };
  if (error.code !== 'RESPONSE_LOST') return { kind: 'error', error };
  return { kind: 'lost', error, intent: textOf(found?.extensions?.intent) };
}

/** The error of a field for which a result has nothing. A complete settlement has the outcome of every other field. */
function missing(extensions: unknown): GraphqlError {
  const isComplete = isObject(extensions) && extensions.isComplete === true;
  return {
    message: isComplete ? 'This was not executed, and never will be.' : 'No response arrived.',
    extensions: { code: isComplete ? 'IDEMPOTENCY_KEY_SETTLED' : 'RESPONSE_LOST' },
  };
}

/** The errors where a GraphQL response, Apollo Client, urql and Relay have them. */
function errorsOf({ errors, error }: AnyResult<object>): GraphqlError[] {
  const thrown = isObject(error) ? error : {};
  const source = isObject(thrown.source) ? thrown.source.errors : undefined;
  const lists = [errors, thrown.errors, thrown.graphQLErrors, source];
  return lists.flatMap((list) => (Array.isArray(list) ? list : [])).filter(isObject);
}

function toError({ message, extensions = {} }: GraphqlError): LedgerError {
  const { code, requestId, faults } = extensions;
  return {
    code: textOf(code) ?? 'UNKNOWN',
    message: textOf(message) ?? '',
    requestId: textOf(requestId),
    faults: Array.isArray(faults) ? faults.filter(isFault) : [],
  };
}

const isFault = (fault: unknown): fault is Fault =>
  isObject(fault) && Array.isArray(fault.path) && typeof fault.message === 'string';

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
