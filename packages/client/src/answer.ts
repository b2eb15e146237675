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
  /** Whether every field has its outcome, which is that of all requests with the key. */
  readonly isOutcome: boolean;
  /**
   * Whether this attempt did nothing, for certain. Earlier attempts may have. An error that has no path and may
   * pass is not certain: a browser repeats requests by itself, and the error may be that of a repeat.
   */
  readonly isRejection: boolean;
  /** The code of its first error. */
  readonly code?: string | undefined;
  readonly response?: Response;
  readonly body?: GraphqlBody;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number;
};

export const lost: Answer = {
  state: 'lost',
  isOutcome: false,
  isRejection: false,
  retryAfterMs: 0,
};

/** Reads a response, of which `text` is the body. */
export function readAnswer(response: Response, text: string): Answer {
  const { status, headers } = response;
  const retryAfterMs = readRetryAfter(headers.get('retry-after'));
  // The 4xx of a proxy says that it did not forward the request. Its other responses say nothing.
  const isRejectedByProxy = status >= 400 && status < 500 && status !== 408;
  let body = parseBody(text);
  if (!body) {
    if (!isRejectedByProxy) return { ...lost, retryAfterMs };
    const message = `The server responded with HTTP status ${status}.`;
    body = errorBody(`HTTP_${status}`, message, { retryable: status === 429 });
  }
  const { errors = [] } = body;
  const isInProgress =
    headers.get('idempotent-in-progress') === 'true' || /"code":\s*"IN_PROGRESS"/.test(text);
  const isRetryable = errors.some(({ extensions }) => extensions?.retryable === true);
  const isOutcome = errors.length === 0 && hasEveryField(body);
  // A router has errors of its own, which do not say what the gateway did.
  const isOfGateway = isOutcome || (errors.length > 0 && errors.every(isErrorOfGateway));
  const isNotSent = isRetryable && (isOfGateway || isRejectedByProxy);
  return {
    state: isInProgress
      ? 'in-progress'
      : isNotSent
        ? 'not-sent'
        : isOfGateway || isRejectedByProxy
          ? 'final'
          : 'lost',
    isOutcome: isOutcome && !isInProgress,
    isRejection:
      isOfGateway && !isInProgress && errors.every((error) => !isRetryable || hasPath(error)),
    code: errors.length > 0 ? String(errors[0]?.extensions?.code) : undefined,
    response: toResponse(body, { status, headers }),
    body,
    retryAfterMs,
  };
}

const isErrorOfGateway = ({ extensions }: GraphqlError): boolean =>
  typeof extensions?.requestId === 'string';

const hasPath = ({ path }: GraphqlError): boolean => path !== undefined && path.length > 0;

/** Whether no field is null. Clients add `__typename`, which says nothing. */
function hasEveryField({ data }: GraphqlBody): boolean {
  const fields = Object.values(data ?? {});
  return fields.some(isObject) && !fields.includes(null);
}

/** A body with one error, which concerns all fields. */
export function errorBody(
  code: string,
  message: string,
  extensions: Readonly<Record<string, unknown>> = {},
): GraphqlBody {
  return { errors: [{ message, extensions: { code, retryable: false, ...extensions } }] };
}

/** The result of a write of which nothing is known yet. */
export const lostBody = (intent: string, reason?: string): GraphqlBody =>
  errorBody('RESPONSE_LOST', 'It is not known yet what became of this write.', {
    intent,
    ...(reason !== undefined && { reason }),
  });

/** Some clients read errors of a 4xx or 5xx only with this media type. */
export function toResponse(body: GraphqlBody, init: ResponseInit = {}): Response {
  const headers = new Headers(init.headers);
  headers.set('content-type', 'application/graphql-response+json; charset=utf-8');
  return new Response(JSON.stringify(body), { ...init, headers });
}

function parseBody(text: string): GraphqlBody | undefined {
  const body = parseJson(text);
  if (!isObject(body)) return undefined;
  const { data, errors = [] } = body;
  const hasErrors = Array.isArray(errors) && errors.every(isObject);
  const isGraphql = hasErrors && (isObject(data) || (data == null && errors.length > 0));
  return isGraphql ? body : undefined;
}

/** The value of a JSON text, or undefined. */
export function parseJson(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads seconds or a date. */
export function readRetryAfter(value: string | null): number {
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? 1_000 * Number(value) : Date.parse(value) - Date.now();
  return Math.max(0, ms || 0);
}
