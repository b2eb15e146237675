/** The sign-in of the user. Replace it with the OpenID Connect client of your company. */
export type Session = {
  /** Who is signed in, or undefined. */
  readonly user: string | undefined;
  /** The bearer token, or a new one in the place of a rejected one. Throws if none can be obtained. */
  token(rejected?: string): Promise<string>;
  /** The names of the situations that the development service can simulate. */
  scenarios(): Promise<string[]>;
  /** Signs in again as a user for whom the development service simulates this situation. `lost-responses` is one of the page. */
  simulate(name: string): void;
  /** Whether responses to writes are lost before they reach the page. */
  readonly losesResponses: boolean;
  signIn(): void;
  signOut(): void;
};

/** The situation that needs no service: the gateway does what it should, and its response does not arrive. */
const lostResponses = 'lost-responses';

/** A session with the token issuer of the development setup. */
export function createSession(issuerUrl: string): Session {
  let user: string | undefined = 'dev-user';
  let query = '';
  let losesResponses = false;
  let current: Promise<string> | undefined;

  async function request(path: string): Promise<string> {
    const response = await fetch(`${issuerUrl}${path}`);
    if (!response.ok) throw new Error('The token issuer gave no token.');
    return response.text();
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
    get user() {
      return user;
    },
    get losesResponses() {
      return losesResponses;
    },
    async token(rejected) {
      if (user === undefined) throw new Error('Nobody is signed in.');
      return rejected === undefined ? (current ?? renew()) : renew();
    },
    scenarios: async () => [lostResponses, ...(await request('scenarios')).split('\n')],
    simulate(name) {
      losesResponses = name === lostResponses;
      query = name === '' || losesResponses ? '' : `?scenario=${encodeURIComponent(name)}`;
      current = undefined;
    },
    signIn() {
      user = 'dev-user';
    },
    signOut() {
      user = undefined;
      query = '';
      losesResponses = false;
      current = undefined;
    },
  };
}
