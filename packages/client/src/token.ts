import { isOffline, withDeadline } from './deadline.ts';
import { type Headed, withHeaders } from './intent.ts';
import { times } from './times.ts';

/**
 * Returns the bearer token. It is called before every request. If the last token was rejected, `rejected` has that token, and
 * the function must return a new one. Without this function, requests have the token that the client sets in the headers.
 */
export type GetToken = ((rejected?: string) => string | Promise<string>) | undefined;

/** The user who sends a request, and their token. */
export type Caller = {
  readonly token: string | undefined;
  readonly user: string;
  readonly rejection?: undefined;
};

/** Why a request is not sent. */
export type Rejected<Reason> = {
  readonly rejection: Reason;
  readonly token?: undefined;
  readonly user?: undefined;
};

/** Adds a token to the options of a request. Throws an error if a header cannot contain the token. */
export const withToken = <Init extends Headed>(init: Init, token: string | undefined) =>
  withHeaders(init, { authorization: token === undefined ? token : `Bearer ${token}` });

/** How to obtain a token for requests to `url`. */
export type TokenSource = {
  readonly url: string | URL;
  readonly token?: GetToken;
  readonly attemptMs?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
};

/** Obtains the token for a request. Without a function for that, reads the token from the headers that the client has set. */
export async function identify(
  request: Headed,
  { url, token: getToken, attemptMs = times.attemptMs, fetch: send = fetch }: TokenSource,
  signal?: AbortSignal | null,
  rejected?: string,
): Promise<Caller | Rejected<'OFFLINE' | 'SIGN_IN_FAILED'>> {
  try {
    const token =
      getToken && (await withDeadline(attemptMs, signal, async () => getToken(rejected)));
    const { headers } = withToken(request, token);
    return { token, user: userOf(headers.get('authorization') ?? '') };
  } catch {
    // A device that says so may have a connection all the same. Any response shows it, also one that the page must not read.
    const reach = (end: AbortSignal) => send(url, { method: 'HEAD', mode: 'no-cors', signal: end });
    const isCut = isOffline() && !(await withDeadline(attemptMs, signal, reach).catch(() => {}));
    return { rejection: isCut ? 'OFFLINE' : 'SIGN_IN_FAILED' };
  }
}

/** A hash of the user of a JWT, from its claims `iss` and `sub`. All tokens that are no JWT count as those of one user. */
function userOf(token: string): string {
  try {
    const [, payload = ''] = token.split('.');
    const { iss, sub } = JSON.parse(atob(payload.replace(/-/g, '+').replace(/_/g, '/')));
    return hash(JSON.stringify([iss, sub]));
  } catch {
    return '';
  }
}

/**
 * A hash of 64 bits: two hashes of 32 bits, computed like FNV-1a. A page without HTTPS has no other hash function. With 32
 * bits, of a hundred pages that send 10,000 different writes at once, one would take two of them for a double click.
 */
export const hash = (text: string): string =>
  [2654435761, 1597334677]
    .map((factor) => {
      let value = factor;
      for (let index = 0; index < text.length; index += 1) {
        value = Math.imul(value ^ text.charCodeAt(index), factor);
      }
      return value;
    })
    .join('.');
