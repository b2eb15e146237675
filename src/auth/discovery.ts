import { z } from 'zod';
import { printable } from '../lib/short-text.ts';
import { fetchJson, WrongStatus } from './fetch-json.ts';

/**
 * Finds the URL of an issuer's keys: by OpenID Connect Discovery, or, if the issuer has no document there, by its metadata as
 * an authorization server (RFC 8414). Throws if it has neither, or if its document cannot be fetched, names another issuer, or
 * has no acceptable URL.
 */
export async function discoverKeysUrl(issuer: string, signal: AbortSignal): Promise<URL> {
  const [first, second] = metadataUrlsOf(issuer);
  const metadata = metadataOf(issuer);
  const { jwks_uri } = await fetchJson(first, metadata, signal).catch((error: unknown) => {
    if (!(error instanceof WrongStatus)) throw error;
    return fetchJson(second, metadata, signal).catch(({ message }: Error) => {
      throw new Error(`${error.message}; ${message}`);
    });
  });
  return new URL(jwks_uri);
}

/** Where an issuer has its metadata. For RFC 8414, its path is the end of that of the document (section 3.1). */
function metadataUrlsOf(issuer: string): [URL, URL] {
  const [openid, oauth] = [new URL(issuer), new URL(issuer)];
  const path = openid.pathname.replace(/\/$/, '');
  openid.pathname = `${path}/.well-known/openid-configuration`;
  oauth.pathname = `/.well-known/oauth-authorization-server${path}`;
  return [openid, oauth];
}

function metadataOf(issuer: string) {
  const schemes = issuer.startsWith('http:') ? /^https?:$/ : /^https:$/;
  return z.object(
    {
      // The issuer of tokens is compared as text, so it is compared as text here, too.
      issuer: z.literal(issuer, {
        error: ({ input }) => `names the issuer ${printable(String(input))}`,
      }),
      jwks_uri: z
        .string('no jwks_uri')
        .refine((uri) => isAcceptable(uri, schemes), 'no acceptable https jwks_uri'),
    },
    'not a discovery document',
  );
}

function isAcceptable(uri: string, schemes: RegExp): boolean {
  const { protocol = '', username, password } = URL.parse(uri) ?? {};
  return schemes.test(protocol) && username === '' && password === '';
}
