import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import { core } from 'zod';
import { shorten } from '../lib/short-text.ts';
import { problemFaults, type SentRequest } from './problem-faults.ts';
import { type ServiceStatus, statusRecordIn } from './responses.ts';
import { invalidResponse, UpstreamError } from './upstream-error.ts';

/** A response whose status is not 2xx, with its parsed body. Undefined if there is no body, or none in JSON. */
export type ErrorResponse = { statusCode: number; headers: IncomingHttpHeaders; body: unknown };

/** The messages of refusals that have a meaning of their own for users. */
const messages: Record<number, string> = {
  307: 'The service is at another address.',
  308: 'The service is at another address.',
  404: 'The service did not find what the request names.',
  405: 'The service does not offer this operation.',
  413: 'The request is too large for the service.',
  414: 'A text of the request is too long for the service.',
  415: 'The service does not accept the format of the request.',
};

/**
 * Interprets a response whose status is not 2xx (docs/reference/service-api.md, section 7). Returns the status record by which a
 * refusal says more, or the error. Only a refusal says that the operation did nothing.
 */
export function interpretError(
  request: SentRequest,
  { statusCode: status, headers, body }: ErrorResponse,
): ServiceStatus | UpstreamError {
  const faults = problemFaults(headers, body, request);
  const places = faults.map(({ path }) => core.toDotPath(path) || 'the request');
  const details = { fault: [`status ${status}`, ...new Set(places)].join(', '), status };
  const retryAfterMs = parseRetryAfter(headers['retry-after']);
  const record = statusRecordIn(body);
  if (status === 401) return new UpstreamError('UNAUTHENTICATED', details);
  // Without a delay, a client would repeat the request at once.
  if (status === 429) {
    return new UpstreamError('RATE_LIMITED', { ...details, retryAfterMs: retryAfterMs ?? 1000 });
  }
  // The request was not carried out at this address.
  if (status === 307 || status === 308) {
    const fault = `${details.fault} to ${originOf(headers)}: correct UPSTREAM_BASE_URL`;
    const message = messages[status];
    return new UpstreamError('UPSTREAM_BAD_REQUEST', { ...details, fault, message });
  }
  if (status < 400) return new UpstreamError('UPSTREAM_INVALID_RESPONSE', details);
  if (!isRefusal(status)) {
    const transient = status === 502 || status === 503 || status === 504;
    const message = status >= 500 ? wordsOf(record) : undefined;
    return new UpstreamError('UPSTREAM_FAILED', { ...details, transient, retryAfterMs, message });
  }
  if (record?.status === 0) {
    const message = 'The service rejected the request and reported success.';
    return invalidResponse(`${details.fault} with a record of the status 0`, message, status);
  }
  if (record) return record;
  return new UpstreamError(status === 403 ? 'FORBIDDEN' : 'UPSTREAM_BAD_REQUEST', {
    ...details,
    message: messages[status],
    faults: faults.length > 0 ? faults : undefined,
  });
}

/** Whether a status says that the operation did nothing. */
function isRefusal(status: number): boolean {
  // These are the registered 4xx, without 418. Proxies that no longer wait respond with others, such as 460 and 499. After
  // those, and after 408, the service may still be processing the request.
  return status < 500 && status !== 408 && status !== 418 && status in STATUS_CODES;
}

/** What a status record says of a failure, as a sentence for clients. */
function wordsOf(record: ServiceStatus | null): string | undefined {
  if (!record?.message) return undefined;
  const text = shorten(record.message, 1000);
  return `The service failed and says: "${text}"${/[.!?…]$/.test(text) ? '' : '.'}`;
}

/** The origin of a redirect, for the log. Other parts of an address may be secret. */
const originOf = ({ location = '' }: IncomingHttpHeaders) =>
  URL.parse(location)?.origin ?? 'an unknown address';

/** The longest delay that a client is asked to wait, in milliseconds. By default, outcomes are recorded for as long. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/** Milliseconds until the time in a Retry-After header, which is in whole seconds, or a date that begins with a weekday. */
function parseRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const isDate = /^[a-z]/i.test(header);
  const ms = isDate ? Date.parse(header) - Date.now() : Number(/^\d+$/.exec(header) ?? NaN) * 1000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}
