/** Headers that the page sends to the gateway, and those that the gateway sends to the page. */
const requestHeaders = ['content-type', 'idempotency-key', 'idempotency-key-age'];
const responseHeaders = ['content-type', 'idempotent-in-progress', 'retry-after', 'x-request-id'];

/**
 * Creates the handler of a route that passes the GraphQL requests of a page on to the gateway, with the token of the session.
 * The page creates the intent. So a request that the page sends again has the same key.
 */
export function createRoute(gatewayUrl: string, tokenOf: (request: Request) => Promise<string>) {
  return async (request: Request): Promise<Response> => {
    const headers = pick(request.headers, requestHeaders);
    headers.set('authorization', `Bearer ${await tokenOf(request)}`);
    const body = await request.text();
    const response = await fetch(gatewayUrl, { method: 'POST', headers, body });
    const { status } = response;
    return new Response(await response.text(), {
      status,
      headers: pick(response.headers, responseHeaders),
    });
  };
}

function pick(from: Headers, names: readonly string[]): Headers {
  const picked = new Headers();
  for (const name of names) {
    const value = from.get(name);
    if (value !== null) picked.set(name, value);
  }
  return picked;
}
