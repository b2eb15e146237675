import type { Turn } from './account/turns.ts';
import type { RequestScope } from './request-scope.ts';
import type { RequestRecord } from './telemetry/request-record.ts';

/** A request to `/graphql`, as HTTP hands it over to GraphQL. */
export type GraphqlRequest = {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The query of the URL, with its question mark. */
  search: string;
  body: unknown;
  /** Null if the request has no token. */
  scope: RequestScope | null;
  record: RequestRecord;
  /** Resolves when a document may be checked and executed, which is work on so many bytes. */
  turn: Turn;
};

export type GraphqlResponse = {
  status: number;
  headers: Iterable<[string, string]>;
  body: string | Buffer;
};

/** Executes a request. Rejects with a GatewayError if it is not executed. */
export type Execute = (request: GraphqlRequest) => Promise<GraphqlResponse>;
