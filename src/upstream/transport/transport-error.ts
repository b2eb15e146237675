import type { IncomingHttpHeaders } from 'node:http';
import { invalidResponse, type Sent, UpstreamError } from '../upstream-error.ts';

const invalidHttp = /^HPE_|^HTTPParserError$|^UND_ERR_(RES_CONTENT_LENGTH|HEADERS_OVERFLOW)/;

/** Translates an error of the connection. Nothing of the request gets into the result. */
export function connectionError(error: unknown, sent: Sent): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const fault = faultOf(error);
  const isInvalid = invalidHttp.test(fault);
  // A response that began and broke off, or that is not HTTP, is an invalid response.
  const code = sent === 'yes' || isInvalid ? 'UPSTREAM_INVALID_RESPONSE' : 'UPSTREAM_UNAVAILABLE';
  return new UpstreamError(code, { fault, transient: !isInvalid });
}

/** The code of an error, or its name: the two properties that hold nothing of a request. */
export function faultOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'name' in error && typeof error.name === 'string' ? error.name : 'unknown';
}

/** The error for a body of more than so many bytes. */
export function tooLarge(maxBytes: number): UpstreamError {
  return invalidResponse(`larger than ${maxBytes} bytes`);
}

/** Throws unless the status is 2xx (docs/service-api.md, section 7). */
export function throwForStatus(status: number, headers: IncomingHttpHeaders): void {
  if (status >= 200 && status <= 299) return;
  const details = { fault: `status ${status}`, status };
  if (status >= 500) {
    throw new UpstreamError('UPSTREAM_FAILED', {
      ...details,
      transient: status === 502 || status === 503 || status === 504,
      retryAfterMs: parseRetryAfter(headers['retry-after']),
    });
  }
  if (status === 401) throw new UpstreamError('UNAUTHENTICATED', details);
  if (status === 403) throw new UpstreamError('FORBIDDEN', details);
  // The service may still be processing the request that it no longer waits for.
  if (status === 408) throw new UpstreamError('UPSTREAM_TIMEOUT', details);
  if (status >= 400) throw new UpstreamError('UPSTREAM_BAD_REQUEST', details);
  throw new UpstreamError('UPSTREAM_INVALID_RESPONSE', details);
}

/** Milliseconds until the time in a Retry-After header, which is in seconds or a date. */
function parseRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
