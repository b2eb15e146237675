import { missingToken } from '../errors/gateway-error.ts';
import type { Settle } from '../idempotency/settle.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Context as ResolverContext } from '../resolvers/context.ts';
import { createLoaders } from '../resolvers/loaders.ts';
import type { RequestRecord } from '../telemetry/request-record.ts';
import type { Calls } from '../upstream/call.ts';
import { createClient } from '../upstream/client.ts';
import type { GraphqlDocument } from './document.ts';
import { ResponseLimits } from './response-limits.ts';

/** What resolvers need of a request. Without a token, its functions throw `UNAUTHENTICATED`. */
export type Context = ReturnType<typeof createContext>;

export type ContextDependencies = Pick<ResolverContext, 'csvOptionParam' | 'workflowActions'> & {
  calls: Calls;
  settle: Settle;
  maxResponseBytes: number;
};

/** Creates the context of a request; `scope` is null if the request has no token. */
export function createContext(
  dependencies: ContextDependencies,
  scope: RequestScope | null,
  record: RequestRecord,
  document: GraphqlDocument | undefined,
) {
  const { calls, settle, maxResponseBytes, csvOptionParam, workflowActions } = dependencies;
  const getScope = () => {
    if (scope === null) throw missingToken();
    return scope;
  };
  const service = createOnce(() => createClient(calls, getScope()));
  const response: { serialized?: Buffer | undefined } = {};
  const limits = createOnce(() => new ResponseLimits(getScope(), maxResponseBytes));
  return {
    /** Undefined if the request names none. */
    document,
    // What resolvers need, see there.
    service,
    loaders: createOnce(() => createLoaders(service(), limits())),
    limits,
    csvOptionParam,
    workflowActions,
    settle: async (key: string, ageMs: number | null | undefined) => settle(key, ageMs, getScope()),
    /** The name that a router gives the only root field of a mutation, for its idempotency key. */
    responseName: scope?.idempotencyResponseName,
    isAuthenticated: scope !== null,
    /** Whether no response can reach the client. */
    isClosed: () => scope?.isClosed() ?? false,
    record,
    /** The response, if it is too long for Apollo to serialize it at once. */
    response,
  };
}

/** Returns a function that creates a value when it is first called. */
function createOnce<Value extends object>(create: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= create();
    return value;
  };
}
