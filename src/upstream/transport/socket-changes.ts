import type { Duplex } from 'node:stream';

/**
 * Keeps a socket readable after a write has failed. A service may reject a long request before it has read all of it, and close
 * the connection. The rest can then not be written, and Node would destroy the socket together with the response that has
 * already arrived. Here the failed write does not end, so nothing more is written, and the socket ends when the service's side
 * of it does: after the response, or without one.
 */
export function readAfterFailedWrite(socket: Duplex): void {
  const { _write: write, _writev: writev } = socket;
  socket._write = (chunk, encoding, callback) =>
    write.call(socket, chunk, encoding, (error) => error || callback());
  if (!writev) return;
  socket._writev = (chunks, callback) =>
    writev.call(socket, chunks, (error) => error || callback());
}

/** The parser of undici on a socket: what takes the bytes that arrive, and what is called for the head of each response. */
type Parser = {
  execute(bytes: Buffer): void;
  onHeadersComplete(status: number, ...rest: unknown[]): unknown;
};

const isParser = (value: unknown): value is Parser =>
  typeof value === 'object' && value !== null && 'execute' in value && 'onHeadersComplete' in value;

/**
 * Lets undici accept two responses that HTTP allows although no request has asked for them. Call this when undici has taken over
 * the socket, with a function that returns whether no request waits for its response on it.
 *
 * - `100 Continue` is skipped, as undici skips other interim responses: its parser closes the connection for a 100 alone, so it
 *   is told of a 102.
 * - `408 Request Timeout` on an idle connection ends it, because some servers send one before they close it. Undici would report
 *   it like a second response to the last request.
 * - Line breaks on an idle connection end it, too. Undici would skip them in silence.
 */
export function acceptUnrequested(socket: Duplex, isIdle: () => boolean): void {
  const properties = Object.getOwnPropertySymbols(socket).map((symbol) =>
    Reflect.get(socket, symbol),
  );
  const parser: Parser | undefined = properties.find(isParser);
  if (!parser) return;
  const execute = parser.execute.bind(parser);
  const onHeadersComplete = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, ...rest) =>
    onHeadersComplete(status === 100 ? 102 : status, ...rest);
  parser.execute = (bytes) => {
    if (mayEnd.has(bytes[9]) && isIdle() && ends.test(bytes.toString('latin1'))) socket.destroy();
    else execute(bytes);
  };
}

/** The tenth byte of what ends an idle connection. It is checked first, because nearly all responses have another one. */
const mayEnd = new Set([0x34, 0x0a, 0x0d, undefined]);
const ends = /^(HTTP\/1\.[01] 408|[\r\n]+$)/;
