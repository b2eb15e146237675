/** Hive Gateway with the ledger subgraph. docs/federation.md explains each setting. */
export const gatewayConfig = {
  supergraph: './supergraph.graphql',
  propagateHeaders: {
    // The caller's token, and the request id that appears in the logs of both.
    fromClientToSubgraphs: ({ request }: { request: Request }) => ({
      authorization: request.headers.get('authorization'),
      'x-request-id': request.headers.get('x-request-id'),
      // The client's key, so that a repeated mutation is not sent to the service again.
      'idempotency-key': request.headers.get('idempotency-key'),
    }),
    // Tells the client that the outcome is that of an earlier request.
    fromSubgraphsToClient: ({ response }: { response: Response }) => ({
      'idempotent-replayed': response.headers.get('idempotent-replayed'),
    }),
    // One header, also if several requests to the subgraph have it.
    deduplicateHeaders: true,
  },
  // Longer than the gateway's deadline of 10 s. A shorter timeout would lose outcomes of writes.
  upstreamTimeout: 15_000,
  // Off, as by default: retries would repeat mutations. The gateway itself retries reads.
  upstreamRetry: { maxRetries: 0 },
  // GraphQL errors of the gateway, with `code`, `retryable` and `requestId`, are not masked.
  maskedErrors: true,
  // Two equal mutations in flight must stay two mutations.
  inboundInflightRequestDeduplication: false,
};
