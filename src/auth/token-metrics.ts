import { Counter, Gauge, type Registry } from 'prom-client';
import type { VerificationResult } from './authenticate.ts';
import type { KeyFetch } from './jwks.ts';

/** Registers the metric of checked tokens. */
export function createTokenCounter(registry: Registry): (result: VerificationResult) => void {
  const tokens = new Counter({
    name: 'ledger_gateway_token_verifications_total',
    help: 'Tokens checked: verified, remembered from the cache, refused, or keys unavailable',
    labelNames: ['outcome'],
    registers: [registry],
  });
  tokens.inc({ outcome: 'unavailable' }, 0);
  return (outcome) => tokens.inc({ outcome });
}

/** Registers the metric of the last fetch of the keys, which is read at each scrape. */
export function registerKeyMetrics(registry: Registry, lastFetches: () => KeyFetch[]): void {
  new Gauge({
    name: 'ledger_gateway_keys_last_fetch_timestamp_seconds',
    help: "When an issuer's keys were last fetched; 0 if they never were",
    labelNames: ['issuer'],
    registers: [registry],
    collect() {
      for (const { issuer, seconds } of lastFetches()) this.set({ issuer }, seconds);
    },
  });
}
