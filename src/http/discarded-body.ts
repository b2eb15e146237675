import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { TinyParts } from '../lib/tiny-parts.ts';

/** How much of a body is read after the response, in bytes. */
const MAX_BYTES = 33_554_432;
/** How long the connection stays open for it, in milliseconds. */
const LINGER_MS = 5000;

/**
 * Reads and discards the rest of a body whose request already gets its response. Closing the connection while the
 * client is sending would reset it, and the client would lose the response. So a connection that is to be closed stays
 * open until the body has arrived, the client has closed it, or the time is over.
 */
export function discardBody(message: IncomingMessage): void {
  if (message.complete) return;
  // The end of the body would make its reader send a second response.
  message.unpipe();
  for (const event of ['data', 'end', 'error']) message.removeAllListeners(event);
  let bytes = 0;
  const tiny = new TinyParts();
  message.on('data', ({ length }: Buffer) => {
    bytes += length;
    if (bytes > MAX_BYTES || tiny.isTooMany(length)) message.socket.destroy();
  });
  message.on('error', () => {});
  message.resume();
  lingerUntil(message);
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
