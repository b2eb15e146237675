import type { GraphQLResolveInfo } from 'graphql';
import type { IdempotentCalls } from '../idempotency/idempotent-call.ts';
import type { Encoded, WriteOperation } from '../upstream/operations.ts';
import type { OutcomeUnknown } from '../upstream/upstream-error.ts';
import type { Loaders } from './loaders.ts';

/** The context of resolvers. If the request has no token, its functions throw `UNAUTHENTICATED`. */
export type Context = {
  /** Sends a write for a root field. Rejects only if the write had no effect. */
  write<Result>(
    request: Encoded<WriteOperation<Result>>,
    field: Pick<GraphQLResolveInfo, 'path'>,
  ): Promise<Result | OutcomeUnknown>;
  /** The reads of this request. Equal ones are made once. */
  loaders(): Loaders;
  /** Closes an idempotency key of the caller. */
  settle(key: string, ageMs: number | null | undefined): ReturnType<IdempotentCalls['settle']>;
  /** The name of the query parameter for a CSV option, if it is configured. */
  csvOptionParam: string | undefined;
  /** The workflow actions that the configuration allows. */
  workflowActions: readonly string[];
};
