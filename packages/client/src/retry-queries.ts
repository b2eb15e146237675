import { backoffMs } from './attempts.ts';
import { wait, withDeadline } from './deadline.ts';
import { isQuery, split } from './request.ts';
import { readRetryAfter } from './response.ts';
import { times } from './times.ts';

export type RetryOptions = {
  /** How long one attempt may take, in milliseconds. It then fails with a `TimeoutError`. By default, there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** How often a query is sent again after a connection fault, a timeout, or a 502, 503 or 504. 0 by default. */
  readonly retries?: number | undefined;
  /** The delay before the first repeat, in milliseconds. It doubles up to ten times this value. */
  readonly delayMs?: number | undefined;
};

/** The longest `Retry-After` that a query waits for, in milliseconds. Users do not wait longer. */
const LONGEST_WAIT_MS = 10_000;

/**
 * Returns a `fetch` that sends a query again if it fails. It passes mutations on: `ledgerFetch` repeats these. Without options,
 * an attempt may take as long as one of a write, 20 s, and is repeated twice.
 */
export function retryQueries(
  ledgerFetch: typeof fetch,
  options: RetryOptions = { timeoutMs: times.attemptMs, retries: 2 },
): typeof fetch {
  const { timeoutMs = Number.POSITIVE_INFINITY, retries = 0, delayMs = times.delayMs } = options;
  return async (input, init) => {
    const [url, request] = await split(input, init);
    if (!isQuery(request)) return ledgerFetch(url, request);
    const { signal } = request;
    for (let count = 1; ; count += 1) {
      const isLast = count > retries;
      const sending = withDeadline(timeoutMs, signal, (end) =>
        readWhole(ledgerFetch(url, { ...request, signal: end })),
      );
      const response = await (isLast ? sending : sending.catch(() => undefined));
      const retryAfterMs = readRetryAfter(response?.headers);
      if (response && (isLast || !mayPass(response, retryAfterMs))) return response;
      await wait(Math.max(backoffMs(count, delayMs), retryAfterMs), signal);
    }
  };
}

/** Reads a whole body, because the connection can still break. */
async function readWhole(pending: Promise<Response>): Promise<Response> {
  const response = await pending;
  return new Response((await response.text()) || null, response);
}

/** Whether a response tells of a fault that may pass: a proxy or the gateway is not ready, or is overloaded. */
function mayPass({ status }: Response, retryAfterMs: number): boolean {
  return /50[234]/.test(`${status}`) && retryAfterMs <= LONGEST_WAIT_MS;
}
