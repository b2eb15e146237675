import { subscribe } from 'node:diagnostics_channel';

/** The header of a request that says that it has no content. A request of undici may have it, too. */
export const emptyContent = { 'content-length': '0' };

/**
 * undici leaves this header out of a GET without saying so. It is put back here, by the hook through which undici lets tracing
 * tools add headers. The reason: HTTP clients of .NET, and so proxies such as YARP, repeat a GET without content when its
 * connection breaks, but never one with this header (docs/decisions/0029).
 */
subscribe('undici:request:create', (message) => {
  const { request }: { request?: unknown } = Object(message);
  const { method, contentLength, headers }: Record<string, unknown> = Object(request);
  const isEmpty = method === 'GET' && contentLength === 0 && Array.isArray(headers);
  if (isEmpty && !headers.includes('content-length')) headers.push('content-length', '0');
});
