import { readRetryAfter } from './answer.ts';
import { backoffMs, defaults, type LedgerFetchOptions } from './attempts.ts';
import { sleep, throwIfAborted, withDeadline } from './deadline.ts';

/** What may pass: a proxy or the gateway is not ready, or overloaded. */
const passing = new Set([502, 503, 504]);

/** The longest `Retry-After` of a query for which a user can wait, in milliseconds. */
const LONGEST_WAIT_MS = 10_000;

/** Sends a request that changes nothing: once, or as often as `options.queries` says. */
export async function sendQuery(
  send: (signal?: AbortSignal) => Promise<Response>,
  signal: AbortSignal | null | undefined,
  { queries, delayMs = defaults.delayMs }: LedgerFetchOptions,
): Promise<Response> {
  if (!queries) return send();
  const { timeoutMs = Number.POSITIVE_INFINITY, retries = 0 } = queries;
  for (let count = 1; ; count += 1) {
    let retryAfterMs = 0;
    try {
      const response = await withDeadline(timeoutMs, signal, async (end) => copy(await send(end)));
      retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
      const mayPass = passing.has(response.status) && retryAfterMs <= LONGEST_WAIT_MS;
      if (!mayPass || count > retries) return response;
    } catch (error) {
      throwIfAborted(signal);
      if (count > retries) throw error;
    }
    await sleep(Math.max(backoffMs(count, delayMs), retryAfterMs), signal);
  }
}

/** Receives the whole body, whose connection can still break. */
async function copy(response: Response): Promise<Response> {
  const body = await response.text();
  const { status, statusText, headers } = response;
  return new Response(body === '' ? null : body, { status, statusText, headers });
}
