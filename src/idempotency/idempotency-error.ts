import type { KeyRejected, StoreUnavailable } from '@ledger-gateway/at-most-once';
import { GatewayError } from '../errors/gateway-error.ts';

const rejections: Record<KeyRejected['reason'], [code: GatewayError['code'], message: string]> = {
  reused: [
    'IDEMPOTENCY_KEY_REUSED',
    'The idempotency key was used for another request. This request was not sent.',
  ],
  overused: [
    'IDEMPOTENCY_KEY_REUSED',
    'The idempotency key was used for as many fields as one mutation may have. This field was not sent.',
  ],
  settled: [
    'IDEMPOTENCY_KEY_SETTLED',
    'This field was not executed with the idempotency key, and never will be.',
  ],
};

/** The key cannot be used for a write, and why. */
export function keyRejected(reason: KeyRejected['reason']): GatewayError {
  const [code, message] = rejections[reason];
  return new GatewayError(code, message);
}

const storeReasons: Partial<Record<StoreUnavailable['reason'], string>> = {
  quarantine: 'The store of idempotency keys may have lost records.',
  new: 'The store of idempotency keys is new, and waits some seconds for instances that know another one.',
};

/** The store cannot be used now, and why. */
export function storeUnavailable(unavailable: StoreUnavailable['reason']): GatewayError {
  const reason = storeReasons[unavailable] ?? 'The store of idempotency keys is unavailable.';
  return new GatewayError(
    'IDEMPOTENCY_UNAVAILABLE',
    `${reason} This request was not sent; an earlier one with the same key may have been. Send it again later, with the same key and its age.`,
  );
}
