import { KeyRejected, type StoreUnavailable } from '@ledger-gateway/at-most-once';
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

const storeReasons: Partial<Record<StoreUnavailable['reason'], string>> = {
  quarantine: 'The store of idempotency keys may have lost records.',
  new: 'The store of idempotency keys is new, and waits some seconds for instances that know another one.',
};

/** The error for the client of a key that cannot be used for a write, or of a store that cannot be used now. */
export function idempotencyError(error: KeyRejected | StoreUnavailable): GatewayError {
  if (error instanceof KeyRejected) return new GatewayError(...rejections[error.reason]);
  const reason = storeReasons[error.reason] ?? 'The store of idempotency keys is unavailable.';
  return new GatewayError(
    'IDEMPOTENCY_UNAVAILABLE',
    `${reason} This request was not sent; an earlier one with the same key may have been. Send it again later, with the same key and its age.`,
  );
}
