import { allowInsecureRequests, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi';

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
  const { issuer: named, jwks_uri = '' } = await processDiscoveryResponse(url, response);
  // The library compares URLs. In tokens, the issuer is compared as text.
  if (named !== issuer) throw new Error(`the discovery document names the issuer ${named}`);
  const keysUrl = URL.canParse(jwks_uri) ? new URL(jwks_uri) : undefined;
  if (keysUrl?.protocol !== 'https:' && !(isInsecure && keysUrl?.protocol === 'http:')) {
    throw new Error('the discovery document has no https jwks_uri');
  }
  return keysUrl;
}
