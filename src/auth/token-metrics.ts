import { Counter, type Registry } from 'prom-client';
import type { VerificationResult } from './authenticate.ts';

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
