import type { Metrics } from '../telemetry/metrics.ts';
import type { VerificationResult } from './authenticate.ts';
import type { KeySource } from './jwks.ts';

/** Registers the metric of checked tokens. */
export function createTokenCounter(metrics: Metrics): (result: VerificationResult) => void {
  const help = 'Tokens checked: verified, remembered from the cache, refused, or keys unavailable';
  const tokens = metrics.counter('token_verifications_total', help, 'outcome');
  tokens.inc({ outcome: 'unavailable' }, 0);
  return (outcome) => tokens.inc({ outcome });
}

/** Registers the metric of the last fetch of the keys. */
export function registerKeyMetrics(metrics: Metrics, lastFetches: KeySource['lastFetches']): void {
  const help = "When an issuer's keys were last fetched; 0 if they never were";
  metrics.gauges('keys_last_fetch_timestamp_seconds', help, ['issuer'], () =>
    lastFetches().map(({ issuer, seconds }) => [{ issuer }, seconds]),
  );
}
