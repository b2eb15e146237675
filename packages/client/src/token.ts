import { withDeadline } from './deadline.ts';
import { withHeaders } from './intent.ts';

/**
 * Returns the bearer token, before every request. `rejected` is the token that was just rejected, for which it
 * returns a new one. Without it, the requests have the headers that the client sets.
 */
export type GetToken = ((rejected?: string) => string | Promise<string>) | undefined;

/** How long one request may take by default, in milliseconds. */
export const ATTEMPT_MS = 20_000;

/** Who sends a request, and the token that says so. */
export type Caller = { readonly token: string | undefined; readonly user: string };

/** Adds a token to the options of a request. Fails if it fits in no header. */
export const withToken = (init: RequestInit, token: string | undefined): RequestInit =>
  withHeaders(init, { authorization: token === undefined ? token : `Bearer ${token}` });

/** Obtains the token for a request, or else reads the one that the client has set. Undefined if there is none. */
export async function identify(
  request: RequestInit,
  { token: getToken, attemptMs = ATTEMPT_MS }: { token?: GetToken; attemptMs?: number | undefined },
  signal?: AbortSignal | null,
  rejected?: string,
): Promise<Caller | undefined> {
  try {
    const token = getToken && (await withDeadline(attemptMs, signal, () => getToken(rejected)));
    const { headers } = withToken(request, token);
    return { token, user: userOf(new Headers(headers).get('authorization') ?? '') };
  } catch {
    return undefined;
  }
}

/** A hash of the user of a JWT, from its `iss` and `sub`. All other tokens count as of one user. */
function userOf(token: string): string {
  try {
    const [, payload = ''] = token.split('.');
    const { iss, sub } = JSON.parse(atob(payload.replace(/-/g, '+').replace(/_/g, '/')));
    return hash(JSON.stringify([iss, sub]));
  } catch {
    return '';
  }
}

/** A hash of 64 bits, of two as in FNV-1a. A page without HTTPS has no other one. */
export function hash(text: string): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    a = Math.imul(a ^ text.charCodeAt(index), 2654435761);
    b = Math.imul(b ^ text.charCodeAt(index), 1597334677);
  }
  return `${a}.${b}`;
}
