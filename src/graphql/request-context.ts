import { missingToken } from '../errors/gateway-error.ts';
import type { IdempotentCalls } from '../idempotency/idempotent-call.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RequestState } from '../request-state.ts';
import type { Calls } from '../upstream/call.ts';
import type { GraphqlDocument } from './document.ts';
import { createLoaders, type Loaders } from './loaders.ts';
import type { Context } from './resolver-context.ts';
import { ResponseLimits } from './response-limits.ts';

/** The context of a request. If the request has no token, its functions throw `UNAUTHENTICATED`. */
export type RequestContext = Context & {
  /** Undefined if the request names no document. */
  readonly document: GraphqlDocument | undefined;
  readonly scope: RequestScope | null;
  readonly state: RequestState;
  /** The limits of its response. */
  limits(): ResponseLimits;
};

export type ContextDependencies = Pick<Context, 'csvOptionParam' | 'workflowActions'> & {
  calls: Calls;
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
  const { calls, keys, maxResponseBytes, csvOptionParam, workflowActions } = dependencies;
  const limits = scope && new ResponseLimits(scope, maxResponseBytes);
  let loaders: Loaders | undefined;
  return {
    document,
    scope,
    state,
    write: async (request, { path }) =>
      calls.write({ ...request, responseName: String(path.key) }, required(scope)),
    loaders() {
      loaders ??= createLoaders(calls, required(scope), required(limits));
      return loaders;
    },
    limits: () => required(limits),
    settle: async (key, ageMs) => keys.settle(key, ageMs, required(scope)),
    csvOptionParam,
    workflowActions,
  };
}

/** Returns a value that only a request with a token has. Throws `UNAUTHENTICATED` without it. */
function required<Value>(value: Value | null): Value {
  if (value === null) throw missingToken();
  return value;
}
