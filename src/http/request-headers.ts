import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { InvalidRequest } from '../errors/gateway-error.ts';
import { isRepeated } from '../lib/repeated-header.ts';

/**
 * The error for headers that a proxy in front may read in another way than the gateway, or that ask for what it
 * does not do, if there are any: not exactly one valid `Host` header, transfer codings besides `chunked`, and
 * compressed bodies.
 */
export function findInvalidHeader(request: FastifyRequest): InvalidRequest | undefined {
  const { headers, raw } = request;
  if (isRepeated(raw, 'host')) {
    return new InvalidRequest(400, 'The request has several Host headers.');
  }
  if (!hasValidHost(request))
    return new InvalidRequest(400, 'The request has no valid Host header.');
  const transfer = headers['transfer-encoding'];
  if (transfer !== undefined && raw.httpVersion === '1.0') {
    return new InvalidRequest(400, 'HTTP/1.0 has no transfer codings.');
  }
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    return new InvalidRequest(400, 'The only supported transfer coding is chunked.');
  }
  const content = headers['content-encoding'] ?? 'identity';
  if (content.toLowerCase() !== 'identity') {
    return new InvalidRequest(415, 'A request body must not be compressed.');
  }
  return undefined;
}

/** The headers with these names; undefined if there are none. */
export function pickHeaders(
  headers: IncomingHttpHeaders,
  names: readonly string[],
): Record<string, string> | undefined {
  const found = names.filter((name) => headers[name] !== undefined);
  if (found.length === 0) return undefined;
  return Object.fromEntries(found.map((name) => [name, String(headers[name])]));
}

/** Nearly all requests have the same one, which is parsed once. */
let lastValidHost: string | undefined;

/** Health checks of load balancers use HTTP/1.0, which has no such header. */
function hasValidHost({ headers: { host }, raw, routeOptions }: FastifyRequest): boolean {
  if (host !== undefined) {
    if (host !== lastValidHost && !URL.canParse(`http://${host}`)) return false;
    lastValidHost = host;
    return true;
  }
  return raw.httpVersion === '1.0' && routeOptions.url !== '/graphql';
}

/** A request id of the client's; any other is replaced. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

/** The request id that the client gave, or a new one. */
export function requestIdOf({ 'x-request-id': given }: IncomingHttpHeaders): string {
  return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
}
