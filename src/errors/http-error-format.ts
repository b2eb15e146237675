import { GatewayError, InvalidRequest, internalError } from './gateway-error.ts';

/** Codes and messages for requests that are rejected for reasons of HTTP, by status. */
const malformed = ['BAD_REQUEST', 'The request is malformed.'] as const;
const httpErrors: Record<number, readonly [code: string, message: string]> = {
  400: malformed,
  404: ['NOT_FOUND', 'There is no such path.'],
  405: ['METHOD_NOT_ALLOWED', 'This path does not support the method.'],
  406: ['BAD_REQUEST', 'The Accept header allows none of the supported media types.'],
  408: ['REQUEST_TIMEOUT', 'The request arrived too slowly, and was not executed.'],
  413: ['PAYLOAD_TOO_LARGE', 'The request body is too large.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'The content type must be application/json.'],
  431: malformed,
};

/** An error outside of GraphQL. An error without a status of the table above is unexpected, and its message is masked. */
export type HttpFault = GatewayError | { statusCode?: number };

/** The response for an error outside of GraphQL. It has the same form as that of an error inside. */
export function toHttpError(error: HttpFault, requestId: string | undefined) {
  const described = error instanceof GatewayError ? error : describe(error);
  const { code, message, retryable, retryAfterS, http } = described;
  const { status, headers } = http ?? { status: 400, headers: {} };
  const extensions = { code, requestId, retryable, retryAfterS };
  return { status, headers, code, body: { errors: [{ message, extensions }] } };
}

function describe(error: { statusCode?: number }) {
  const known = httpErrors[error.statusCode ?? 500];
  const [code, general] = known ?? [internalError.code, internalError.message];
  return {
    code,
    message: (error instanceof InvalidRequest && error.message) || general,
    retryable: code === 'REQUEST_TIMEOUT',
    retryAfterS: undefined,
    http: { status: (known && error.statusCode) ?? 500, headers: {} },
  };
}
