import { withHeaders } from './intent.ts';

/** The body of a GraphQL response. */
export type GraphqlBody = {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly GraphqlError[];
  readonly extensions?: Readonly<Record<string, unknown>>;
};

export type GraphqlError = {
  readonly message?: unknown;
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>>;
};

/** What the response to one attempt says about a write. */
export type AttemptResult = {
  /**
   * - `final`: the same request would get the same response again
   * - `not-sent`: this request did nothing, and may be sent again
   * - `in-progress`: an earlier request has no outcome yet
   * - `lost`: no response of the gateway arrived
   */
  readonly state: 'final' | 'not-sent' | 'in-progress' | 'lost';
  /**
   * Whether a request may have taken effect whose outcome this response does not contain. Undefined if it is certain only
   * that this attempt did nothing. An error without a path does not make that certain, because a browser repeats requests
   * by itself, and the error may be the response to such a repeat.
   */
  readonly isOpen?: boolean | undefined;
  readonly body: GraphqlBody;
  /** The status and the headers of the response. */
  readonly init?: { readonly status: number; readonly headers: Headers };
};

export const lost: AttemptResult = { state: 'lost', isOpen: true, body: {} };

/** Reads a response, whose body is `text`. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: with more functions, the package exceeded its size limit.
export function readResponse({ status, headers }: Response, text: string): AttemptResult {
  // A 4xx of a proxy, except for 408, means that it did not forward the request. Its other responses prove nothing.
  const isRejectedByProxy = /^4(?!08)/.test(`${status}`);
  const body =
    parseBody(text) ??
    (isRejectedByProxy ? errorBody(`HTTP_${status}`, { retryable: status === 429 }) : {});
  const { errors = [] } = body;
  const isInProgress =
    headers.has('idempotent-in-progress') || /"code":\s*"IN_PROGRESS"/.test(text);
  // Whoever rejects a document does not execute it.
  const isRejected = isRejectedByProxy || /VALIDATION/.test(`${codeOf(body)}`);
  const isRetryable = errors.some(({ extensions }) => extensions?.retryable);
  const isOutcome =
    !errors.length && hasField(body) && !Object.values(body.data ?? {}).includes(null);
  // The errors of a router do not say what the gateway did.
  const isOfGateway =
    isOutcome || (errors.length > 0 && errors.every(({ extensions }) => extensions?.requestId));
  const isCertain = isOfGateway && !isInProgress && errors.every(({ path }) => path?.length);
  return {
    state: isInProgress
      ? 'in-progress'
      : !isOfGateway && !isRejected
        ? 'lost'
        : !isRetryable
          ? 'final'
          : hasField(body)
            ? 'lost'
            : 'not-sent',
    isOpen: isCertain ? (isOutcome ? false : undefined) : true,
    body,
    init: { status, headers },
  };
}

/** Whether a field has an outcome. `__typename` is none: clients add it to the selection. */
export const hasField = ({ data }: GraphqlBody): boolean =>
  Object.values(data ?? {}).some(isObject);

/** Whether a GraphQL response arrived, even if it is an error of a router. */
export const isAnswered = ({ data, errors }: GraphqlBody): boolean => !!(data ?? errors);

/** The code of the first error. Errors of a router may have none. */
export const codeOf = ({ errors }: GraphqlBody): string | undefined =>
  textOf(errors?.[0]?.extensions?.code);

/** A body with one error, which concerns all fields. */
export const errorBody = (
  code: string,
  extensions: Readonly<Record<string, unknown>> = {},
  message = code,
): GraphqlBody => ({
  errors: [{ message, extensions: { code, retryable: false, ...extensions } }],
});

/** The body for a write whose outcome is not known yet. */
export const lostBody = (intent: string, reason?: string): GraphqlBody =>
  errorBody('RESPONSE_LOST', { intent, reason });

/** Some clients read errors of a 4xx or 5xx only with this media type. */
export const toResponse = (body: GraphqlBody, init: ResponseInit = {}): Response =>
  new Response(
    JSON.stringify(body),
    withHeaders(init, { 'content-type': 'application/graphql-response+json' }),
  );

function parseBody(text: string): GraphqlBody | undefined {
  const body = Object(parseJson(text));
  const { data, errors = [] } = body;
  const hasErrors = Array.isArray(errors) && errors.every(isObject);
  return hasErrors && isObject(data ?? errors[0]) ? body : undefined;
}

/** The value of a JSON text, or undefined. */
export const parseJson = (text: string | null | undefined): unknown =>
  tryTo(() => JSON.parse(`${text}`));

/** What `action` returns, or undefined if it fails. */
export function tryTo<Value>(action: () => Value): Value | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  Object(value) === value && !Array.isArray(value);

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** How long the server asks the client to wait, in milliseconds. The header has seconds or a date. */
export function readRetryAfter(headers: Headers | undefined): number {
  const value = headers?.get('retry-after') ?? '';
  return 1000 * Number(value) || Date.parse(value) - Date.now() || 0;
}

/** How long the errors of a response ask the client to wait, in milliseconds. Routers keep them, and drop the header. */
export const retryAfterMs = ({ errors = [] }: GraphqlBody): number =>
  Math.max(0, ...errors.map(({ extensions }) => 1000 * Number(extensions?.retryAfterS) || 0));
