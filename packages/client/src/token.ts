import { errorBody, type GraphqlBody, isObject, parseJson } from './answer.ts';
import { withDeadline } from './deadline.ts';
import { withHeader } from './intent.ts';

/**
 * Returns the bearer token, before every request. `rejected` is the token that was just rejected, for which it
 * returns a new one. Without it, the requests have the headers that the client sets.
 */
export type GetToken = ((rejected?: string) => string | Promise<string>) | undefined;

/** Who sends a request, and the token that says so. */
export type Caller = { readonly token: string | undefined; readonly user: string };

/** Adds a token to the options of a request. Fails if it fits in no header. */
export const withToken = (init: RequestInit, token: string | undefined): RequestInit =>
  token === undefined ? init : withHeader(init, 'authorization', `Bearer ${token}`);

/** Obtains the token for a request, or else reads the one that the client has set. Undefined if there is none. */
export async function identify(
  request: RequestInit,
  getToken: GetToken,
  ms: number,
  signal: AbortSignal | null | undefined,
): Promise<Caller | undefined> {
  try {
    const token = getToken && (await withDeadline(ms, signal, () => getToken()));
    const { headers } = withToken(request, token);
    const bearer = new Headers(headers).get('authorization') ?? '';
    return { token, user: userOf(bearer) };
  } catch {
    return undefined;
  }
}

/** The result of a request that was not sent, because there was no token for it. */
export const signInFailed = (): GraphqlBody =>
  errorBody('SIGN_IN_FAILED', 'No token could be obtained. Nothing was sent.');

/** A hash of the user of a JWT, from its `iss` and `sub`. All other tokens count as of one user. */
export function userOf(token: string): string {
  try {
    const [, payload = ''] = token.split('.');
    const claims = parseJson(atob(payload.replace(/-/g, '+').replace(/_/g, '/')));
    return isObject(claims) ? hash(JSON.stringify([claims.iss, claims.sub])) : '';
  } catch {
    return '';
  }
}

/** A hash of 53 bits (cyrb53). A page without HTTPS has no other one. */
export function hash(text: string): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}
