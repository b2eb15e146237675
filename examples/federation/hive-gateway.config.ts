import { roundingErrorOf } from './rounded-integers.ts';

/** The part of a request to a subgraph that the plugin below uses. */
type ExecutionRequest = {
  /** The root field that the request is for. With `--hive-router-runtime`, it has no path. */
  info?: { path?: { key: string | number } | undefined } | undefined;
  extensions?: { headers?: Record<string, string> };
};

/**
 * Hive Gateway sends each root field of a mutation in a request of its own, without the alias, and all with the same
 * key. This header tells the gateway the response name, by which it distinguishes the fields of a key. With
 * `--hive-router-runtime`, it sends the fields in one request, with their aliases, so the header is not needed.
 */
const responseNameOfField = {
  onSubgraphExecute({ executionRequest }: { executionRequest: ExecutionRequest }) {
    const responseName = executionRequest.info?.path?.key;
    if (responseName === undefined) return;
    executionRequest.extensions ??= {};
    executionRequest.extensions.headers ??= {};
    executionRequest.extensions.headers['idempotency-response-name'] = String(responseName);
  },
};

/** Rejects a request with an integer that Hive Gateway would round. */
const rejectRoundedIntegers = {
  onParams({
    params: { variables },
    setResult,
  }: {
    params: { variables?: object | null };
    setResult: (result: object) => void;
  }) {
    const error = roundingErrorOf(variables);
    if (error) setResult({ errors: [error] });
  },
};

/** Hive Gateway with the ledger subgraph. See docs/how-to/federation.md. */
export const gatewayConfig = {
  supergraph: './supergraph.graphql',
  propagateHeaders: {
    // The caller's token, and the request id that appears in the logs of both.
    fromClientToSubgraphs: ({ request }: { request: Request }) => ({
      authorization: request.headers.get('authorization'),
      'x-request-id': request.headers.get('x-request-id'),
      // The client's trace, as long as Hive Gateway does not trace itself.
      traceparent: request.headers.get('traceparent'),
      tracestate: request.headers.get('tracestate'),
      // The client's key and its age, so that a repeated mutation is not sent to the service again.
      'idempotency-key': request.headers.get('idempotency-key'),
      'idempotency-key-age': request.headers.get('idempotency-key-age'),
    }),
    // Tells the client that the outcome is that of an earlier request, or that there is none yet.
    fromSubgraphsToClient: ({ response }: { response: Response }) => ({
      'idempotent-replayed': response.headers.get('idempotent-replayed'),
      'idempotent-in-progress': response.headers.get('idempotent-in-progress'),
    }),
    // One header, also if several requests to the subgraph have it.
    deduplicateHeaders: true,
  },
  // So that the second of two equal fields of a mutation is not taken for a repeat of the first.
  plugins: () => [responseNameOfField, rejectRoundedIntegers],
  // Longer than the gateway's deadline of 10 s. A shorter timeout would lose outcomes of writes.
  upstreamTimeout: 15_000,
  // Off, as by default: retries would repeat mutations. The gateway itself retries reads.
  upstreamRetry: { maxRetries: 0 },
  // GraphQL errors of the gateway, with `code`, `retryable`, `requestId` and `faults`, are not masked.
  maskedErrors: true,
  // Two equal mutations in flight must stay two mutations.
  inboundInflightRequestDeduplication: false,
};
