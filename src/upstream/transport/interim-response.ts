import type { Duplex } from 'node:stream';

/** The parser of undici on a socket: what it calls when the head of a response, also of an interim one, is complete. */
type Parser = { onHeadersComplete(status: number, ...rest: unknown[]): unknown };

const isParser = (value: unknown): value is Parser =>
  typeof value === 'object' && value !== null && 'onHeadersComplete' in value;

/**
 * Lets undici skip a `100 Continue` that nobody asked for, as HTTP demands, and as undici skips other interim responses: its
 * parser closes the connection for a 100 alone, so it is told of a 102. Call this when undici has taken over the socket.
 */
export function skipContinue(socket: Duplex): void {
  const properties = Object.getOwnPropertySymbols(socket).map((symbol) =>
    Reflect.get(socket, symbol),
  );
  const parser: Parser | undefined = properties.find(isParser);
  if (!parser) return;
  const onHeadersComplete = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, ...rest) =>
    onHeadersComplete(status === 100 ? 102 : status, ...rest);
}
