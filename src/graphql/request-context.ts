import { missingToken } from '../errors/gateway-error.ts';
import type { Settle } from '../idempotency/settle.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RequestState } from '../request-state.ts';
import type { Context } from '../resolvers/context.ts';
import { createLoaders, type Loaders } from '../resolvers/loaders.ts';
import type { Calls } from '../upstream/call.ts';
import { createClient } from '../upstream/client.ts';
import type { GraphqlDocument } from './document.ts';
import { ResponseLimits } from './response-limits.ts';

/** The context of a request, for its resolvers. If the request has no token, its functions throw `UNAUTHENTICATED`. */
export type RequestContext = ReturnType<typeof createContext>;

export type ContextDependencies = Pick<Context, 'csvOptionParam' | 'workflowActions'> & {
  calls: Calls;
  settle: Settle;
  maxResponseBytes: number;
};

/** Creates the context of a request; `scope` is null if the request has no token. */
export function createContext(
  dependencies: ContextDependencies,
  scope: RequestScope | null,
  state: RequestState,
  document: GraphqlDocument | undefined,
) {
  const { calls, settle, maxResponseBytes, csvOptionParam, workflowActions } = dependencies;
  const service = scope && createClient(calls, scope);
  const limits = scope && new ResponseLimits(scope, maxResponseBytes);
  let loaders: Loaders | undefined;
  return {
    /** Undefined if the request names no document. */
    document,
    scope,
    state,
    // The following is for resolvers (resolvers/context.ts).
    service: () => required(service),
    loaders() {
      loaders ??= createLoaders(required(service), required(limits));
      return loaders;
    },
    limits: () => required(limits),
    settle: async (key: string, ageMs: number | null | undefined) =>
      settle(key, ageMs, required(scope)),
    csvOptionParam,
    workflowActions,
  };
}

/** Returns a value that only a request with a token has. Throws `UNAUTHENTICATED` without it. */
function required<Value>(value: Value | null): Value {
  if (value === null) throw missingToken();
  return value;
}
