import type { FastifyRequest } from 'fastify';
import { InvalidRequest } from '../errors.ts';

/**
 * The error for headers that a proxy in front may read in another way than the gateway, or that ask for what it
 * does not do, if there are any: several `Host` headers, transfer codings besides `chunked`, and compressed bodies.
 */
export function findInvalidHeader({ headers, raw }: FastifyRequest): InvalidRequest | undefined {
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  if (hosts.length > 1) return new InvalidRequest(400, 'The request has several Host headers.');
  const transfer = headers['transfer-encoding'];
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    return new InvalidRequest(400, 'The only supported transfer coding is chunked.');
  }
  const content = headers['content-encoding'] ?? 'identity';
  if (content.toLowerCase() !== 'identity') {
    return new InvalidRequest(415, 'A request body must not be compressed.');
  }
  return undefined;
}
