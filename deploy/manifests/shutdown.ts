import { longestDelayMs } from '../../src/http/drain.ts';
import { readConfig } from '../../testkit/config.ts';

/** Throws unless a gateway with these variables shuts down within a grace period. */
export function checkShutdown(variables: Record<string, string>, graceS: number): void {
  const { http, shutdownTimeoutMs } = readConfig(variables);
  const neededS = (longestDelayMs(http.shutdownDelayMs) + shutdownTimeoutMs) / 1000;
  if (graceS <= neededS)
    throw new Error(`${graceS} s of grace, and the shutdown takes ${neededS} s`);
}

/** What the user of a manifest sets. */
export const own: Record<string, string> = {
  UPSTREAM_BASE_URL: 'https://ledger.example.com/api/',
  JWT_ISSUER: 'https://id.example.com/',
  JWT_AUDIENCE: 'ledger',
  JWT_JWKS_URL: '',
};
