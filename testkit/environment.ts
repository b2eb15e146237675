import { testIssuer } from './issuer.ts';

/** The environment of a gateway in front of a service, with the issuer of the tests. */
export async function environmentFor(
  service: { url: string },
  variables: Record<string, string> = {},
): Promise<Record<string, string>> {
  const { jwksUrl, issuer, audience } = await testIssuer();
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    UPSTREAM_BASE_URL: service.url,
    // More than the default: a busy machine must not cause a timeout.
    UPSTREAM_TIMEOUT_MS: '30000',
    JWT_JWKS_URL: jwksUrl,
    JWT_ISSUER: issuer,
    JWT_AUDIENCE: audience,
    LOG_LEVEL: 'trace',
    SHUTDOWN_DELAY_MS: '0',
    ...variables,
  };
}
