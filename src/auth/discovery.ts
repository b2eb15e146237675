import { z } from 'zod';
import { fetchJson } from './fetch-json.ts';

/**
 * Finds the URL of an issuer's keys by OpenID Connect Discovery. Throws if the issuer's document cannot be
 * fetched, names another issuer, or has no acceptable URL.
 */
export async function discoverKeysUrl(issuer: string, signal: AbortSignal): Promise<URL> {
  const url = new URL(issuer);
  const schemes = url.protocol === 'http:' ? /^https?:$/ : /^https:$/;
  url.pathname = `${url.pathname.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const metadata = z.object(
    {
      // The issuer of tokens is compared as text, so it is compared as text here, too.
      issuer: z.literal(issuer, {
        error: ({ input }) => `names the issuer ${String(input).slice(0, 200)}`,
      }),
      jwks_uri: z
        .string('no jwks_uri')
        .refine((uri) => isAcceptable(uri, schemes), 'no acceptable https jwks_uri'),
    },
    'not a discovery document',
  );
  const { jwks_uri } = await fetchJson(url, metadata, signal);
  return new URL(jwks_uri);
}

function isAcceptable(uri: string, schemes: RegExp): boolean {
  const { protocol = '', username, password } = URL.parse(uri) ?? {};
  return schemes.test(protocol) && username === '' && password === '';
}
