import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
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
  const message = `The response of the service is longer than ${maxBytes} bytes, the limit of this gateway (UPSTREAM_MAX_RESPONSE_BYTES).`;
  return invalidResponse(`larger than ${maxBytes} bytes`, message);
}

/** The error for a status that is not 2xx (docs/reference/service-api.md, section 7). */
export function statusError(status: number, headers: IncomingHttpHeaders): UpstreamError {
  const details = { fault: `status ${status}`, status };
  const retryAfterMs = parseRetryAfter(headers['retry-after']);
  if (status >= 500) {
    const transient = status === 502 || status === 503 || status === 504;
    return new UpstreamError('UPSTREAM_FAILED', { ...details, transient, retryAfterMs });
  }
  if (status === 401) return new UpstreamError('UNAUTHENTICATED', details);
  if (status === 403) return new UpstreamError('FORBIDDEN', details);
  // Without a delay, a client would repeat the request at once.
  if (status === 429) {
    return new UpstreamError('RATE_LIMITED', { ...details, retryAfterMs: retryAfterMs ?? 1000 });
  }
  if (status < 400) return new UpstreamError('UPSTREAM_INVALID_RESPONSE', details);
  // These are the registered 4xx, without 418. Proxies that no longer wait respond with others, such as 460 and 499. After
  // those, and after 408, the service may still be processing the request.
  const isRefusal = status !== 408 && status !== 418 && status in STATUS_CODES;
  return new UpstreamError(isRefusal ? 'UPSTREAM_BAD_REQUEST' : 'UPSTREAM_FAILED', details);
}

/** The longest delay that a client is asked to wait, in milliseconds. By default, outcomes are recorded for as long. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/** Milliseconds until the time in a Retry-After header, which is in seconds or a date. */
function parseRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}
