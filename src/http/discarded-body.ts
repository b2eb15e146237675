import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

/** How much of a body is read after the response, in bytes. */
const MAX_BYTES = 33_554_432;
/** How long the connection stays open for it, in milliseconds. */
const LINGER_MS = 5000;

const discarded = new WeakSet<IncomingMessage>();

/**
 * Reads and discards the rest of a body whose request already gets its response. Closing the connection while the
 * client is sending would reset it, and the client would lose the response. So a connection that is to be closed stays
 * open until the body has arrived, the client has closed it, or the time is over.
 */
export function discardBody(message: IncomingMessage): void {
  if (message.complete || discarded.has(message)) return;
  discarded.add(message);
  const { socket } = message;
  // The end of the body would make its reader send a second response.
  message.unpipe();
  for (const event of ['data', 'end', 'error']) message.removeAllListeners(event);
  message.on('error', () => {});
  message.resume();
  // Thousands of chunks may arrive at once, and Node takes microseconds to parse each, so they are no longer parsed.
  if (isChunked(message)) socket.removeAllListeners('data');
  let bytes = 0;
  (isChunked(message) ? socket : message).on('data', ({ length }: Buffer) => {
    bytes += length;
    if (bytes > MAX_BYTES) socket.destroy();
  });
  lingerUntil(message);
}

/** Whether the connection of a body that is discarded has to be closed, because nobody looks for the end of its chunks. */
export function isChunked({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined;
}

/** Replaces what Node calls after a response with `connection: close`. */
function lingerUntil(message: IncomingMessage): void {
  const { socket } = message;
  const close = () => Socket.prototype.destroySoon.call(socket);
  let isLingering = false;
  socket.destroySoon = () => {
    if (message.complete) return close();
    if (isLingering) return;
    isLingering = true;
    socket.end();
    message.once('end', close);
    socket.once('end', () => socket.destroy());
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  };
}
