import { withDeadline } from './deadline.ts';
import { type Headed, withHeaders } from './intent.ts';

/**
 * Returns the bearer token, before every request. `rejected` is the token that was just rejected, for which it
 * returns a new one. Without it, the requests have the headers that the client sets.
 */
export type GetToken = ((rejected?: string) => string | Promise<string>) | undefined;

/** How long one request may take by default, in milliseconds. */
export const ATTEMPT_MS = 20_000;

/** Who sends a request, and the token that says so. */
export type Caller = {
  readonly token: string | undefined;
  readonly user: string;
  readonly refusal?: undefined;
};

/** Why nobody sends a request. */
export type Refused<Refusal> = {
  readonly refusal: Refusal;
  readonly token?: undefined;
  readonly user?: undefined;
};

/** Adds a token to the options of a request. Fails if it fits in no header. */
export const withToken = <Init extends Headed>(init: Init, token: string | undefined) =>
  withHeaders(init, { authorization: token === undefined ? token : `Bearer ${token}` });

/** Obtains the token for a request, or else reads the one that the client has set. */
export async function identify(
  request: Headed,
  { token: getToken, attemptMs = ATTEMPT_MS }: { token?: GetToken; attemptMs?: number | undefined },
  signal?: AbortSignal | null,
  rejected?: string,
): Promise<Caller | Refused<'SIGN_IN_FAILED'>> {
  try {
    const token =
      getToken && (await withDeadline(attemptMs, signal, async () => getToken(rejected)));
    const { headers } = withToken(request, token);
    return { token, user: userOf(headers.get('authorization') ?? '') };
  } catch {
    return { refusal: 'SIGN_IN_FAILED' };
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

/**
 * A hash of 64 bits, of two as in FNV-1a. A page without HTTPS has no other one. With 32 bits, one page in a hundred that
 * sends 10,000 different writes at once would take one of them for a double click.
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
