import { AsyncLocalStorage } from 'node:async_hooks';

/** Why a token is refused, for the log and a metric. The client learns only that it is. */
export const refusalReasons = [
  /** Expired, or not valid yet. */
  'expired',
  'audience',
  'issuer',
  /** The signature does not verify, or its algorithm is not accepted. */
  'signature',
  'unknown_key',
  'malformed',
  'missing',
] as const;

export type RefusalReason = (typeof refusalReasons)[number];

/** What the log line of a request reports, collected while the request is served. */
export type RequestRecord = {
  readonly requestId: string;
  /** The name of the GraphQL operation, or its type. */
  operation?: string | undefined;
  /** The codes of the errors in the response. */
  readonly errorCodes: string[];
  /** Why the token was refused. */
  refusal?: RefusalReason;
  /** Each write with its outcome: a union member or an error code. */
  readonly writes: string[];
  /** Whether the outcome of a write is that of an earlier request with the same idempotency key. */
  isReplay?: boolean;
};

/** The record of the current request, for `errors.ts` only: Apollo passes no context to `formatError`. */
export const currentRecord = new AsyncLocalStorage<RequestRecord>();
