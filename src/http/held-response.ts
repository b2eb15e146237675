import { once } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WaitGroup } from '../lib/wait-group.ts';

/** A longer response, in characters or compressed bytes, is sent as bytes, and the shutdown waits for it. */
const LONG_RESPONSE = 16_384;
/** How long a client may take to receive a response, in milliseconds: it occupies memory and a place. */
const MAX_SENDING_MS = 60_000;
/** How long it may take while others need that memory or the place, in milliseconds. */
const UNREAD_MS = 1000;

/**
 * From now on the request holds only its response. A long one becomes bytes, which avoids copies of the text, and
 * counts as `sending` until the client has it. Its connection may be closed if others need that memory or the place,
 * unless it tells the outcome of a write.
 */
export function holdResponse(
  { holding, record, raw: { socket } }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  sending: WaitGroup,
): unknown {
  const whole = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : '';
  const isLong = whole.length > LONG_RESPONSE;
  const body = isLong && typeof whole === 'string' ? Buffer.from(whole) : whole;
  holding?.become(isLong ? body.length : 0);
  if (!socket.writable) return payload;
  // A short one too: it may wait for what the client has not read of earlier ones.
  const timer = setTimeout(() => socket.destroy(), MAX_SENDING_MS);
  reply.raw.once('close', () => clearTimeout(timer));
  if (record.writes.length === 0) {
    const since = performance.now();
    holding?.waitForClient({
      isOverdue: () => performance.now() - since >= UNREAD_MS,
      disconnect: () => socket.destroy(),
    });
  }
  if (!isLong) return payload;
  void sending.track(once(reply.raw, 'close'));
  return body;
}
