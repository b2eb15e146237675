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
  /** Whether it says what became of every field, no matter what was sent before. */
  readonly isProof: boolean;
  /** Whether it is of a proxy. It may be about a repeat that the browser sent by itself. */
  readonly isOfProxy: boolean;
  /** The code of its first error. */
  readonly code?: string | undefined;
  readonly response?: Response;
  readonly body?: GraphqlBody;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number;
};

/** Reads a response, of which `text` is the body. */
export function readAnswer(response: Response, text: string): Answer {
  const { status, headers } = response;
  const retryAfterMs = readRetryAfter(headers.get('retry-after'));
  let body = parseBody(text);
  const isOfProxy = body === undefined;
  if (!body) {
    // A 4xx is of a proxy, which did not forward the request. Other responses say nothing about it.
    if (status < 400 || status === 408 || status >= 500) return { ...lost, retryAfterMs };
    const message = `The server responded with HTTP status ${status}.`;
    body = errorBody(`HTTP_${status}`, message, { retryable: status === 429 });
  }
  const { errors = [] } = body;
  const isInProgress =
    headers.get('idempotent-in-progress') === 'true' || text.includes('"code":"IN_PROGRESS"');
  const isRetryable = errors.some(({ extensions }) => extensions?.retryable === true);
  return {
    state: isInProgress ? 'in-progress' : isRetryable ? 'not-sent' : 'final',
    isProof: !isInProgress && errors.every(isOfExecutedField),
    isOfProxy,
    code: errors.length > 0 ? String(errors[0]?.extensions?.code) : undefined,
    response: toResponse(body, { status, headers }),
    body,
    retryAfterMs,
  };
}

export const lost: Answer = { state: 'lost', isProof: false, isOfProxy: false, retryAfterMs: 0 };

/**
 * Whether the gateway executed the field of an error. Its key was free then, so no earlier request took effect.
 * An error without a path is about this request only.
 */
function isOfExecutedField({ path, extensions }: GraphqlError): boolean {
  return path !== undefined && path.length > 0 && extensions?.code !== 'IDEMPOTENCY_UNAVAILABLE';
}

/** A body with one error, which concerns all fields. */
export function errorBody(
  code: string,
  message: string,
  extensions: Readonly<Record<string, unknown>> = {},
): GraphqlBody {
  return { errors: [{ message, extensions: { code, retryable: false, ...extensions } }] };
}

/** Some clients read errors of a 4xx or 5xx only with this media type. */
export function toResponse(body: GraphqlBody, init: ResponseInit = {}): Response {
  const headers = new Headers(init.headers);
  headers.set('content-type', 'application/graphql-response+json; charset=utf-8');
  return new Response(JSON.stringify(body), { ...init, headers });
}

function parseBody(text: string): GraphqlBody | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (!isObject(body)) return undefined;
    const { data, errors = [] } = body;
    const hasErrors = Array.isArray(errors) && errors.every(isObject);
    const isGraphql = hasErrors && (isObject(data) || (data == null && errors.length > 0));
    return isGraphql ? body : undefined;
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads seconds or a date. */
function readRetryAfter(value: string | null): number {
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? 1_000 * Number(value) : Date.parse(value) - Date.now();
  return Math.max(0, ms || 0);
}
