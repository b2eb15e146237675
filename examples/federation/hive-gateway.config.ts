import type { GatewayCLIConfig } from '@graphql-hive/gateway';

/** Hive Gateway before the ledger subgraph. Why each setting stands here: docs/federation.md. */
export const gatewayConfig = {
  supergraph: './supergraph.graphql',
  propagateHeaders: {
    // The caller's own token, and the id that ties our log lines to yours.
    fromClientToSubgraphs: ({ request }: { request: Request }) => ({
      authorization: request.headers.get('authorization'),
      'x-request-id': request.headers.get('x-request-id'),
    }),
  },
  // Above our own deadline of 10 s, so that the answer to a write is never given up on early.
  upstreamTimeout: 15_000,
  // Off, as by default: it would repeat mutations too. We retry reads within our deadline ourselves.
  upstreamRetry: { maxRetries: 0 },
  // Our errors come with `code`, `retryable` and `requestId`, and pass as they are.
  maskedErrors: true,
  // A mutation is never to be joined with an equal one that is under way.
  inboundInflightRequestDeduplication: false,
} satisfies GatewayCLIConfig;
