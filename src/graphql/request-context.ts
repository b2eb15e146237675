import type { GraphQLResolveInfo } from 'graphql';
import { missingToken } from '../errors/gateway-error.ts';
import type { IdempotentCalls } from '../idempotency/idempotent-call.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RequestState } from '../request-state.ts';
import type { Reads, Writes } from '../upstream/call.ts';
import type { AnyMember, Encoded, WriteOperation } from '../upstream/operations.ts';
import type { OutcomeUnknown } from '../upstream/upstream-error.ts';
import type { GraphqlDocument } from './document.ts';
import { createLoaders, type Loaders } from './loaders.ts';
import { ResponseLimits } from './response-limits.ts';

/** The context of resolvers. If the request has no token, its functions throw `UNAUTHENTICATED`. */
export type Context = {
  /** Sends a write for a root field, and returns its outcome. Rejects only if the write had no effect. */
  write<Member extends AnyMember>(
    request: Encoded<WriteOperation<unknown, Member>>,
    field: Pick<GraphQLResolveInfo, 'path'>,
  ): Promise<Member | OutcomeUnknown>;
  /** The reads of this request. Equal ones are made once. */
  loaders(): Loaders;
  /** Closes an idempotency key of the caller. */
  settle(key: string, ageMs: number | null | undefined): ReturnType<IdempotentCalls['settle']>;
  /** The name of the query parameter for a CSV option, if it is configured. */
  csvOptionParam: string | undefined;
  /** The workflow actions that the configuration allows. */
  workflowActions: readonly string[];
};

/** The context of a request. */
export type RequestContext = Context & {
  /** Undefined if the request names no document. */
  readonly document: GraphqlDocument | undefined;
  readonly scope: RequestScope | null;
  readonly state: RequestState;
  /** The limits of its response. Null if the request has no token. */
  readonly limits: ResponseLimits | null;
};

export type ContextDependencies = Pick<Context, 'csvOptionParam' | 'workflowActions'> & {
  reads: Reads;
  writes: Writes;
  keys: Pick<IdempotentCalls, 'settle'>;
  maxResponseBytes: number;
};

/** Creates the context of a request; `scope` is null if the request has no token. */
export function createContext(
  dependencies: ContextDependencies,
  scope: RequestScope | null,
  state: RequestState,
  document: GraphqlDocument | undefined,
): RequestContext {
  const { reads, writes, keys, maxResponseBytes, csvOptionParam, workflowActions } = dependencies;
  const limits = scope && new ResponseLimits(scope, maxResponseBytes);
  let loaders: Loaders | undefined;
  return {
    document,
    scope,
    state,
    limits,
    write: (request, { path }) =>
      writes.write({ ...request, responseName: String(path.key) }, scope ?? noToken()),
    loaders() {
      loaders ??= createLoaders(reads, scope ?? noToken(), limits ?? noToken());
      return loaders;
    },
    settle: (key, ageMs) => keys.settle(key, ageMs, scope ?? noToken()),
    csvOptionParam,
    workflowActions,
  };
}

function noToken(): never {
  throw missingToken();
}
