import { AsyncLocalStorage } from 'node:async_hooks';
import type { Rejection } from '../errors/gateway-error.ts';

/**
 * A root field, such as `Query.glCodes`, with its outcome: a union member or an error code. `code` tells why an outcome is
 * unknown.
 */
export type FieldOutcome = { operation: string; outcome: string; code?: string | undefined };

/** What the log line of a request reports, collected while the request is served. */
export type RequestRecord = {
  readonly requestId: string;
  /** The id of its trace, if it has one. */
  traceId?: string | undefined;
  /** The name of the GraphQL operation, or its type. */
  operation?: string | undefined;
  /** The codes of the errors in the response. */
  readonly errorCodes: string[];
  /** Why the token was rejected. */
  rejection?: Rejection;
  /** The caller of a verified token. */
  caller?: { hash: string; application?: string | undefined };
  /** The outcomes of root fields so far, by response name: the last ones, because an operation may be executed twice. */
  readonly fields: Map<string | number, FieldOutcome>;
  /** Each write with its outcome, when all are known: a union member, with the code of one that is unknown, or an error code. */
  readonly writes: string[];
  /** Whether the outcome of a write is that of an earlier request with the same idempotency key. */
  isReplay?: boolean;
};

/** The outcome of a request with these errors, for its log line and its span: `ok`, or their codes. */
export function outcomeOf(errorCodes: string[]): string {
  return errorCodes.length > 0 ? [...new Set(errorCodes)].join() : 'ok';
}

/** The record of the current request, for the format of errors, to which Apollo passes no context, and for the log. */
export const currentRecord = new AsyncLocalStorage<RequestRecord>();
