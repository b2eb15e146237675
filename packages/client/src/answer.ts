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

/** What an attempt says about a write. */
export type Answer = {
  /**
   * - `final`: a repeat would get the same
   * - `not-sent`: this request did nothing, and may be sent again
   * - `in-progress`: an earlier request has no outcome yet
   * - `lost`: no response of the gateway
   */
  readonly state: 'final' | 'not-sent' | 'in-progress' | 'lost';
  /**
   * Whether a request may have taken effect of which this does not tell. Undefined: it says only that this attempt did
   * nothing, for certain. An error without a path is not certain: a browser repeats requests by itself, and the error
   * may be that of a repeat.
   */
  readonly isOpen?: boolean | undefined;
  readonly body: GraphqlBody;
  /** The status and the headers of the response. */
  readonly init?: { readonly status: number; readonly headers: Headers };
};

export const lost: Answer = { state: 'lost', isOpen: true, body: {} };

/** Reads a response, of which `text` is the body. */
export function readAnswer({ status, headers }: Response, text: string): Answer {
  // The 4xx of a proxy, except for 408, says that it did not forward the request. Its other responses say nothing.
  const isRejectedByProxy = /^4(?!08)/.test(`${status}`);
  const body =
    parseBody(text) ??
    (isRejectedByProxy ? errorBody(`HTTP_${status}`, { retryable: status === 429 }) : {});
  const { errors = [] } = body;
  const isInProgress =
    headers.has('idempotent-in-progress') || /"code":\s*"IN_PROGRESS"/.test(text);
  const isRetryable = errors.some(({ extensions }) => extensions?.retryable);
  const isOutcome =
    !errors.length && hasField(body) && !Object.values(body.data ?? {}).includes(null);
  // A router has errors of its own, which do not say what the gateway did.
  const isOfGateway =
    isOutcome || (errors.length > 0 && errors.every(({ extensions }) => extensions?.requestId));
  const isCertain = isOfGateway && !isInProgress && errors.every(({ path }) => path?.length);
  return {
    state: isInProgress
      ? 'in-progress'
      : !isOfGateway && !isRejectedByProxy
        ? 'lost'
        : isRetryable
          ? 'not-sent'
          : 'final',
    isOpen: isCertain ? (isOutcome ? false : undefined) : true,
    body,
    init: { status, headers },
  };
}

/** Whether a field has an outcome. Clients add `__typename`, which says nothing. */
export const hasField = ({ data }: GraphqlBody): boolean =>
  Object.values(data ?? {}).some(isObject);

/** The code of the first error. */
export const codeOf = ({ errors }: GraphqlBody): string | undefined =>
  errors?.[0] && String(errors[0].extensions?.code);

/** A body with one error, which concerns all fields. */
export const errorBody = (
  code: string,
  extensions: Readonly<Record<string, unknown>> = {},
): GraphqlBody => ({
  errors: [{ message: code, extensions: { code, retryable: false, ...extensions } }],
});

/** The result of a write of which nothing is known yet. */
export const lostBody = (intent: string, reason?: string): GraphqlBody =>
  errorBody('RESPONSE_LOST', { intent, reason });

/** Some clients read errors of a 4xx or 5xx only with this media type. */
export const toResponse = (body: GraphqlBody, init: ResponseInit = {}): Response =>
  new Response(
    JSON.stringify(body),
    withHeaders(init, { 'content-type': 'application/graphql-response+json' }),
  );

function parseBody(text: string): GraphqlBody | undefined {
  const body = parseJson(text);
  if (!isObject(body)) return undefined;
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

/** How long the server asks to wait, in milliseconds, or until when. */
export function readRetryAfter(headers: Headers | undefined): number {
  const value = headers?.get('retry-after') ?? '';
  return 1000 * Number(value) || Date.parse(value) - Date.now() || 0;
}
