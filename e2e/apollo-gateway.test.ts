import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { closeAfterTest } from '../test/support/cleanup.ts';
import { testIdempotencyKeys } from './idempotency-keys.ts';
import { testSupergraph } from './supergraph.ts';

const forwarded = [
  'authorization',
  'x-request-id',
  'traceparent',
  'tracestate',
  'idempotency-key',
  'idempotency-key-age',
];

type Context = Record<string, string | undefined>;

/** Forwards the client's token, request id, trace, key and the age of the key to the subgraphs. */
class ForwardingDataSource extends RemoteGraphQLDataSource<Context> {
  override willSendRequest({
    request,
    context,
  }: Parameters<NonNullable<RemoteGraphQLDataSource<Context>['willSendRequest']>>[0]): void {
    for (const [name, value] of Object.entries(context)) {
      if (value !== undefined) request.http?.headers.set(name, value);
    }
  }
}

async function start(supergraphSdl: string): Promise<string> {
  const gateway = new ApolloGateway({
    supergraphSdl,
    buildService: ({ url }) => new ForwardingDataSource(url === undefined ? {} : { url }),
  });
  const server = new ApolloServer<Context>({ gateway, stopOnTerminationSignals: false });
  closeAfterTest(() => server.stop());
  const { url } = await startStandaloneServer(server, {
    listen: { port: 0, host: '127.0.0.1' },
    context: async ({ req: { headers } }) =>
      Object.fromEntries(forwarded.map((name) => [name, headers[name]?.toString()])),
  });
  return url;
}

testSupergraph(start);
testIdempotencyKeys(start);
