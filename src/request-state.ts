import { AsyncLocalStorage } from 'node:async_hooks';
import { GatewayError, type Rejection } from './errors/gateway-error.ts';

/** A root field, such as `Query.glCodes`, and its result for the log and the metrics. */
export type FieldResult = {
  field: string;
  /** The name of a union member, or the code of an error. */
  result: string;
  /** Why an outcome is unknown. */
  code?: string | undefined;
  /** The invoice that the service names. */
  invoiceId?: string | undefined;
};

/** The state of a request: what its log line, its metrics and its headers report, collected while it is served. */
export type RequestState = {
  readonly requestId: string;
  /** The id of its trace, if it has one. */
  traceId?: string | undefined;
  /** The id of the span of the request, if traces are exported. */
  spanId?: string | undefined;
  /** The name of the GraphQL operation, or its type. */
  operation?: string | undefined;
  /** The codes of the errors in the response. */
  readonly errorCodes: string[];
  /** Why the token was rejected. */
  rejection?: Rejection;
  /** The caller of a verified token. */
  caller?: { hash: string; application?: string | undefined };
  /** The results of root fields so far, by response name. If an operation is executed twice, the later result counts. */
  readonly fields: Map<string | number, FieldResult>;
  /** Each write with its result, once all are known, such as `Mutation.saveApprovers LedgerFailed invoice=48214`. */
  readonly writes: string[];
  /** Whether the outcome of a write is that of an earlier request with the same idempotency key. */
  isReplay?: boolean;
};

/** Notes an error in the response to a request. */
export function noteError(state: RequestState, code: string, error: unknown): void {
  state.errorCodes.push(code);
  if (error instanceof GatewayError && error.rejection) state.rejection = error.rejection;
}

/** The result of a request for its log line and its span: `ok`, or the codes of its errors. */
export function resultOf(errorCodes: string[]): string {
  return errorCodes.length > 0 ? [...new Set(errorCodes)].join() : 'ok';
}

/**
 * Whether a mutation field has been executed. An unexpected error then does not prove that the field did nothing. Clients take
 * only an error with a `requestId` for this proof, so such an error has none (docs/reference/errors.md).
 */
export function hasMutated({ fields }: Pick<RequestState, 'fields'>): boolean {
  return fields.values().some(({ field }) => field.startsWith('Mutation.'));
}

/** The trace of a log line, with the names of OpenTelemetry. `traceId` is their name in version 1, and stays until 3.0. */
export function traceFieldsOf({ traceId, spanId }: Pick<RequestState, 'traceId' | 'spanId'>) {
  return { traceId, trace_id: traceId, span_id: spanId };
}

/** The state of the current request, for the log, and for the format of errors, to which Apollo passes no context. */
export const currentState = new AsyncLocalStorage<RequestState>();
