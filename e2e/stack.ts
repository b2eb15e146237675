import { request as forward, type IncomingHttpHeaders } from 'node:http';
import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { startStandaloneServer } from '@apollo/server/standalone';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { parse } from 'graphql';
import { z } from 'zod';
import type { TokenClaims } from '../dev/issuer.ts';
import { startReferenceService } from '../dev/service.ts';
import {
  budgetsSdl,
  composeWithApollo,
  ledgerSdl,
  tripsSdl,
} from '../test/federation/composition.ts';
import { agedStore } from '../testkit/aged-store.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { startTestGateway } from '../testkit/gateway.ts';
import { startHttpServer } from '../testkit/http-server.ts';
import { testIssuer } from '../testkit/issuer.ts';

/** A reference from another subgraph to a GL code: the fields of its key. */
export type Reference = { target: string; project: string; code: string | null };

export type GraphqlResponse = z.infer<typeof responseSchema>;

const responseSchema = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z
    .array(
      z.object({
        message: z.string(),
        path: z.array(z.union([z.string(), z.number()])).optional(),
        extensions: z.looseObject({
          code: z.string(),
          retryable: z.boolean().optional(),
          requestId: z.string().optional(),
          faults: z.array(z.unknown()).optional(),
        }),
      }),
    )
    .optional(),
});

const placeholders = {
  ledger: 'http://ledger.example/graphql',
  trips: 'http://trips.example/graphql',
  budgets: 'http://budgets.example/graphql',
};

const compose = (sdl: string) =>
  composeWithApollo([
    { name: 'ledger', sdl, url: placeholders.ledger },
    { name: 'trips', sdl: tripsSdl, url: placeholders.trips },
    { name: 'budgets', sdl: budgetsSdl, url: placeholders.budgets },
  ]).supergraphSdl ?? '';
const current = compose(ledgerSdl);

/** The SDL of the supergraph with these URLs, and with another SDL of the ledger if it is given. Subgraphs without a URL cannot be reached. */
export function supergraphOf(urls: Partial<typeof placeholders>, otherSdl?: string): string {
  const { ledger, trips, budgets } = { ...placeholders, ...urls };
  return (otherSdl === undefined ? current : compose(otherSdl))
    .replace(placeholders.ledger, ledger)
    .replace(placeholders.trips, trips)
    .replace(placeholders.budgets, budgets);
}

/**
 * Starts everything below a federated graph: the reference service, the gateway in front of it, and two
 * subgraphs that refer to GL codes, one of them by id. Records the requests that the service and these receive.
 */
export async function startStack(
  references: readonly Reference[] = [],
  ids: readonly (string | null)[] = [],
) {
  const issuer = await testIssuer();
  const service = await startReferenceService({ issuerKeys: issuer.jwks });
  closeAfterTest(() => service.close());
  const calls: { url: string; authorization?: string; traceparent?: string }[] = [];
  const proxy = await startProxy(service.url, (url, { authorization, traceparent }) => {
    calls.push({
      url,
      ...(authorization !== undefined && { authorization }),
      ...(typeof traceparent === 'string' && { traceparent }),
    });
  });
  const gateway = await startTestGateway({ url: proxy }, { IDEMPOTENCY_STORE: await agedStore() });
  const trips = await startSubgraph(tripsSdl, {
    trips: references.map((glCode, index) => ({
      id: String(index),
      status: 'OPEN',
      outcome: { __typename: 'NotPermitted', reason: 'over the limit' },
      glCode,
    })),
  });
  const budgets = await startSubgraph(budgetsSdl, {
    budgets: ids.map((id, index) => ({ id: String(index), glCode: { id } })),
  });

  return {
    supergraphSdl: supergraphOf({
      ledger: `${gateway.url}/graphql`,
      trips: trips.url,
      budgets: budgets.url,
    }),
    gatewayUrl: `${gateway.url}/graphql`,
    logs: gateway.logs,
    /** The requests that the service received, in order. */
    calls,
    trips,
    token: (claims?: TokenClaims) => issuer.token(claims),
  };
}

/** Posts a GraphQL operation to any GraphQL server and parses the response. */
export async function send(
  url: string,
  token: string | undefined,
  query: string,
  variables?: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<GraphqlResponse> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  return responseSchema.parse(await response.json());
}

/** Starts a subgraph of another team, whose root field has this value. */
async function startSubgraph(sdl: string, query: Record<string, unknown>) {
  const requests: { authorization: string | undefined }[] = [];
  const server = new ApolloServer({
    schema: buildSubgraphSchema([{ typeDefs: parse(sdl) }]),
    rootValue: query,
    stopOnTerminationSignals: false,
    plugins: [ApolloServerPluginInlineTraceDisabled()],
  });
  const { url } = await startStandaloneServer(server, {
    listen: { port: 0, host: '127.0.0.1' },
    context: async ({ req }) => {
      requests.push({ authorization: req.headers.authorization });
      return {};
    },
  });
  closeAfterTest(() => server.stop());
  return { url, requests };
}

/** Starts a proxy that passes everything on as it is, a connection reset included. */
export async function startProxy(
  target: string,
  onRequest: (url: string, headers: IncomingHttpHeaders) => void,
): Promise<string> {
  const { origin } = await startHttpServer((incoming, outgoing) => {
    const { method, headers, url = '/' } = incoming;
    onRequest(url, headers);
    const onward = forward(
      new URL(url, target),
      { method, headers, agent: false },
      (upstreamResponse) => {
        outgoing.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
        upstreamResponse.pipe(outgoing);
        // A broken response is passed on as far as it came, and only then this connection ends too.
        upstreamResponse.once('error', () => outgoing.socket?.end());
      },
    );
    onward.once('error', () => outgoing.socket?.resetAndDestroy());
    incoming.pipe(onward);
  });
  return `${origin}/`;
}
