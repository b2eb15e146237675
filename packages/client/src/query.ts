import { errorBody, readRetryAfter, toResponse } from './answer.ts';
import { backoffMs, DELAY_MS, type LedgerFetchOptions } from './attempts.ts';
import { throwIfAborted, wait, withDeadline } from './deadline.ts';
import { identify, withToken } from './token.ts';

/** The longest `Retry-After` of a query for which a user can wait, in milliseconds. */
const LONGEST_WAIT_MS = 10_000;

/** Sends a request that changes nothing: once, or as often as `options.queries` says. */
export async function sendQuery(
  url: string | URL,
  request: RequestInit,
  options: LedgerFetchOptions,
): Promise<Response> {
  const { queries, delayMs = DELAY_MS } = options;
  const { signal } = request;
  if (!queries) return send(url, request, options);
  const { timeoutMs = Number.POSITIVE_INFINITY, retries = 0 } = queries;
  for (let count = 1; ; count += 1) {
    let retryAfterMs = 0;
    try {
      const response = await withDeadline(timeoutMs, signal, async (end) => {
        // The whole body, whose connection can still break.
        const received = await send(url, { ...request, signal: end }, options);
        return new Response((await received.text()) || null, received);
      });
      retryAfterMs = readRetryAfter(response.headers);
      // What may pass: a proxy or the gateway is not ready, or overloaded.
      const mayPass = /50[234]/.test(`${response.status}`) && retryAfterMs <= LONGEST_WAIT_MS;
      if (!mayPass || count > retries) return response;
    } catch (error) {
      throwIfAborted(signal);
      if (count > retries) throw error;
    }
    await wait(Math.max(backoffMs(count, delayMs), retryAfterMs), signal);
  }
}

async function send(
  url: string | URL,
  request: RequestInit,
  options: LedgerFetchOptions,
  rejected?: string,
): Promise<Response> {
  const caller = await identify(request, options, request.signal, rejected);
  throwIfAborted(request.signal);
  if (!caller) return toResponse(errorBody('SIGN_IN_FAILED'));
  const { token } = caller;
  const response = await (options.fetch ?? fetch)(url, withToken(request, token));
  const isRenewable = response.status === 401 && token !== undefined && rejected === undefined;
  return isRenewable ? send(url, request, options, token) : response;
}
