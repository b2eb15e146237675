import type { RequestScope } from './request-scope.ts';
import type { RequestRecord } from './telemetry/request-record.ts';

/** What a request says about its document. */
export type DocumentRequest = {
  query?: string | undefined;
  documentId?: string | undefined;
  /** Of the extension `persistedQuery`. */
  sha256Hash?: string | undefined;
};

/** An HTTP request to `/graphql`. */
export type GraphqlRequest = {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The query of the URL, with its question mark. */
  search: string;
  body: unknown;
};

export type GraphqlResponse = { status: number; headers: Iterable<[string, string]>; text: string };

/** Executes a request with the document that was found for it. `scope` is null if the request has no token. */
export type Execute = (
  request: GraphqlRequest,
  scope: RequestScope | null,
  record: RequestRecord,
) => Promise<GraphqlResponse>;

/** Resolves when work may be done, given as a number of bytes to parse. */
export type Turn = (bytes: number) => Promise<void> | undefined;

/**
 * Finds the document of a request, and checks it after `turn` if it is new. The turn is also that of the execution.
 * Rejects with a GatewayError if the request is not executed.
 */
export type Prepare = (request: DocumentRequest, turn: Turn) => Promise<Execute>;
