import type { SendOptions } from './attempts.ts';
import { throwIfAborted } from './deadline.ts';
import { errorBody, toResponse } from './response.ts';
import { identify, withToken } from './token.ts';

/** Sends a query. If its token is rejected, sends it once more with a new one. */
export async function sendQuery(
  request: RequestInit,
  options: SendOptions,
  rejected?: string,
): Promise<Response> {
  const { token, rejection } = await identify(request, options, request.signal, rejected);
  throwIfAborted(request.signal);
  if (rejection) return toResponse(errorBody(rejection));
  const response = await (options.fetch ?? fetch)(options.url, withToken(request, token));
  const isRenewable = response.status === 401 && token !== undefined && rejected === undefined;
  return isRenewable ? sendQuery(request, options, token) : response;
}
