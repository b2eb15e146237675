/** The sign-in of the user. Replace it with the OpenID Connect client of your company. */
export type Session = {
  /** The current bearer token. Throws a SignInError if there is none. */
  token(): Promise<string>;
  /** A new token, after one was rejected. */
  renew(): Promise<string>;
  /** The names of the situations that the development service can simulate. */
  scenarios(): Promise<string[]>;
  /** Signs in again as a user for whom the development service simulates this situation. */
  simulate(name: string): void;
};

/** No token could be obtained, so nothing was sent to the gateway. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
}

/** A session with the token issuer of the development setup. */
export function createSession(issuerUrl: string): Session {
  let query = '';
  let current: Promise<string> | undefined;

  async function request(path: string): Promise<string> {
    try {
      const response = await fetch(`${issuerUrl}${path}`);
      if (response.ok) return await response.text();
    } catch {
      // The issuer cannot be reached.
    }
    throw new SignInError('No token could be obtained.');
  }

  function renew(): Promise<string> {
    const token = request(`token${query}`);
    current = token;
    // A failure is not kept.
    token.catch(() => {
      if (current === token) current = undefined;
    });
    return token;
  }

  return {
    token: () => current ?? renew(),
    renew,
    scenarios: async () => (await request('scenarios')).split('\n'),
    simulate(name) {
      query = name === '' ? '' : `?scenario=${encodeURIComponent(name)}`;
      current = undefined;
    },
  };
}
