import { missingToken } from '../errors/gateway-error.ts';
import type { Settle, SettledWrites } from '../idempotency/settle.ts';
import type { TaskQueue } from '../lib/task-queue.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RequestRecord } from '../telemetry/request-record.ts';
import type { Calls } from '../upstream/call.ts';
import { UpstreamClient } from '../upstream/client.ts';
import { ResponseLimits } from './limits/response-limits.ts';
import { createLoaders, type Loaders } from './loaders.ts';

/** What resolvers need of a request. Created once for each. */
export type Context = {
  /** The service on behalf of the client. Throws `UNAUTHENTICATED` if the request has no token. */
  readonly service: () => UpstreamClient;
  /** The reads of this request, each made once. Throws `UNAUTHENTICATED` if the request has no token. */
  readonly loaders: () => Loaders;
  /** Closes an idempotency key of the caller. Throws `UNAUTHENTICATED` if the request has no token. */
  readonly settle: (key: string, ageMs: number | null | undefined) => Promise<SettledWrites>;
  readonly isAuthenticated: boolean;
  readonly limits: ResponseLimits;
  readonly record: RequestRecord;
  /** The name of the query parameter for a CSV option, if it is configured. */
  readonly csvOptionParam: string | undefined;
};

type ContextDependencies = {
  calls: Calls;
  settle: Settle;
  taskQueue: TaskQueue;
  csvOptionParam: string | undefined;
  maxResponseBytes: number;
};

/** Creates the context of a request; `scope` is null if the request has no token. */
export function createContext(
  { calls, settle, taskQueue, csvOptionParam, maxResponseBytes }: ContextDependencies,
  scope: RequestScope | null,
  record: RequestRecord,
): Context {
  let service: UpstreamClient | undefined;
  let loaders: Loaders | undefined;
  const limits = new ResponseLimits(maxResponseBytes, taskQueue);
  const getService = () => {
    if (scope === null) throw missingToken();
    service ??= new UpstreamClient(calls, scope);
    return service;
  };
  return {
    service: getService,
    loaders() {
      loaders ??= createLoaders(getService(), limits);
      return loaders;
    },
    async settle(key, ageMs) {
      if (scope === null) throw missingToken();
      return settle(key, ageMs, scope);
    },
    isAuthenticated: scope !== null,
    limits,
    record,
    csvOptionParam,
  };
}
