/** How many responses of a write are lost before one arrives. */
const LOSSES = 2;

/**
 * `fetch` for practice: while `isLosing` says so, the first responses to each write are lost between the gateway and the page. The
 * gateway receives every request. An app for real users has no such part.
 */
export function loseResponses(send: typeof fetch, isLosing: () => boolean): typeof fetch {
  const losses = new Map<string, number>();
  return async (input, init) => {
    const response = await send(input, init);
    const key = new Headers(init?.headers).get('idempotency-key');
    const isQuestion = `${init?.body}`.includes('settleWrites');
    if (key === null || isQuestion || !isLosing()) return response;
    const lost = losses.get(key) ?? 0;
    if (lost === LOSSES) return response;
    losses.set(key, lost + 1);
    // The same error as that of `fetch` after a broken connection.
    throw new TypeError('Failed to fetch');
  };
}
