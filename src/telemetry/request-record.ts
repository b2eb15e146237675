import { AsyncLocalStorage } from 'node:async_hooks';

/** What the log line of a request reports, collected while the request is served. */
export type RequestRecord = {
  readonly requestId: string;
  /** The name of the GraphQL operation, or its type. */
  operation?: string | undefined;
  /** The codes of the errors in the response. */
  readonly errorCodes: string[];
  /** Each write with its outcome: a union member or an error code. */
  readonly writes: string[];
  /** Whether the outcome of a write is that of an earlier request with the same idempotency key. */
  isReplay?: boolean;
};

/** The record of the current request, for `errors.ts` only: Apollo passes no context to `formatError`. */
export const currentRecord = new AsyncLocalStorage<RequestRecord>();
