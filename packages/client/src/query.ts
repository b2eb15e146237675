import { errorBody, toResponse } from './answer.ts';
import type { LedgerFetchOptions } from './attempts.ts';
import { throwIfAborted } from './deadline.ts';
import { identify, withToken } from './token.ts';

/** Sends a query. If its token is rejected, sends it once more with a new one. */
export async function sendQuery(
  url: string | URL,
  request: RequestInit,
  options: LedgerFetchOptions,
  rejected?: string,
): Promise<Response> {
  const { token, refusal } = await identify(request, options, request.signal, rejected);
  throwIfAborted(request.signal);
  if (refusal) return toResponse(errorBody(refusal));
  const response = await (options.fetch ?? fetch)(url, withToken(request, token));
  const isRenewable = response.status === 401 && token !== undefined && rejected === undefined;
  return isRenewable ? sendQuery(url, request, options, token) : response;
}
