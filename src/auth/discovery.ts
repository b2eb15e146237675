import { allowInsecureRequests, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi';
import { z } from 'zod';

/** An error of the library for a document of another issuer. Its message does not name that issuer. */
const mismatch = z.object({
  cause: z.object({ attribute: z.literal('issuer'), body: z.object({ issuer: z.string() }) }),
});

/**
 * Finds the URL of an issuer's keys by OpenID Connect Discovery. Throws if the issuer's document cannot
 * be fetched within `timeoutMs`, names another issuer, or has no acceptable URL.
 */
export async function discoverKeysUrl(issuer: string, timeoutMs: number): Promise<URL> {
  const url = new URL(issuer);
  const isInsecure = url.protocol === 'http:';
  const response = await discoveryRequest(url, {
    signal: AbortSignal.timeout(timeoutMs),
    [allowInsecureRequests]: isInsecure,
  });
  if (response.status !== 200) {
    throw new Error(`the discovery document has status ${response.status}`);
  }
  const { issuer: named, jwks_uri = '' } = await processDiscoveryResponse(url, response).catch(
    (error: unknown) => {
      const { data } = mismatch.safeParse(error);
      throw data ? otherIssuer(data.cause.body.issuer) : error;
    },
  );
  // The library compares URLs. In tokens, the issuer is compared as text.
  if (named !== issuer) throw otherIssuer(named);
  const keysUrl = URL.canParse(jwks_uri) ? new URL(jwks_uri) : undefined;
  if (keysUrl?.protocol !== 'https:' && !(isInsecure && keysUrl?.protocol === 'http:')) {
    throw new Error('the discovery document has no https jwks_uri');
  }
  return keysUrl;
}

function otherIssuer(named: string): Error {
  return new Error(`the discovery document names the issuer ${named}`);
}
