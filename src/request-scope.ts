import type { Reservation } from './admission/memory.ts';
import type { RequestState } from './request-state.ts';

/**
 * The identity in a verified token. Two tokens without `sub` may be those of two people: what must never be mixed up is
 * kept by `hash`, which they do not share, and what limits them by `admissionKey`, so that new tokens gain nothing.
 */
export type Caller = {
  /** The claim `iss` of the verified token. */
  readonly issuer: string;
  /** The claim `sub`, if the token has one. */
  readonly subject: string | null;
  /** A hash of both, or of a token without `sub`: for connections to the service, idempotency keys and the log. */
  readonly hash: string;
  /** A hash of both, or of the issuer for all tokens without `sub`: for places, memory, turns, retries and faults. */
  readonly admissionKey: string;
  /** The claim `azp`, the application that the token was issued to, bounded for the log. */
  readonly application?: string | undefined;
};

/**
 * What belongs to one authenticated request. `http/graphql-route.ts` creates it once, and everything
 * below passes it on unchanged.
 */
export type RequestScope = {
  /** The verified bearer token, forwarded unchanged (docs/service-api.md, section 5). */
  readonly token: string;
  readonly caller: Caller;
  /** A hash of the token and of `forwarded`: the service may respond alike to requests for which it is equal. */
  readonly identity: string;
  readonly requestId: string;
  /** The memory that the request holds. */
  readonly reservation: Reservation;
  /**
   * Waits for a turn of the caller before work that may be long and runs in the same microtask. Undefined if it may run at
   * once. An ordinary read takes two turns: one to be executed and sent, and one to decode, execute and write what came back.
   * All other places that ask are within one of them, and wait only if it has lasted too long. Rejects with
   * `CLIENT_DISCONNECTED` when the signal is aborted.
   */
  readonly turn: (signal?: AbortSignal) => Promise<void> | undefined;
  /** The client's trace headers (W3C Trace Context), if they are valid. */
  readonly trace: Readonly<Record<string, string>> | undefined;
  /** The client's headers for the service, by their lower-case names, if there are any. */
  readonly forwarded: Readonly<Record<string, string>> | undefined;
  /** Aborted when the client disconnects before it has its response. */
  readonly signal: AbortSignal;
  /** Whether its connection has closed completely, so that no response can reach the client. */
  readonly isClosed: () => boolean;
  /** The `Idempotency-Key` header. */
  readonly idempotencyKey: string | undefined;
  /** The `Idempotency-Key-Age` header. */
  readonly idempotencyKeyAge: string | undefined;
  /** The `Idempotency-Response-Name` header: a router's name for the only root field of the operation. */
  readonly idempotencyResponseName: string | undefined;
  /** When its headers had arrived, in the time of `performance.now()`. */
  readonly receivedAt: number;
  /** Has the id of the trace, and notes whether the outcome of a write is that of an earlier request with the same key. */
  readonly state: Pick<RequestState, 'isReplay' | 'traceId'>;
};

/** A request to `/graphql`, as HTTP hands it over to GraphQL. */
export type GraphqlRequest = {
  method: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The query of the URL, with its question mark. */
  search: string;
  body: unknown;
  /** Null if the request has no token. */
  scope: RequestScope | null;
  state: RequestState;
};

/** Executes a request. Rejects with a GatewayError if it is not executed. */
export type Execute = (
  request: GraphqlRequest,
) => Promise<{ status: number; headers: Iterable<[string, string]>; body: string }>;
