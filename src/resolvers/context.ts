import type { Settle } from '../idempotency/settle.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import type { WorkflowOperation } from '../upstream/operations.ts';
import type { Limits, Loaders } from './loaders.ts';

/** The context of resolvers. If the request has no token, its functions throw `UNAUTHENTICATED`. */
export type Context = {
  /** The writes of the service on behalf of the client. */
  service(): Omit<UpstreamClient, 'read'>;
  /** The reads of this request. Equal ones are made once. */
  loaders(): Loaders;
  /** The limits of its response. */
  limits(): Limits;
  /** Closes an idempotency key of the caller. */
  settle(key: string, ageMs: number | null | undefined): ReturnType<Settle>;
  /** The name of the query parameter for a CSV option, if it is configured. */
  csvOptionParam: string | undefined;
  /** The workflow actions that the configuration allows. */
  workflowActions: readonly WorkflowOperation[];
};
