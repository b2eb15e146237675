import type { HandlerFunction, Options } from 'got';
import { type Connection, Exchange, type RawResponse } from './exchange.ts';

/**
 * A got handler that sends the request through undici instead of got's own transport, which costs
 * several times as much (docs/decisions/0009). It sends exactly once, follows no redirect, and ends when the
 * request's signal is aborted. A request that has no connection within `timeout.connect` milliseconds is not
 * sent. Rejects with an UpstreamError.
 */
export function createUndiciHandler(
  connect: () => Connection | Promise<Connection>,
  maxResponseBytes: number,
): HandlerFunction {
  const send = async ({ url, method, headers, body, signal, timeout }: Options) => {
    const { origin, pathname, search } = url instanceof URL ? url : new URL(String(url));
    const sendBy = performance.now() + (timeout.connect ?? Infinity);
    const connection = await connect();
    return new Promise<RawResponse>((resolve, reject) => {
      const limits = { maxBytes: maxResponseBytes, sendBy, signal };
      new Exchange(connection, limits, resolve, reject).dispatch({
        origin,
        path: pathname + search,
        method: method === 'POST' ? 'POST' : 'GET',
        headers,
        body: typeof body === 'string' ? body : null,
        reset: connection.reset,
      });
    });
  };
  // got declares its own response as the result; this one has the part of it that is read.
  return (options) => send(options) as Promise<never>;
}
