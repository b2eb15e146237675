import { once } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WaitGroup } from '../lib/wait-group.ts';

/** A longer response, in characters or compressed bytes, is sent as bytes, and the shutdown waits for it. */
const LONG_RESPONSE = 16_384;
/** The memory for a response, in multiples of its length: it exists as text and as bytes. */
const MEMORY_PER_BYTE = 2;
/** How long a client may take to receive a long response, in milliseconds: it occupies memory. */
const MAX_SENDING_MS = 60_000;

/**
 * From now on the request holds only its response. A long one becomes bytes, which avoids copies of the text, and
 * counts as `sending` until the client has it. Its connection may be closed if others need that memory, unless it tells
 * the outcome of a write.
 */
export function holdResponse(
  { holding, record, raw: { socket } }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  sending: WaitGroup,
): unknown {
  const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
  holding?.become(isText ? payload.length * MEMORY_PER_BYTE : 0);
  const isLong = isText && payload.length > LONG_RESPONSE;
  if (!isLong || !socket.writable) return payload;
  const timer = setTimeout(() => socket.destroy(), MAX_SENDING_MS);
  void sending.track(once(reply.raw, 'close').then(() => clearTimeout(timer)));
  if (record.writes.length === 0) {
    holding?.responseSent(() => {
      holding.close();
      socket.destroy();
    });
  }
  return typeof payload === 'string' ? Buffer.from(payload) : payload;
}
