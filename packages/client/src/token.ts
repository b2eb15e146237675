import { errorBody, isObject, toResponse } from './answer.ts';
import { withHeader } from './intent.ts';

/**
 * Returns the bearer token, before every request. `rejected` is the token that was just rejected, for which it
 * returns a new one. Without it, the requests have the headers that the client sets.
 */
export type GetToken = ((rejected?: string) => string | Promise<string>) | undefined;

export const withToken = (init: RequestInit, token: string | undefined): RequestInit =>
  token === undefined ? init : withHeader(init, 'authorization', `Bearer ${token}`);

/** The response to a request that was not sent, because there was no token for it. */
export const signInFailed = (): Response =>
  toResponse(errorBody('SIGN_IN_FAILED', 'No token could be obtained. Nothing was sent.'));

/** Fails when another user has signed in. For the gateway, a repeat of that user is another write. */
export function tokenOfOneUser(token: GetToken): GetToken {
  if (!token) return undefined;
  let first: string | undefined;
  return async (rejected) => {
    const bearer = await token(rejected);
    const user = userOf(bearer);
    first ??= user;
    if (user !== first) throw new Error('Another user has signed in.');
    return bearer;
  };
}

/** The user of a JWT. All other tokens count as of one user. */
function userOf(token: string): string {
  try {
    const payload: unknown = JSON.parse(
      atob((token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/')),
    );
    return isObject(payload) ? `${payload.iss} ${payload.sub}` : '';
  } catch {
    return '';
  }
}
