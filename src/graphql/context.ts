import type { Turns } from '../account/turns.ts';
import { missingToken } from '../errors/gateway-error.ts';
import type { Settle, SettledWrites } from '../idempotency/settle.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RequestRecord } from '../telemetry/request-record.ts';
import type { Calls } from '../upstream/call.ts';
import { UpstreamClient } from '../upstream/client.ts';
import type { WorkflowOperation } from '../upstream/operations.ts';
import type { GraphqlDocument } from './documents.ts';
import { createLoaders, type Loaders } from './loaders.ts';
import { ResponseLimits } from './response-limits.ts';

/** Receives each resolved root field with its outcome: a union member or an error code. */
export type FieldObserver = (field: string, outcome: string) => void;

/** What resolvers need of a request. Created once for each. */
export type Context = {
  /** Undefined if the request names none. */
  readonly document: GraphqlDocument | undefined;
  /** The service on behalf of the client. Throws `UNAUTHENTICATED` if the request has no token. */
  readonly service: () => UpstreamClient;
  /** The reads of this request, each made once. Throws `UNAUTHENTICATED` if the request has no token. */
  readonly loaders: () => Loaders;
  /** The limits of its response. Throws `UNAUTHENTICATED` if the request has no token. */
  readonly limits: () => ResponseLimits;
  /** Closes an idempotency key of the caller. Throws `UNAUTHENTICATED` if the request has no token. */
  readonly settle: (key: string, ageMs: number | null | undefined) => Promise<SettledWrites>;
  readonly isAuthenticated: boolean;
  /** Whether no response can reach the client. */
  readonly isClosed: () => boolean;
  readonly record: RequestRecord;
  readonly observe: FieldObserver;
  /** The name of the query parameter for a CSV option, if it is configured. */
  readonly csvOptionParam: string | undefined;
  /** The workflow actions that the configuration allows. */
  readonly workflowActions: readonly WorkflowOperation[];
};

export type ContextDependencies = {
  observe: FieldObserver;
  calls: Calls;
  turns: Turns;
  settle: Settle;
  csvOptionParam: string | undefined;
  workflowActions: readonly WorkflowOperation[];
  maxResponseBytes: number;
};

/** Creates the context of a request; `scope` is null if the request has no token. */
export function createContext(
  dependencies: ContextDependencies,
  scope: RequestScope | null,
  record: RequestRecord,
  document: GraphqlDocument | undefined,
): Context {
  const { calls, settle, turns, maxResponseBytes } = dependencies;
  let service: UpstreamClient | undefined;
  let loaders: Loaders | undefined;
  let limits: ResponseLimits | undefined;
  const getScope = () => {
    if (scope === null) throw missingToken();
    return scope;
  };
  const getService = () => {
    service ??= new UpstreamClient(calls, getScope());
    return service;
  };
  const getLimits = () => {
    limits ??= new ResponseLimits(getScope(), turns, maxResponseBytes);
    return limits;
  };
  return {
    document,
    service: getService,
    loaders() {
      loaders ??= createLoaders(getService(), getLimits());
      return loaders;
    },
    limits: getLimits,
    settle: async (key, ageMs) => settle(key, ageMs, getScope()),
    isAuthenticated: scope !== null,
    isClosed: () => scope?.isClosed() ?? false,
    record,
    observe: dependencies.observe,
    csvOptionParam: dependencies.csvOptionParam,
    workflowActions: dependencies.workflowActions,
  };
}
