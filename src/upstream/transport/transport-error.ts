import { invalidResponse, type Sent, UpstreamError } from '../upstream-error.ts';

const invalidHttp = /^HPE_|^HTTPParserError$|^UND_ERR_(RES_CONTENT_LENGTH|HEADERS_OVERFLOW)/;

/** Translates an error of the connection. The result contains nothing of the request. */
export function connectionError(error: unknown, sent: Sent): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const fault = faultOf(error);
  const isInvalid = invalidHttp.test(fault);
  // A response that broke off, or that is not HTTP, is an invalid response.
  const code = sent === 'yes' || isInvalid ? 'UPSTREAM_INVALID_RESPONSE' : 'UPSTREAM_UNAVAILABLE';
  return new UpstreamError(code, { fault, transient: !isInvalid });
}

/** The code of an error, or its name. These two properties contain nothing of a request. */
export function faultOf(error: unknown): string {
  const { code, name }: { code?: unknown; name?: unknown } = Object(error);
  return [code, name].find((text) => typeof text === 'string') ?? 'unknown';
}

/** The error for a response that is longer than UPSTREAM_MAX_RESPONSE_BYTES. Its client learns what to do about it. */
export function tooLong(maxBytes: number): UpstreamError {
  const message = `The response of the service is longer than ${maxBytes} bytes, which is more than this gateway reads (UPSTREAM_MAX_RESPONSE_BYTES).`;
  return invalidResponse(`larger than ${maxBytes} bytes (UPSTREAM_MAX_RESPONSE_BYTES)`, message);
}
