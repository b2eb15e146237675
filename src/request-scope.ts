import type { Intent } from '@ledger-gateway/at-most-once';
import type { AdmissionKey } from './admission/gate.ts';
import type { Reservation } from './admission/memory.ts';
import type { RequestState } from './request-state.ts';

/**
 * The identity in a verified token. Two tokens without `sub` may belong to two people. They have different hashes, so that
 * nothing of one is ever given to the other. They have the same `admissionKey`, so that nobody gains a further share by a new
 * token.
 */
export type Caller = {
  /** The claim `iss` of the verified token. */
  readonly issuer: string;
  /** The claim `sub`, if the token has one. */
  readonly subject: string | null;
  /** A hash of issuer and subject, or of a token without `sub`. Connections, idempotency keys and the log use it. */
  readonly hash: Intent['caller'];
  /** A hash of issuer and subject, or of the issuer alone for tokens without `sub`. Limits for each caller use it. */
  readonly admissionKey: AdmissionKey;
  /** The application that the token was issued to, bounded for the log. */
  readonly application?: string | undefined;
};

/**
 * The idempotency key of a request and its age, unchecked: one value for each place that has one, the header and the
 * `extensions` of the body. Proxies remove headers that they do not know, and routers remove extensions.
 */
export type GivenKey = { readonly keys: readonly unknown[]; readonly ages: readonly unknown[] };

/**
 * The data of one authenticated request. `http/graphql-route.ts` creates it once, and all parts behind it pass it on unchanged.
 */
export type RequestScope = {
  /** The verified bearer token, forwarded unchanged (docs/reference/service-api.md, section 5). */
  readonly token: string;
  readonly caller: Caller;
  /** A hash of the token and of `forwarded`. Requests with the same hash may share a response of the service. */
  readonly identity: string;
  readonly requestId: string;
  /** The reservation of the request: the memory that it holds. */
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
  /** Known once the body has been parsed. */
  readonly givenKey: () => GivenKey;
  /** The `Idempotency-Response-Name` header: a router's name for the only root field of the operation. */
  readonly idempotencyResponseName: string | undefined;
  /** When its headers had arrived, in the time of `performance.now()`. */
  readonly receivedAt: number;
  /** How far the wall clock was ahead of `performance.now()` at that time. */
  readonly wallOffset: number;
  /** Has the id of the trace, and notes whether the outcome of a write is that of an earlier request with the same key. */
  readonly state: Pick<RequestState, 'isReplay' | 'traceId'>;
};

/** A request to `/graphql`, in the form in which the HTTP part passes it to the GraphQL part. */
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

/** Executes a request. Throws a GatewayError, or rejects with it, if it is not executed. */
export type Execute = (
  request: GraphqlRequest,
) => Promise<{ status: number; headers: Iterable<[string, string]>; body: string }>;
