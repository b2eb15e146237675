import { GatewayError } from '../errors/gateway-error.ts';

export const keyReused = () =>
  new GatewayError(
    'IDEMPOTENCY_KEY_REUSED',
    'The idempotency key was used for another request. This request was not sent.',
  );

export const keyOverused = () =>
  new GatewayError(
    'IDEMPOTENCY_KEY_REUSED',
    'The idempotency key was used for as many fields as one mutation may have. This field was not sent.',
  );

export const keySettled = () =>
  new GatewayError(
    'IDEMPOTENCY_KEY_SETTLED',
    'The idempotency key is settled. This field was not executed with it, and never will be.',
  );

/** The store cannot be used, or may have lost records while the request has no age. */
export function storeUnavailable(isQuarantine: boolean): GatewayError {
  const reason = isQuarantine
    ? 'The store of idempotency keys may have lost records, and this request has no Idempotency-Key-Age.'
    : 'The store of idempotency keys is unavailable.';
  return new GatewayError(
    'IDEMPOTENCY_UNAVAILABLE',
    `${reason} This request was not sent; an earlier one with the same key may have been. Send it again with the same key and its age.`,
  );
}
