import type { Intent } from './intent.ts';
import { errorBody, type GraphqlError, isObject, textOf } from './response.ts';

/** The codes of errors: those of this package, then those of the gateway, which may add more. */
export type LedgerErrorCode =
  | 'RESPONSE_LOST'
  | 'OUTCOME_UNKNOWN'
  | 'KEY_NOT_CONFIRMED'
  | 'SIGN_IN_FAILED'
  | 'OTHER_USER'
  | 'OFFLINE'
  | 'CANCELLED'
  | 'INTENT_REUSED'
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
  | 'OPERATION_STOPPED'
  | 'RATE_LIMITED'
  | 'AUTH_UNAVAILABLE'
  | 'OVERLOADED'
  | 'OPERATION_LIMIT_EXCEEDED'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'IDEMPOTENCY_KEY_SETTLED'
  | 'IDEMPOTENCY_UNAVAILABLE'
  | 'QUERY_NOT_IN_SAFELIST'
  | 'PERSISTED_QUERY_NOT_IN_LIST'
  | 'REQUEST_TIMEOUT'
  | 'CLIENT_DISCONNECTED'
  | 'PAYLOAD_TOO_LARGE'
  | 'INTERNAL_SERVER_ERROR'
  | (string & {});

/** A fault of the input. Its path begins with the name of the argument. */
export type Fault = { readonly path: readonly (string | number)[]; readonly message: string };

export type LedgerError = {
  readonly code: LedgerErrorCode;
  readonly message: string;
  /** With this id, operators find the request in the log. */
  readonly requestId: string | undefined;
  readonly faults: readonly Fault[];
  /** How many seconds to wait before the write is tried again, if the gateway says so. */
  readonly retryAfterS?: number | undefined;
  /** Why the outcome cannot be asked for now. For example, `OTHER_USER`: the intent belongs to another user. */
  readonly reason: LedgerErrorCode | undefined;
};

/** What became of one root field. */
export type FieldResult<Member> =
  /** The field has an outcome, which is a member of its union. */
  | { readonly kind: 'member'; readonly member: Member; readonly error?: undefined }
  /** The field did nothing. */
  | { readonly kind: 'error'; readonly error: LedgerError; readonly member?: undefined }
  /** The outcome is not known yet. `settle` can find out with this intent. */
  | {
      readonly kind: 'lost';
      readonly error: LedgerError;
      readonly intent: Intent;
      readonly member?: undefined;
    }
  /** Nobody can know whether the field took effect. */
  | { readonly kind: 'unknown'; readonly error: LedgerError; readonly member?: undefined };

/** The result of any GraphQL client, or `{ error }` with what it throws. */
export type AnyResult<Data extends object> = {
  readonly data?: Partial<Data> | null | undefined;
  readonly error?: unknown;
  readonly errors?: unknown;
  readonly extensions?: unknown;
};

/**
 * Reads the result of one root field by its response name. The response is that of a request that `createLedgerFetch`
 * sent, or that of `settle`. Each field of a mutation has its own result. Pass the `intent` of the request, so that a
 * request that was aborted is `lost`, and not `unknown`.
 */
export function readField<Data extends object, Name extends keyof Data & string>(
  result: AnyResult<Data>,
  name: Name,
  intent?: Intent,
): FieldResult<NonNullable<Data[Name]>> {
  const responses = responsesOf(result);
  const member = responses.map(({ data }) => Object(data)[name]).find(Boolean);
  // Data inside an error has the same type as data of a result.
  if (member) return { kind: 'member', member };
  const errors: GraphqlError[] = responses
    .flatMap(({ errors, graphQLErrors }) => [errors, graphQLErrors].flat())
    .filter(isObject);
  const found = errors.find(({ path }) => path?.[0] === name) ?? errors.find(({ path }) => !path);
  const error = toError(found ?? {});
  const isLost = error.code === 'RESPONSE_LOST';
  const sent = textOf(found?.extensions?.intent) ?? intent;
  if (isLost && sent) return { kind: 'lost', error, intent: sent };
  const isUnknown = isLost || /^(OUTCOME_UNKNOWN|KEY_NOT_CONFIRMED)$/.test(error.code);
  return { kind: isUnknown ? 'unknown' : 'error', error };
}

/**
 * Where a response may be: in the result itself, or in the error that a client throws (Apollo Client and urql, Relay,
 * graphql-request). The last two items are for a field that none of them contains: what a settlement says of such a field in its
 * extensions, or that its outcome is not known yet.
 */
function responsesOf(result: AnyResult<object>): Record<string, unknown>[] {
  const { source, response }: Record<string, unknown> = Object(result.error);
  const others = [result.extensions, errorBody('RESPONSE_LOST')];
  return [result, result.error, source, response, ...others].filter(isObject);
}

function toError({ message, extensions }: GraphqlError): LedgerError {
  // Some routers write null for what they leave out.
  const { code, requestId, faults, reason, retryAfterS }: Record<string, unknown> =
    Object(extensions);
  return {
    // Only the gateway and this package say with a code that nothing was done. The error may be of any library of the app.
    code: textOf(code) ?? 'RESPONSE_LOST',
    message: textOf(message) ?? '',
    requestId: textOf(requestId),
    faults: [faults].flat().filter(isFault),
    reason: textOf(reason),
    retryAfterS: Number(retryAfterS) || undefined,
  };
}

const isFault = (fault: unknown): fault is Fault =>
  isObject(fault) && Array.isArray(fault.path) && typeof fault.message === 'string';
