import { once } from 'node:events';
import { createServer, request as forward, type IncomingHttpHeaders } from 'node:http';
import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { startStandaloneServer } from '@apollo/server/standalone';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { parse } from 'graphql';
import { z } from 'zod';
import type { TokenClaims } from '../../dev/issuer.ts';
import { startReferenceService } from '../../dev/service.ts';
import { closeAfterTest, portOf, startTestGateway, testIssuer } from '../helper.ts';
import { composeWithApollo, invoicesSdl, ledgerSdl } from './composition.ts';

/** One GL code as another subgraph refers to it: by the names of its key. */
export type Reference = { target: string; project: string; code: string | null };

export type Answer = z.infer<typeof answerSchema>;

const answerSchema = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z
    .array(
      z.object({
        message: z.string(),
        path: z.array(z.union([z.string(), z.number()])).optional(),
        extensions: z.looseObject({ code: z.string(), retryable: z.boolean().optional() }),
      }),
    )
    .optional(),
});

const placeholders = {
  ledger: 'http://ledger.example/graphql',
  invoices: 'http://invoices.example/graphql',
};

/** Composed before any gateway listens: it holds up the process for longer than load would. */
const composition = composeWithApollo([
  { name: 'ledger', sdl: ledgerSdl, url: placeholders.ledger },
  { name: 'invoices', sdl: invoicesSdl, url: placeholders.invoices },
]);

/**
 * What a federated graph stands on: the reference service, the gateway in front of it, a second
 * subgraph, and the supergraph of both. What the service and the second subgraph received is
 * recorded at their doors.
 */
export async function startStack(references: readonly Reference[] = []) {
  const issuer = await testIssuer();
  const service = await startReferenceService({ issuerKeys: issuer.jwks });
  closeAfterTest(() => service.close());
  const calls: { url: string; authorization: string | undefined }[] = [];
  const door = await startDoor(service.url, (url, { authorization }) => {
    calls.push({ url, authorization });
  });
  const gateway = await startTestGateway({ url: door });
  const invoices = await startInvoices(references);

  return {
    supergraphSdl: (composition.supergraphSdl ?? '')
      .replace(placeholders.ledger, `${gateway.url}/graphql`)
      .replace(placeholders.invoices, invoices.url),
    gatewayUrl: `${gateway.url}/graphql`,
    /** What the service received, in order. */
    calls,
    invoices,
    token: (claims?: TokenClaims) => issuer.token(claims),
  };
}

/**
 * Resolves when the gateway takes requests. It sheds load while its event loop is held up, and a
 * supergraph that loads in the same process holds it up for a while.
 */
export async function whenCalm(gatewayUrl: string): Promise<void> {
  const query = new URLSearchParams({ query: '{ __typename }' });
  const headers = { 'apollo-require-preflight': 'true' };
  while (!(await fetch(`${gatewayUrl}?${query}`, { headers })).ok);
}

/** Asks a GraphQL server, whichever it is, and reads its answer. */
export async function ask(
  url: string,
  token: string | undefined,
  query: string,
  variables?: Record<string, unknown>,
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  return answerSchema.parse(await response.json());
}

/** A subgraph of another team: invoices that refer to GL codes, and nothing of what codes are. */
async function startInvoices(references: readonly Reference[]) {
  const requests: { authorization: string | undefined }[] = [];
  const server = new ApolloServer({
    schema: buildSubgraphSchema([
      {
        typeDefs: parse(invoicesSdl),
        resolvers: {
          Query: {
            invoices: () =>
              references.map((glCode, index) => ({
                id: String(index),
                status: 'OPEN',
                outcome: { __typename: 'NotPermitted', reason: 'over the limit' },
                glCode,
              })),
          },
        },
      },
    ]),
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

/** A door before a server, which lets everything through as it is, a reset included. */
async function startDoor(
  target: string,
  pass: (url: string, headers: IncomingHttpHeaders) => void,
): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url = '/' } = incoming;
    pass(url, headers);
    const onward = forward(new URL(url, target), { method, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      // What came of a broken answer goes on first, and only then the connection ends here too.
      answer.once('error', () => outgoing.socket?.end());
    });
    onward.once('error', () => outgoing.socket?.resetAndDestroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAfterTest(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${portOf(server.address())}/`;
}
