import type { Duplex } from 'node:stream';

type WriteCallback = (error?: Error | null) => void;

/**
 * Keeps a socket readable after a write has failed. A service may reject a long request before it has read all of it, and close
 * the connection. The rest can then not be written, and Node would destroy the socket together with the response that has
 * already arrived. Here the failed write does not end, so nothing more is written, and the socket ends when the service's side
 * of it does: after the response, or without one.
 */
export function readAfterFailedWrite(socket: Duplex): void {
  const { _write: write, _writev: writev } = socket;
  const ignoreError = (callback: WriteCallback) => (error?: Error | null) => {
    if (!error) callback();
  };
  socket._write = (chunk, encoding, callback) =>
    write.call(socket, chunk, encoding, ignoreError(callback));
  if (!writev) return;
  socket._writev = (chunks, callback) => writev.call(socket, chunks, ignoreError(callback));
}
