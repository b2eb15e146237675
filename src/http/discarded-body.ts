import type { IncomingMessage } from 'node:http';

/** How much of a body is read after the response, in bytes. */
const MAX_BYTES = 33_554_432;

/**
 * Reads and discards the rest of a body whose request already gets its response. Closing the connection while the
 * client is sending would reset it, and the client would lose the response.
 */
export function discardBody(message: IncomingMessage): void {
  if (message.complete) return;
  // The end of the body would make its reader send a second response.
  message.unpipe();
  for (const event of ['data', 'end', 'error']) message.removeAllListeners(event);
  let bytes = 0;
  message.on('data', ({ length }: Buffer) => {
    bytes += length;
    if (bytes > MAX_BYTES) message.socket.destroy();
  });
  message.on('error', () => {});
  message.resume();
}
