import { text } from 'node:stream/consumers';
import { PROBE } from '../packages/client/src/known-intent.ts';
import { startHttpServer } from './http-server.ts';

/** What a proxy removes from each request. */
type Removed = { readonly header?: boolean; readonly extensions?: boolean };

/**
 * Starts a proxy in front of a GraphQL server that removes the idempotency key from requests, and can lose the responses to
 * writes: the server gets the request, and the client gets a connection reset.
 */
export async function startDroppingProxy(target: string, removed: Removed = {}) {
  let toLose = 0;
  /** The keys of the writes that clients have sent. */
  const writes: (string | undefined)[] = [];
  const { origin } = await startHttpServer(async (request, response) => {
    const { extensions, ...body } = JSON.parse(await text(request));
    const { host, connection, 'content-length': length, ...kept } = request.headers;
    const headers = Object.entries(kept).filter(
      ([name]) => !removed.header || !name.startsWith('idempotency-key'),
    );
    const onward = await fetch(target, {
      method: 'POST',
      headers: headers.map(([name, value]): [string, string] => [name, `${value}`]),
      body: JSON.stringify(removed.extensions ? body : { ...body, extensions }),
    });
    const payload = await onward.text();
    const key = request.headers['idempotency-key']?.toString();
    if (key !== PROBE && !`${body.query}`.includes('settleWrites')) {
      writes.push(key);
      toLose -= 1;
      if (toLose >= 0) return response.socket?.resetAndDestroy();
    }
    const type = onward.headers.get('content-type') ?? '';
    return response.writeHead(onward.status, { 'content-type': type }).end(payload);
  });
  return {
    url: `${origin}/graphql`,
    writes,
    /** Loses the responses to the next writes. */
    lose(count: number): void {
      toLose = count;
    },
  };
}
