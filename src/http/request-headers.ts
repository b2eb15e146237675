import type { FastifyRequest } from 'fastify';
import { InvalidRequest } from '../errors.ts';

/**
 * Rejects headers that a proxy in front may read in another way than the gateway, or that ask for what it
 * does not do: several `Host` headers, transfer codings besides `chunked`, and compressed bodies.
 */
export function checkHeaders({ headers, raw }: FastifyRequest): void {
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
  if (hosts.length > 1) throw new InvalidRequest(400, 'The request has several Host headers.');
  const transfer = headers['transfer-encoding'];
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    throw new InvalidRequest(400, 'The only supported transfer coding is chunked.');
  }
  const content = headers['content-encoding'] ?? 'identity';
  if (content.toLowerCase() !== 'identity') {
    throw new InvalidRequest(415, 'A request body must not be compressed.');
  }
}
