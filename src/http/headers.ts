import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { type GatewayError, httpError } from '../errors/gateway-error.ts';
import { memoLatest } from '../lib/memo.ts';

/** The headers of every response: an API must not be framed, sniffed, cached or embedded. The page of the explorer has a policy of its own. */
export const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

export const JSON_TYPE = 'application/json; charset=utf-8';
const GRAPHQL_RESPONSE_TYPE = 'application/graphql-response+json; charset=utf-8';

const preferredType = memoLatest((accept) =>
  new Negotiator({ headers: { accept } }).mediaType([JSON_TYPE, GRAPHQL_RESPONSE_TYPE]),
);

/** The media type of results and errors that the `Accept` header prefers. Undefined if it allows none. */
export function acceptedType({ accept }: IncomingHttpHeaders): string | undefined {
  if (!accept) return JSON_TYPE;
  // The time to parse a header grows with its length.
  return accept.length > 500 ? undefined : preferredType(accept);
}

/**
 * Finds headers that a proxy in front may interpret in another way than the gateway, or that the gateway does not support:
 * none or several `Host` headers, an invalid one, a transfer coding other than `chunked`, and a compressed body. Returns the
 * error, or undefined.
 */
export function findInvalidHeader(request: FastifyRequest): GatewayError | undefined {
  const { headers, raw } = request;
  const badRequest = (message: string) => httpError(400, message);
  if (!hasValidHost(request)) return badRequest('The request needs exactly one valid Host header.');
  const transfer = headers['transfer-encoding'];
  if (transfer !== undefined && raw.httpVersion === '1.0') {
    return badRequest('HTTP/1.0 has no transfer codings.');
  }
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    return badRequest('The only supported transfer coding is chunked.');
  }
  const content = headers['content-encoding'] ?? 'identity';
  if (content.toLowerCase() !== 'identity') {
    return httpError(415, 'A request body must not be compressed.');
  }
  return undefined;
}

/** Picks the headers with these names. Undefined if the request has none of them. */
export function pickHeaders(headers: IncomingHttpHeaders, names: readonly string[]) {
  const found = names.filter((name) => headers[name] !== undefined);
  if (found.length === 0) return undefined;
  return Object.fromEntries(found.map((name) => [name, String(headers[name])]));
}

/** Several headers are joined by a comma and a space. */
const isHost = memoLatest((host) => !host.includes(' ') && URL.canParse(`http://${host}`));

/** Whether a request has a valid `Host` header, or needs none: load balancers use HTTP/1.0 for health checks. */
function hasValidHost({ headers: { host }, raw, routeOptions }: FastifyRequest): boolean {
  if (host !== undefined) return isHost(host);
  return raw.httpVersion === '1.0' && routeOptions.url !== '/graphql';
}

/** The request id that the client gave, if it is valid, or a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : crypto.randomUUID();
}
